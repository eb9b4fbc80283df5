"""Single pictures: what `shoe-reader read` prints, with the models that ship."""

import json
from pathlib import Path
from typing import Any, cast

import cv2
import numpy as np
import pytest

from datasets.decks import load_deck
from datasets.paint import lay, pyramid
from vision.cli import main
from vision.eyes import Eyes
from vision.game.cards import Card
from vision.sight.classifier import Look
from vision.sight.detector import Detection, Kind
from vision.stills import PASSES, passes_for, read_still

CARDS = ("7d", "Ks", "2h", "Jc", "9s", "Ah")


def table(names: tuple[str, ...]) -> np.ndarray:
    """Return a felt with six cards of a deck that training never saw, a little askew."""
    rng = np.random.default_rng(7)
    image = np.full((720, 1080, 3), (60, 110, 30), np.uint8)
    image = cv2.add(image, rng.integers(0, 12, image.shape, np.uint8))
    deck = load_deck("meridian")
    for i, name in enumerate(names):
        middle = np.array([190 + 340 * (i % 3), 190 + 330 * (i // 3)])
        angle = rng.uniform(-0.3, 0.3)
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        corners = np.array([[-75, -105], [75, -105], [75, 105], [-75, 105]]) @ turn + middle
        lay(image, pyramid(np.asarray(deck.faces[name])), corners)
    return image


@pytest.mark.slow
def test_read_names_cards_or_declines_and_is_never_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Cards of a held-out deck are found with their places, and none is misnamed."""
    picture = tmp_path / "table.png"
    cv2.imwrite(str(picture), table(CARDS))
    assert main(["read", "--json", "--annotate", str(tmp_path / "out"), str(picture)]) == 0
    (said,) = json.loads(capsys.readouterr().out)
    assert (said["width"], said["height"]) == (1080, 720)
    assert (tmp_path / "out" / "table.jpg").exists()
    named = 0
    for i, name in enumerate(CARDS):
        middle = np.array([190 + 340 * (i % 3), 190 + 330 * (i // 3)])
        near = [
            card
            for card in said["cards"]
            if np.linalg.norm(np.mean(card["quad"], axis=0) - middle) < 40
        ]
        assert len(near) == 1, f"{name} is found once"
        assert near[0]["card"] in (name, None)
        named += near[0]["card"] == name
    assert named >= 4


def test_read_of_bad_files_names_them_all_and_still_reads_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is dropped silently: exit code 2, both bad files named, the good one printed."""
    good, text = tmp_path / "good.png", tmp_path / "text.jpg"
    cv2.imwrite(str(good), np.zeros((64, 64, 3), np.uint8))
    text.write_text("no picture")
    code = main(["read", "--json", str(text), str(good), str(tmp_path / "nix.png")])
    said = capsys.readouterr()
    assert code == 2
    assert [entry["image"] for entry in json.loads(said.out)] == [str(good)]
    assert "text.jpg" in said.err
    assert "nix.png" in said.err


@pytest.mark.parametrize(("height", "named"), [(100, "Ks"), (140, None)])
def test_read_of_an_outline_nearly_square_tries_it_both_ways(height: int, named: str) -> None:
    """A card that leans far may lie across its outline; one that is plainly long is not turned."""
    king = Card.parse("Ks")
    quad = np.array([[50, 50], [150, 50], [150, 50 + height], [50, 50 + height]], np.float32)

    def detector(*_: object, **__: object) -> tuple[Detection, ...]:
        return (Detection(quad, Kind.FACE, 0.9),)

    def classifier(_: object, quads: list[np.ndarray]) -> tuple[Look, ...]:
        known = np.full(52, -20.0, np.float32)
        known[king.index] = 0.0
        blank = np.full(52, -np.log(52), np.float32)
        across = [abs(q[1, 0] - q[0, 0]) < 1 for q in quads]
        return tuple(Look(known if one else blank, 0.999) for one in across)

    eyes = Eyes(cast(Any, detector), cast(Any, classifier), {})
    (found,) = read_still(eyes, np.zeros((300, 300, 3), np.uint8), bound=0.02)
    assert (str(found.card) if found.card else None) == named


@pytest.mark.parametrize(("side", "passes"), [(100, 1), (320, 2), (640, 3), (1080, 4), (4000, 4)])
def test_passes_never_enlarge_a_picture_much(side: int, passes: int) -> None:
    """A small picture is not searched for cards it cannot hold."""
    assert passes_for(np.zeros((side // 2, side, 3), np.uint8)) == PASSES[:passes]


def test_detection_kinds_are_the_networks_classes_in_order() -> None:
    """The order of `Kind` is the order of the network's scores."""
    assert [str(kind) for kind in Kind] == ["face", "back", "cut"]
    assert Detection(np.zeros((4, 2), np.float32), Kind.CUT, 0.5).kind == "cut"
