"""The gate of following: what is right, held, wrong and falsely alleged is counted by the truth."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from datasets.dealing.film_truth import NEVER, read_truth
from models.evaluate.broken_streams import BROKEN
from models.evaluate.fit_following import (
    NOTHING,
    counted,
    edge_states,
    edge_symbols,
    hidden_symbols,
    states,
    table_of,
)
from models.evaluate.following import Tally, curve, decode, judge, merge
from models.evaluate.streams import Film, Sighting, Stream
from vision.config.table import TableConfig
from vision.game.events import Slot
from vision.sight.detection.detector import Detection, Kind
from vision.sight.following.evidence import EDGE_SYMBOLS, PARTS, WEIGHTS, SymbolTable
from vision.sight.following.places import PLACE_MS, SYMBOLS, SlotWatch

FRAME_MS = 50
CARDS = (("4c", "PUNTO_1"), ("2d", "BANCO_1"), ("4h", "PUNTO_2"), ("Ks", "BANCO_2"))


def _truth(path: Path, coups: int) -> Path:
    """Write the truth of some natural coups, a card every two seconds, as our simulator does."""
    cards, rows = [], []
    for number in range(coups):
        start = 12_000 * number
        for index, (card, slot) in enumerate(CARDS):
            out = start + 1000 + 2000 * index
            cards.append({
                "order": 4 * number + index + 1, "card": card, "slot": slot, "coup": number + 1,
                "began_ms": out - 150, "out_ms": out, "returns_ms": [], "placed_ms": out + 400,
                "face_ms": out + 450, "shown_ms": None, "removed_ms": start + 10_000,
            })  # fmt: skip
        hands = {"punto": ["4c", "4h"], "banco": ["2d", "Ks"], "winner": "punto"}
        rows.append({"coup": number + 1, "start_ms": start, "end_ms": start + 10_500, **hands})
    text = json.dumps({"cards": cards, "coups": rows, "faults": [], "cut_ms": None})
    path.write_text(text, "utf-8")
    return path


@pytest.fixture
def film(tmp_path: Path) -> Film:
    """Return a film whose witnesses see what its truth says."""
    truth = read_truth(_truth(tmp_path / "truth.json", 3))
    corners = [[0, 0], [900, 0], [900, 400], [0, 400]]

    def area(x: float, y: float = 50) -> np.ndarray:
        return np.array([[x, y], [x + 75, y], [x + 75, y + 100], [x, y + 100]], np.float32)

    slots = {slot: area(20 + 90 * int(slot)) for slot in Slot}
    config = TableConfig.model_validate({
        "site": "s", "table": "t", "dealing": "face-up",
        "camera": {"source": "0", "width": 900, "height": 400},
        "view": {
            "image_px": corners, "table_mm": corners, "mouth_mm": area(700).tolist(),
            "discard_mm": area(700, 250).tolist(),
            "slots_mm": {slot.name: quad.tolist() for slot, quad in slots.items()},
        },
        "broker": {"kind": "none"}, "log": {"path": "none.sqlite"},
    })  # fmt: skip
    view = config.view.table_view()
    times = list(range(0, 36_000, FRAME_MS))
    mouth = np.tile(
        np.array([6, 0, 0, 0, 3, 0, -6, 3, -3, -6, np.nan], np.float32), (len(times), 1)
    )
    sightings, watch, picture = [], SlotWatch(view), np.full((400, 900, 3), 80, np.uint8)
    for index, at in enumerate(times):
        here = []
        for card in truth.cards:
            if card.began <= at < card.out:
                mouth[index, :4] = 0, 6, 0, (at - card.began) / 150
            elif card.out <= at < card.out + 200:
                mouth[index, :4] = 0, 0, 6, 1.2
            if card.slot is not None and card.placed <= at < card.removed:
                here.append(Detection(view.slots[card.slot] + np.float32(2), Kind.FACE, 0.9))
        sightings.append(Sighting(tuple(here), watch.look(here, picture, at), ()))
    always, never = np.ones(len(times), bool), np.zeros(len(times), np.intp)
    return Film(
        Stream("film", config, times, mouth, always, always, never, times, sightings), truth
    )


def _seen(stream: Stream, sees: Callable[[int, Detection], bool]) -> Stream:
    """Return a stream in which only some boxes are found, by time (ms) and box."""
    watch, picture = SlotWatch(stream.view), np.full((400, 900, 3), 80, np.uint8)
    sightings = []
    for at, sighting in zip(stream.looks, stream.sightings, strict=True):
        boxes = tuple(box for box in sighting.boxes if sees(at, box))
        sightings.append(Sighting(boxes, watch.look(boxes, picture, at), ()))
    return replace(stream, sightings=sightings)


def test_films_as_their_truth_says_are_decoded_right(film: Film) -> None:
    """Every coup is right and nobody is accused; the table was fitted on the same film."""
    table = table_of(counted([film]))
    slots, edges = (np.log(table[part]) for part in PARTS)
    fitted = SymbolTable(slots, edges, np.zeros(len(WEIGHTS)))
    tally = Tally()
    judge(film, decode(film, fitted, tally=tally, broken="not"), 50, tally)
    assert (tally.coups, tally.right, tally.wrong, tally.accused) == (3, 3, 0, 0)
    assert tally.in_time == tally.cards == 12
    both = Tally()
    merge(both, tally)
    merge(both, tally)
    assert both.right == 6
    assert "0 of 6" in curve(both)


def test_run_in_a_slot_is_counted_by_its_length(film: Film) -> None:
    """Six slots that are bare all the time are six runs, each of its own weight."""
    bare = _seen(film.stream, lambda _, __: False)
    counts = counted([Film(bare, replace(film.truth, coups=()))])["slots"]
    assert counts.sum() == pytest.approx(6 * np.log1p(film.stream.looks[-1] / PLACE_MS))


@pytest.mark.parametrize(("away_ms", "counts"), [(150, True), (1000, False)])
def test_card_that_was_lifted_is_not_one_that_is_overlooked(
    film: Film, away_ms: int, *, counts: bool
) -> None:
    """Nothing found of a card that lies face down for long says nothing of such cards."""
    coup = film.truth.coups[0]
    truth = replace(film.truth, coups=(replace(coup, cards=(replace(coup.cards[0], face=NEVER),)),))
    away = _seen(film.stream, lambda at, _: not 4000 <= at < 4000 + away_ms)
    shares = counted([Film(away, truth)])["slots"]
    assert bool(shares[1, :NOTHING].any()) is counts


@pytest.mark.parametrize("kind", sorted(BROKEN))
def test_stream_that_fails_is_the_same_each_time(film: Film, kind: str) -> None:
    """Failures are drawn from the film's name, and leave the stream itself as it was."""
    before = film.stream.mouth.copy()
    first, second = BROKEN[kind](film), BROKEN[kind](film)
    assert np.array_equal(first.mouth(), second.mouth(), equal_nan=True)
    assert np.array_equal(film.stream.mouth, before, equal_nan=True)


def test_states_follow_the_truth(film: Film) -> None:
    """A slot is empty, unknown while a card lands or turns, then a face until it is taken."""
    found = states(film.truth, [0, 1300, 3000, 9000, 11_000])
    assert found[:, int(Slot.PUNTO_1)].tolist() == [0, -1, 2, 2, 0]


def test_what_hides_is_neutral() -> None:
    """A symbol of a hand and no card is as likely in each state, whatever was counted."""
    counts = np.ones((3, SYMBOLS))
    counts[0, hidden_symbols()] = 500
    table = table_of({"slots": counts})["slots"]
    hidden = table[:, hidden_symbols()]
    assert np.allclose(hidden, hidden[0])
    assert np.allclose(table.sum(axis=1), 1)


def test_edges_follow_the_truth(film: Film) -> None:
    """A card emerges in the first half of its way, and is further out in the second."""
    card, at = film.truth.cards[0], film.stream.frames
    edge = edge_states(film)
    way = [edge[i] for i, time in enumerate(at) if card.began <= time < card.out]
    assert (way[0], way[-1]) == (0, 1)
    assert edge[at.index(card.placed)] == -1
    assert max(edge_symbols(film)) < EDGE_SYMBOLS
