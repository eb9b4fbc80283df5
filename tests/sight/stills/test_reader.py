"""Single pictures: what `shoe-reader read` prints, with the models that ship."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

import cv2
import numpy as np
import pytest

from datasets.faces.registry import load_deck
from datasets.render.paint import lay, pyramid
from vision.cli import main
from vision.game.cards import Card
from vision.sight.detection.classifier import CardModels, Observation
from vision.sight.detection.detector import Detection, Kind
from vision.sight.stills.proposals import PASSES, passes_for
from vision.sight.stills.reader import StillCard, annotate, read_still

CARDS = ("7d", "Ks", "2h", "Jc", "9s", "Ah")


def table(names: tuple[str, ...]) -> np.ndarray:
    """Return a felt with six cards of a deck that training never saw, a little askew."""
    rng = np.random.default_rng(7)
    image = np.full((720, 1080, 3), (60, 110, 30), np.uint8)
    image = image + rng.integers(0, 12, image.shape, np.uint8)
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
    """Cards of a held-out deck are found where they lie, and none is misnamed."""
    picture = tmp_path / "table.png"
    cv2.imwrite(str(picture), table(CARDS))
    words = ["read", "--json", "--annotate", str(tmp_path / "out"), str(picture)]
    assert main(words) == 0
    (printed,) = json.loads(capsys.readouterr().out)
    assert (printed["width"], printed["height"]) == (1080, 720)
    assert (tmp_path / "out" / "table.jpg").exists()
    named = 0
    for i, name in enumerate(CARDS):
        middle = np.array([190 + 340 * (i % 3), 190 + 330 * (i // 3)])
        near = [
            card
            for card in printed["cards"]
            if np.linalg.norm(np.mean(card["quad"], axis=0) - middle) < 40
        ]
        assert len(near) == 1, f"{name} is found once"
        assert near[0]["card"] in (name, None)
        named += near[0]["card"] == name
    assert named >= 4


def test_annotate_of_a_card_at_the_edge_writes_its_name_within_the_picture() -> None:
    """A card that lies half outside the picture is named as legibly as one in the middle."""
    dark = np.zeros((400, 400, 3), np.uint8)
    quad = np.array([[-90, -60], [40, -60], [40, 70], [-90, 70]], np.float32)
    written = []
    for place in (quad, quad + 200):
        card = StillCard(place, Kind.FACE, Card.parse("As"), 0.99)
        white = (annotate(dark, (card,)) == 255).all(axis=-1)
        written.append(np.ptp(np.flatnonzero(white.any(axis=0))))
    assert abs(written[0] - written[1]) <= 2


def test_read_of_bad_files_names_them_all_and_still_reads_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is dropped silently: exit code 2, both bad files named, the good one printed."""
    good, text = tmp_path / "good.png", tmp_path / "text.jpg"
    cv2.imwrite(str(good), np.zeros((64, 64, 3), np.uint8))
    text.write_text("no picture")
    code = main(["read", "--json", str(text), str(good), str(tmp_path / "nix.png")])
    printed = capsys.readouterr()
    assert code == 2
    assert [entry["image"] for entry in json.loads(printed.out)] == [str(good)]
    assert "text.jpg" in printed.err
    assert "nix.png" in printed.err


class Seen:
    """A detector that sees given boxes, and has no better outlines."""

    def __init__(self, *found: Detection) -> None:
        self.found = list(found)

    def boxes(self, *_: object, **__: object) -> list[Detection]:
        """Return what is given, whatever is asked."""
        return self.found

    def outlined(self, _: object, found: list[Detection]) -> list[Detection]:
        """Return what is given."""
        return list(found)


def box(left: int, top: int, width: int, height: int) -> np.ndarray:
    """Return an upright quad."""
    right, bottom = left + width, top + height
    return np.array([[left, top], [right, top], [right, bottom], [left, bottom]], np.float32)


def look(name: str, share: float) -> Observation:
    """Return a look that gives a card a share of the probability."""
    log_p = np.full(52, np.log((1 - share) / 51), np.float32)
    log_p[Card.parse(name).index] = np.log(share)
    return Observation(log_p, 0.9999)


