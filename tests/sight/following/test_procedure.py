"""What is known late of a coup changes what its worlds were worth."""

from __future__ import annotations

from vision.game.rules import Dealing, Rules
from vision.sight.following.cards import BACK, CARDS, FACE, GONE, HAND, SLOTS, Place
from vision.sight.following.procedure import OVER, REMOVED, UNDER, Procedure
from vision.sight.following.world import Lip


def test_clearing_before_a_card_that_proves_to_be_due_is_an_under_draw() -> None:
    """Punto has 1 and 3, read as its cards are being taken off: a third card was due."""
    procedure = Procedure(Rules(dealing=Dealing.FACE_UP))
    there, gone = CARDS[SLOTS[0], FACE, 1], CARDS[GONE[0], FACE, 1]
    lying = tuple(CARDS[SLOTS[slot], FACE, points] for slot, points in ((1, 2), (2, None), (3, 4)))
    seen = (lying[0], CARDS[SLOTS[2], FACE, 3], lying[2])
    ratio, codes = procedure.reprice((gone, *lying), (gone, *seen), ())
    assert codes == (UNDER,)
    assert ratio < 0.1
    assert procedure.reprice((gone, *lying), (gone, *seen), (REMOVED,)) == (1.0, (REMOVED,))
    # Nothing was taken yet: the card may still come.
    assert procedure.reprice((there, *lying), (there, *seen), ()) == (1.0, ())


def test_card_that_is_held_before_the_shoe_is_not_laid_from_there() -> None:
    """It goes on first, so that once it lies the next draw is not taken for its lingering."""
    procedure = Procedure(Rules(dealing=Dealing.FACE_UP))

    def lays(lip: Lip) -> bool:
        state = procedure.state((CARDS[HAND, BACK, None],), lip)
        return any(move.cards[0].place is SLOTS[0] for move in procedure.moves(state).moves)

    assert lays(Lip.REST)
    assert lays(Lip.CLEAR)
    assert not lays(Lip.LINGERS)


def test_only_a_card_in_the_hand_is_held_before_the_shoe() -> None:
    """Or a card that was just laid would hide the draw of the next."""
    procedure = Procedure(Rules(dealing=Dealing.FACE_UP))

    def lingers(place: Place) -> bool:
        state = procedure.state((CARDS[place, BACK, None],), Lip.CLEAR)
        return any(move.lip is Lip.LINGERS for move in procedure.moves(state).moves)

    assert lingers(HAND)
    assert not lingers(SLOTS[0])


def test_card_after_a_complete_coup_begins_the_next_one_though_a_card_was_removed_early() -> None:
    """All six cards were taken off, the first one early: nobody draws a seventh."""
    procedure = Procedure(Rules(dealing=Dealing.FACE_UP))
    points = (2, 1, 0, 0, 5, 0)  # in their slots: Punto has 7 of 3 cards, Banco 1
    cards = tuple(CARDS[place, FACE, value] for place, value in zip(GONE, points, strict=True))
    drawn = procedure.moves(procedure.state(cards, Lip.PARTLY, (REMOVED,))).moves
    first = sum(move.rate for move in drawn if move.begins and move.lip is Lip.WHOLLY)
    seventh = sum(move.rate for move in drawn if OVER in move.codes and move.lip is Lip.WHOLLY)
    assert 0 < seventh < first / 100


def test_cut_card_is_drawn_by_a_hand() -> None:
    """What changes at the mouth with nobody there is not the cut card."""
    procedure = Procedure(Rules(dealing=Dealing.FACE_UP))
    moves = procedure.moves(procedure.state((), Lip.REST)).moves
    assert [move.by_hand for move in moves if move.lip is Lip.CUT] == [True]
