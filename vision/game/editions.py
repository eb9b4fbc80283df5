"""Which edition of the rules a run is folded by, so that a log says again what it said.

`Started.version` names the program that ran, and so the edition. Nothing else in a log does.
"""

from __future__ import annotations

import re
from enum import IntEnum


class Edition(IntEnum):
    """The editions of the rules; what each changed is said at the members."""

    # Doubts about the reading, and a switched card, lapse at settlement. One of the first four
    # cards that lies with the wrong hand is WRONG_ORDER_INIT at once. A card read as another face
    # after the result is a SWITCH. A coup is one nearer to the last where the cut card comes first.
    FIRST = 1
    # Doubts and a switched card last until sight agrees or a person rules. Whether a cut card that
    # comes first makes that coup the last is the house's rule (`Rules.cut_first_is_last`). A card
    # that was found comes before those still to be laid for which its turn leaves no room. What is
    # known by a count only, of cards not all followed, is no fault until the card lies. A card
    # taken away before another leaves the shoe is a fault, though the coup is then complete. Of a
    # coup that begins while the view is lost, too, a card that is not there is no fault. A card
    # that is only told to be gone makes no card: it lay there of the shoe before.
    SECOND = 2


# Major and minor number of the first program that goes by the second edition. Set otherwise, logs
# written before are folded by rules that were not in force.
SECOND_SINCE = (0, 2)


def edition_of(version: str) -> Edition:
    """Return the edition that a program of that version goes by; without a number, the newest."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers is not None and (int(numbers[1]), int(numbers[2])) < SECOND_SINCE:
        return Edition.FIRST
    return Edition.SECOND
