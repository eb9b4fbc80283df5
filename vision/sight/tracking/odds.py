"""The probabilities by which a run of sightings is explained, each with what it is of.

Times in ms, lengths in mm, the rest 0 to 1 unless said.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Odds:
    """The probabilities by which explanations are weighed.

    Orders of magnitude, set by hand on three dealing films of another renderer, on the drawn table
    of the tests, and on the tuning styles of the simulator of sightings (`models.stress_table`);
    what that command fits on film is marked.
    """

    # --- a card new from the shoe
    unseen_leaving: float = 0.3  # the hand covers it all the way from the mouth to its slot
    sign_missed: float = 0.03  # ... and the watcher of the mouth, where there is one, missed it
    two_at_once: float = 0.05  # ... within 0.6 s of another that it did not miss
    laid_in_no_slot: float = 0.1  # dealt unseen, and not to a slot
    second_in_slot: float = 1e-3  # dealt into a slot where a card lies that is not seen elsewhere
    occupied: float = 0.05  # the same of a card that is known to have left
    overtaken: float = 0.02  # it comes down though one that left before is still to be laid
    another_lost: float = 0.02  # dealt while one that left the shoe before is still to be laid
    another_flying: float = 0.1  # dealt while one is on its way, in sight
    another_lifted: float = 0.3  # dealt while one that lay is in somebody's hand
    # --- a known card
    lost_comes_down: float = 0.9  # one lost in flight comes down where a run of sightings begins
    lost_to_mouth: float = 0.01  # ... though that run began in the mouth
    carried_on: float = 0.1  # ... though it had stopped in an empty place, hidden ever since
    sign_late_ms: float = 80.0  # the sign comes so late after the card has left (mean)
    signed_as_other: float = 0.1  # the mouth took the cut card for a card, or a card for it
    signed_soon_ms: float = 400.0  # one the mouth showed to leave is in sight so soon (mean)
    signed_late: float = 0.1  # ... but for so many, under a hand that stays,
    signed_late_ms: float = 2000.0  # which take so long (mean)
    begun_as_other: float = 0.1  # its run began as a false box, which the card then took over
    begins_mm: float = 60.0  # its first sighting is so far from the mouth (standard deviation)
    swapped: float = 0.01  # one in flight was last seen as a false box, and is this run
    laid_as_false: float = 0.1  # ... of one that seemed to be laid, in a place that is bare again
    double_goes_on: float = 0.05  # a second box of a card in flight is what goes on as the card
    lifted_returns: float = 0.6  # one lifted is laid again (others are cleared)
    covered_moves: float = 0.3  # one under a hand is shifted by it, a little
    covered_leaves: float = 0.1  # ... or carried off from under it, of those that move
    lying_seen: float = 0.9  # one that lies where it lay is found again by a box over it
    elsewhere: float = 0.02  # a known card is laid again far from where it lay
    same_slot: float = 0.3  # ... or in the same slot: it was not quite where it seemed
    brought_on: float = 0.7  # one laid down short of its place, to be turned, is brought there
    near_mm: float = 25.0  # standard deviation of where a turned card is laid again
    # --- no card
    false_sighting: float = 0.15  # a box at rest in a slot that is neither
    false_outside: float = 0.9  # the same where no card is laid
    false_on_hand: float = 4.0  # a box mostly on a hand is so many times likelier to be false
    false_after_clearing: float = 1.0  # sleeves and swept cards, for a moment after the clearing
    false_beside: float = 0.5  # a second box that shares its place with a card in sight
    false_flies_ms: float = 150.0  # a box that leaves the mouth and is no card lasts so long (mean)
    false_lasts_ms: float = 100.0  # such a box lasts so long (mean), and this if the place looks
    false_lasts_clearing_ms: float = 350.0  # ... disturbed by the clearing
    false_lasts_beside_ms: float = 700.0
    false_lasts_outside_ms: float = 300.0
    bare_lasts_ms: float = 500.0  # the bare table showed there, and is mistaken so long (mean)
    usual_score: float = 0.7  # of the detector; what is seen more surely is less often no card
    # --- when to believe
    times_likelier: float = 12.0  # the likeliest by this factor over all others together
    patience_ms: int = 2500  # after that the likeliest as it is, in doubt


ODDS = Odds()
