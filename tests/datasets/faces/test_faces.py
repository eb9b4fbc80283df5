"""Own drawings: every card shows its rank and suit, whatever the design."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from datasets.faces.designs import DESIGNS, random_design
from datasets.faces.drawn_non_cards import foreign_faces
from datasets.faces.faces import PIP_PLACES, Design, draw_deck, draw_face, index_span
from datasets.faces.glyphs import Pen, glyph, pip

HEIGHT = 264


def blobs(face: np.ndarray, *, least: float) -> int:
    """Count patches of ink of at least that part of the card's area."""
    ink = ((face[:, :, :3].min(axis=2) < 128) & (face[:, :, 3] > 250)).astype(np.uint8)
    _, _, stats, _ = cv2.connectedComponentsWithStats(ink)
    return int((stats[1:, cv2.CC_STAT_AREA] > least * ink.size).sum())


@pytest.mark.parametrize("rank", "23456789T")
def test_pips_counted_match_the_rank(rank: str) -> None:
    """A spot card has as many pips as its rank says, and the indices are not counted."""
    design = Design(index=(4.0, 3.0), index_suit=3.0)
    expected = 10 if rank == "T" else int(rank)
    assert blobs(draw_face(f"{rank}s", design, HEIGHT), least=0.006) == expected


@pytest.mark.parametrize("rank", PIP_PLACES)
def test_pip_places_agree_with_the_rank(rank: str) -> None:
    """The table of pip places counts up to the rank."""
    twice, once = PIP_PLACES[rank]
    assert 2 * len(twice) + len(once) == "A23456789T".index(rank) + 1


@pytest.mark.parametrize("card", ["As", "7d"])
def test_panel_goes_round_the_pips_and_leaves_the_indices_alone(card: str) -> None:
    """A line round the pips changes the middle of a face, not its corners."""
    plain = draw_face(card, Design(), HEIGHT)
    framed = draw_face(card, Design(panel=8.0), HEIGHT)
    changed = np.argwhere((plain != framed).any(axis=2))
    right, _ = index_span(Design())
    scale = HEIGHT / Design().size[1]
    assert len(changed) > 2 * HEIGHT / 2
    assert changed[:, 1].min() > right * scale
    assert changed[:, 0].min() > 7 * scale


@pytest.mark.parametrize("name", DESIGNS)
def test_corner_index_turned_half_round_is_the_same(name: str) -> None:
    """Every design reads the same from both ends: the corner is found again upside down."""
    for card in ("7d", "Kc", "Th"):
        face = draw_face(card, DESIGNS[name], HEIGHT)[:, :, :3].astype(int)
        turned = face[::-1, ::-1]
        corner = np.s_[6:40, 4:24]
        assert np.abs(face[corner] - turned[corner]).mean() < 4
        assert face[corner].min() < 150, f"{card} of {name} has no index"


def test_all_faces_of_a_design_differ() -> None:
    """No two of the 52 cards of a design look alike."""
    deck = draw_deck(DESIGNS["casino"], 132)
    assert deck.shape == (52, 132, 94, 4)
    small = deck[:, :, :, :3].astype(int)
    for i in range(52):
        for j in range(i):
            assert np.abs(small[i] - small[j]).mean() > 0.5, (i, j)


def test_suits_of_a_card_have_the_design_s_inks() -> None:
    """Red suits are inked red, black ones black, four-colour ones as told."""
    for suit, color in DESIGNS["foundry"].inks:
        face = draw_face(f"8{suit}", DESIGNS["foundry"], HEIGHT)[:, :, :3]
        assert (np.abs(face.astype(int) - color).max(axis=2) == 0).mean() > 0.03


def test_nine_is_a_six_upside_down_and_no_other_pair_is() -> None:
    """A nine is a six turned, as on real cards; two and five, or six and itself, are not."""
    pen = Pen()
    assert np.array_equal(glyph("9", 40, 28, pen), glyph("6", 40, 28, pen)[::-1, ::-1])
    for one, other in (("2", "5"), ("6", "6"), ("7", "7")):
        a, b = glyph(one, 40, 28, pen), glyph(other, 40, 28, pen)[::-1, ::-1]
        width = min(a.shape[1], b.shape[1])
        assert np.abs(a[:, :width].astype(int) - b[:, :width]).mean() > 20


@pytest.mark.parametrize("suit", "cdhs")
def test_pip_fills_its_box_and_is_symmetrical(suit: str) -> None:
    """A pip reaches top and bottom of its box and is the same left and right."""
    mask = pip(suit, 60, 54).astype(int)
    assert mask[:2].max() > 60
    assert mask[-2:].max() > 60
    assert np.abs(mask - mask[:, ::-1]).mean() < 3


@pytest.mark.parametrize("number", range(40))
def test_pips_of_a_random_make_stay_what_they_are(number: int) -> None:
    """Whole, symmetrical, drawn alike each time, and clubs are no spades."""
    family = f"{('round', 'plain')[number % 2]}-{number}"
    masks = {suit: pip(suit, 60, 54, family) > 127 for suit in "cdhs"}
    for suit, mask in masks.items():
        assert np.array_equal(mask, pip.__wrapped__(suit, 60, 54, family) > 127)
        assert 0.15 < mask.mean() < 0.8
        assert (mask != mask[:, ::-1]).mean() < 0.03
        assert mask[:, [0, -1]].mean() < 0.4
    either = masks["c"] | masks["s"]
    assert (masks["c"] != masks["s"]).sum() > 0.07 * either.sum()


def test_random_designs_repeat_with_the_seed_and_differ_without() -> None:
    """The same seed gives the same design; other seeds give others, all drawable."""
    assert random_design(np.random.default_rng(5)) == random_design(np.random.default_rng(5))
    designs = [random_design(np.random.default_rng(seed)) for seed in range(40)]
    assert len({repr(design) for design in designs}) == 40
    for design in designs:
        for card in ("Ts", "Qh"):
            face = draw_face(card, design, 132)
            assert face.shape[0] == 132
            assert face[0, 0, 3] == 0
            assert face[66, 40, 3] == 255


def test_jumbo_indices_side_by_side_leave_room_for_ten_pips() -> None:
    """Rank and suit in one broad corner end above the pips; a third of the jumbo decks have it."""
    decks = [random_design(np.random.default_rng([1, seed]), jumbo=True) for seed in range(60)]
    beside = [design for design in decks if design.beside]
    assert 0.2 < len(beside) / len(decks) < 0.5
    for design in beside:
        assert index_span(design)[1] < 0.3 * design.size[1]


def test_foreign_faces_are_cards_in_shape_only() -> None:
    """Foreign faces have a card's shape and there are at least four jokers among them."""
    faces = foreign_faces(132)
    assert sum(name.startswith("joker") for name in faces) >= 4
    assert {face.shape for face in faces.values()} == {(132, 94, 4)}