def read(
    seen: Seen,
    look_at: Callable[[np.ndarray], Observation],
    signs: dict[str, tuple[int, int]] | None = None,
) -> tuple[StillCard, ...]:
    """Read a black picture with eyes made of two functions.

    `signs` says where (x, y) a card's one sign is: painted over, it is not read any more.
    """

    def classifier(image: np.ndarray, quads: list[np.ndarray]) -> tuple[Observation, ...]:
        observations = [look_at(quad) for quad in quads]
        at = [
            (signs or {}).get(str(Card.of(int(each.log_p.argmax()))), (0, 0))
            for each in observations
        ]
        return tuple(
            look("As", 1 / 52) if image[y, x].any() else each
            for each, (x, y) in zip(observations, at, strict=True)
        )

    eyes = CardModels(cast(Any, seen), cast(Any, classifier))
    return read_still(eyes, np.zeros((400, 400, 3), np.uint8), bound=0.02)


@pytest.mark.parametrize(("height", "named"), [(100, "Ks"), (140, None)])
def test_read_of_an_outline_nearly_square_tries_it_both_ways(height: int, named: str) -> None:
    """A card that leans far may lie across its outline; one that is plainly long is not turned."""

    def look_at(quad: np.ndarray) -> Observation:
        lies_across = abs(quad[1, 0] - quad[0, 0]) < 1
        return look("Ks", 0.999 if lies_across else 1 / 52)

    (found,) = read(Seen(Detection(box(50, 50, 100, height), Kind.FACE, 0.9)), look_at)
    assert (str(found.card) if found.card else None) == named


def test_read_of_a_card_half_covered_finds_the_whole_of_it() -> None:
    """A box of the lower part alone is read as the whole card that it is a part of."""

    def look_at(quad: np.ndarray) -> Observation:
        whole = quad[:, 1].min() < 110
        return look("7d", 0.999 if whole else 1 / 52)

    part = np.roll(box(100, 150, 100, 90), 1, axis=0)
    (found,) = read(Seen(Detection(part, Kind.FACE, 0.9)), look_at)
    assert str(found.card) == "7d"
    assert found.quad[:, 1].min() == pytest.approx(100, abs=1)


def test_read_of_outlines_that_disagree_is_no_card() -> None:
    """An outline that reads as something else makes the surer one of the same place doubtful."""
    near, far = box(100, 100, 100, 140), box(100, 100, 110, 155)
    seen = Seen(Detection(near, Kind.FACE, 0.9), Detection(far, Kind.FACE, 0.8))

    def look_at(quad: np.ndarray, rival: str) -> Observation:
        near = np.ptp(quad[:, 0]) < 105
        return look("As", 0.985) if near else look(rival, 0.98)

    (agreed,) = read(seen, lambda quad: look_at(quad, "As"))
    (doubted,) = read(seen, lambda quad: look_at(quad, "Ac"))
    assert str(agreed.card) == "As"
    assert doubted.card is None
    assert doubted.confidence < agreed.confidence


def test_read_of_a_card_is_not_doubted_for_the_card_beside_it() -> None:
    """An outline that is partly on another card, and reads like it, raises no doubt."""
    seen = Seen(*(Detection(box(x, 100, 100, 140), Kind.FACE, 0.9) for x in (100, 115, 170)))

    def look_at(quad: np.ndarray, beside: str) -> Observation:
        left = round(float(quad[:, 0].min()))
        return {100: look("As", 0.985), 115: look("Kd", 0.98), 170: look(beside, 0.999)}[left]

    for beside, named in (("Kd", {"As", "Kd"}), ("Kh", {"Kh"})):
        found = read(seen, partial(look_at, beside=beside))
        assert {str(card.card) for card in found if card.card} == named


def test_read_doubts_a_card_once_for_each_other_that_it_may_be() -> None:
    """Two poor outlines that read as the same other card leave no more doubt than one."""
    quads = box(100, 100, 100, 140), box(100, 100, 110, 155), box(100, 100, 91, 127)
    seen = Seen(*(Detection(quad, Kind.FACE, 0.9) for quad in quads))

    def look_at(quad: np.ndarray, others: tuple[str, str]) -> Observation:
        names = {100: "As", 110: others[0], 91: others[1]}
        wide = round(float(np.ptp(quad[:, 0])))
        return look(names[wide], 0.985 if wide == 100 else 0.3)

    (same,) = read(seen, lambda quad: look_at(quad, ("Ac", "Ac")))
    (more,) = read(seen, lambda quad: look_at(quad, ("Ac", "4s")))
    assert str(same.card) == "As"
    assert more.card is None


