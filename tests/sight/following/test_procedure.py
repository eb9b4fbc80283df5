"""What is known late of a coup changes what its worlds were worth."""

from __future__ import annotations

from vision.game.rules import Dealing, Rules
from vision.sight.following.procedure import TAKEN, UNDER, Procedure
from vision.sight.following.world import FACE, GONE


def test_clearing_before_a_card_that_proves_to_be_due_is_an_under_draw() -> None:
    """Punto has 1 and 3, read as its cards are being taken off: a third card was due."""
    procedure = Procedure(Rules(dealing=Dealing.FACE_UP))
    gone, lying = (GONE + 0, FACE, 1), ((1, FACE, 2), (2, FACE, None), (3, FACE, 4))
    seen = (lying[0], (2, FACE, 3), lying[2])
    ratio, codes = procedure.reprice((gone, *lying), (gone, *seen), ())
    assert codes == (UNDER,)
    assert ratio < 0.1
    assert procedure.reprice((gone, *lying), (gone, *seen), (TAKEN,)) == (1.0, (TAKEN,))
    # Nothing was taken yet: the card may still come.
    assert procedure.reprice(((0, FACE, 1), *lying), ((0, FACE, 1), *seen), ()) == (1.0, ())