def test_read_names_both_of_two_sure_neighbours_in_a_fan() -> None:
    """A card that shows a sign beside the one that covers it is a card, not a try at that one."""
    for shift, sign, named in ((22, 215, {"8d", "5d"}), (10, 206, {"8d", "5d"}), (10, 190, {"8d"})):
        seen = Seen(*(Detection(box(x, 100, 100, 140), Kind.FACE, 0.9) for x in (100, 100 + shift)))

        def look_at(quad: np.ndarray) -> Observation:
            return look("8d", 0.9999) if quad[:, 0].min() < 104 else look("5d", 0.985)

        found = read(seen, look_at, {"8d": (110, 110), "5d": (sign, 110)})
        assert {str(card.card) for card in found if card.card} == named, shift


@pytest.mark.parametrize(
    ("upper", "named"),
    [(135, {"Ts", "8d", "5c"}), (160, {"Ts", "5c"})],
    ids=["a fan", "a mixture"],
)
def test_read_names_the_middle_card_of_three_by_a_sign_that_no_card_on_it_covers(
    upper: int, named: set[str]
) -> None:
    """It lies on one card, whose name remains without it, and under another that touches both."""
    places = {55: "Ts", 95: "8d", upper: "5c"}
    scores = {55: 0.9, 95: 0.8, upper: 0.9}
    seen = Seen(*(Detection(box(x, 100, 100, 140), Kind.FACE, scores[x]) for x in places))

    def look_at(quad: np.ndarray) -> Observation:
        return look(places[round(float(quad[:, 0].min()))], 0.9999)

    found = read(seen, look_at, {"Ts": (60, 110), "5c": (225, 230), "8d": (115, 110)})
    assert {str(card.card) for card in found if card.card} == named


@pytest.mark.parametrize(("sign", "named"), [(160, {"As", "Kc"}), (149, {"As", "Ac", "Kc"})])
def test_read_of_an_outline_across_two_cards_must_show_a_sign_of_its_own(
    sign: int, named: set[str]
) -> None:
    """What lies nearly whole in two cards may have the rank of one and the suit of the other."""
    scores = {55: 0.9, 110: 0.8, 151: 0.9}
    seen = Seen(*(Detection(box(x, 100, 90, 140), Kind.FACE, scores[x]) for x in scores))

    def look_at(quad: np.ndarray) -> Observation:
        left = round(float(quad[:, 0].min()))
        return {55: look("As", 0.9999), 110: look("Ac", 0.9999), 151: look("Kc", 0.9999)}[left]

    signs = {"As": (60, 110), "Kc": (230, 110), "Ac": (sign, 110)}
    assert {str(card.card) for card in read(seen, look_at, signs) if card.card} == named


@pytest.mark.parametrize(
    ("second", "score", "named"),
    [
        (box(20, 20, 100, 78), 0.9, {"Tc"}),
        (box(60, 20, 100, 120), 0.9, {"Tc", "9d"}),
        (box(35, 25, 100, 140), 0.9, {"Tc", "9d"}),
        (box(35, 25, 100, 140), 0.3, {"Tc"}),
    ],
    ids=["half a card", "beside it", "a card on it", "a card on it that the detector doubts"],
)
def test_read_of_a_part_of_a_card_is_no_card_and_a_card_on_another_is_one(
    second: np.ndarray, score: float, named: set[str]
) -> None:
    """Half a ten looks like a nine however sure, but is smaller; a card on another is not."""
    seen = Seen(
        Detection(box(20, 20, 100, 140), Kind.FACE, 0.95), Detection(second, Kind.FACE, score)
    )

    def look_at(quad: np.ndarray) -> Observation:
        return (
            look("Tc", 0.9999)
            if round(float(quad[0, 0])) in (20, 120) and np.ptp(quad[:, 1]) > 130
            else look("9d", 0.9998)
        )

    found = read(seen, look_at, {"Tc": (25, 24), "9d": (80, 80)})
    assert {str(card.card) for card in found if card.card} == named


@pytest.mark.parametrize(
    ("outlines", "named"), [(3, {"Tc", "9d"}), (2, {"Tc"})], ids=["three", "two"]
)
def test_read_of_a_covered_card_that_the_detector_doubts_needs_outlines_that_agree(
    outlines: int, named: set[str]
) -> None:
    """Of a card in a fan the detector is seldom sure: three outlines that read the same are."""
    corners = ((35, 25), (32, 38), (20, 40))[:outlines]
    seen = Seen(
        Detection(box(20, 20, 100, 140), Kind.FACE, 0.95),
        *(Detection(box(x, y, 100, 140), Kind.FACE, 0.3) for x, y in corners),
    )

    def look_at(quad: np.ndarray) -> Observation:
        return look("Tc", 0.9999) if quad.min(axis=0).sum() < 50 else look("9d", 0.9998)

    found = read(seen, look_at, {"Tc": (25, 24), "9d": (80, 80)})
    assert {str(card.card) for card in found if card.card} == named


def test_read_gives_a_card_on_several_whose_signs_it_does_not_hide() -> None:
    """It keeps a sign without each of them, and none without all: it lies on them."""
    places, scores = {35: "5d", 80: "Qd", 128: "4c"}, {35: 0.9, 80: 0.8, 128: 0.9}
    seen = Seen(*(Detection(box(x, 100, 100, 140), Kind.FACE, scores[x]) for x in places))

    def look_at(quad: np.ndarray) -> Observation:
        return look(places[round(float(quad[:, 0].min()))], 0.9999)

    def classifier(image: np.ndarray, quads: list[np.ndarray]) -> tuple[Observation, ...]:
        # The queen has a sign at either end; each of the other cards has one outside of her.
        signs = {"Qd": ((90, 110), (170, 230)), "5d": ((50, 110),), "4c": ((215, 230),)}
        shown = [places[round(float(quad[:, 0].min()))] for quad in quads]
        return tuple(
            look("As", 0.02) if all(image[y, x].any() for x, y in signs[name]) else look_at(quad)
            for quad, name in zip(quads, shown, strict=True)
        )

    eyes = CardModels(cast(Any, seen), cast(Any, classifier))
    found = read_still(eyes, np.zeros((400, 400, 3), np.uint8), bound=0.02)
    assert {str(card.card) for card in found} == {"5d", "Qd", "4c"}


def test_read_gives_the_outline_of_the_detector_not_one_over_two_cards() -> None:
    """An outline laid over two cards reads as the lower one as surely: it hides no card."""
    lower, upper, both = box(50, 50, 100, 140), box(90, 90, 100, 140), box(45, 45, 150, 190)
    seen = Seen(
        *(
            Detection(quad, Kind.FACE, score)
            for quad, score in ((lower, 0.8), (upper, 0.9), (both, 0.3))
        )
    )

    def look_at(quad: np.ndarray) -> Observation:
        wide = float(np.ptp(quad[:, 0]))
        upper = wide < 120 and quad[:, 0].min() > 80
        return look("7c", 0.999) if upper else look("Ah", 0.99999 if wide > 120 else 0.9999)

    found = read(seen, look_at, {"Ah": (55, 55), "7c": (140, 140)})
    assert [(str(card.card), round(float(card.quad[:, 0].min()))) for card in found] == [
        ("7c", 90), ("Ah", 50)
    ]  # fmt: skip


def test_read_says_what_it_could_not_read_once() -> None:
    """An unread card is given; a weak box, and a part of a card that is read, are not."""
    seen = Seen(
        Detection(box(20, 20, 100, 140), Kind.FACE, 0.9),
        Detection(box(20, 70, 100, 140), Kind.FACE, 0.7),
        Detection(box(200, 20, 100, 140), Kind.FACE, 0.8),
        Detection(box(200, 220, 100, 140), Kind.FACE, 0.2),
    )

    def look_at(quad: np.ndarray) -> Observation:
        first = quad[:, 0].max() < 150 and quad[:, 1].min() < 50
        return look("2h", 0.999 if first else 1 / 52)

    named, unread = read(seen, look_at)
    assert (str(named.card), unread.card) == ("2h", None)
    assert unread.quad[:, 0].min() == 200


@pytest.mark.parametrize(
    ("side", "passes"), [(90, 1), (320, 4), (640, 5), (1080, 6), (1920, 7), (4000, 8), (9000, 8)]
)
def test_passes_never_enlarge_a_picture_much(side: int, passes: int) -> None:
    """A small picture is not searched for cards it cannot hold."""
    assert passes_for(np.zeros((side // 2, side, 3), np.uint8)) == PASSES[:passes]


def test_detection_kinds_are_the_networks_classes_in_order() -> None:
    """The order of `Kind` is the order of the network's scores."""
    assert [str(kind) for kind in Kind] == ["face", "back", "cut", "hand"]
    assert Detection(np.zeros((4, 2), np.float32), Kind.CUT, 0.5).kind == "cut"


@pytest.mark.parametrize(("side", "given"), [(20, 1), (60, 2)])
def test_read_of_a_box_far_smaller_than_the_cards_is_not_given(side: int, given: int) -> None:
    """Cards are of one size: a speck beside one that is read is not given as an unread card."""

    def look_at(quad: np.ndarray) -> Observation:
        return look("7d", 0.999 if quad[:, 0].max() < 200 else 1 / 52)

    card = Detection(box(50, 50, 100, 140), Kind.FACE, 0.9)
    other = Detection(box(250, 50, side, round(1.4 * side)), Kind.FACE, 0.8)
    assert len(read(Seen(card, other), look_at)) == given


def test_read_gives_no_unread_card_where_the_classifier_sees_none() -> None:
    """What only the detector takes for a card, a chip or a paper, is not given; a hidden suit is.

    A card whose rank alone can be seen is one, though it cannot be read.
    """

    def seen(rank: float, suit: float) -> tuple[StillCard, ...]:
        found = Observation(np.full(52, -np.log(52), np.float32), rank * suit, rank_seen=rank)
        return read(Seen(Detection(box(50, 50, 100, 140), Kind.FACE, 0.9)), lambda _: found)

    assert seen(0.6, 0.5) == ()
    (card,) = seen(0.99, 0.05)
    assert card.card is None


def test_read_follows_up_only_outlines_that_promise_a_card() -> None:
    """Of an outline that shows nothing at the first look no other end is looked at."""
    observations: list[float] = []

    def look_at(quad: np.ndarray) -> Observation:
        observations.append(float(quad[:, 0].min()))
        return look("Ks", 0.999 if quad[:, 0].min() < 150 else 0.2)

    card, clutter = (Detection(box(x, 50, 100, 140), Kind.FACE, 0.3) for x in (50, 250))
    (found,) = read(Seen(card, clutter), look_at)
    assert str(found.card) == "Ks"
    assert (observations.count(50.0), observations.count(250.0)) == (2, 1)


@pytest.mark.parametrize("own_index", [False, True], ids=["echo", "second copy"])
def test_read_names_a_card_twice_only_where_there_are_two(own_index: bool) -> None:
    """An outline that begins with an index of the card beside it has none once that is covered."""
    card = Detection(box(50, 50, 100, 140), Kind.FACE, 0.9)
    beside = Detection(box(130, 50, 100, 140), Kind.FACE, 0.9)
    index = (100, 140)  # row and column, in both outlines

    def classifier(image: np.ndarray, quads: list[np.ndarray]) -> tuple[Observation, ...]:
        covered = bool(image[index].any())
        return tuple(
            look("Ks", 0.999 if quad[:, 0].min() < 100 else 0.05 if covered else 0.99)
            if not own_index
            else look("Ks", 0.99)
            for quad in quads
        )

    eyes = CardModels(cast(Any, Seen(card, beside)), cast(Any, classifier))
    found = read_still(eyes, np.zeros((400, 400, 3), np.uint8), bound=0.02)
    assert [str(card.card) for card in found] == ["Ks"] * (1 + own_index)
