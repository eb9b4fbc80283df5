"""Follow the cards of one table from its pictures: what the camera shows becomes `CoupSeen` events.

Each picture goes to the mouth's network, and each look to the detector; their evidence moves the
hypotheses of the decoder, and what these agree on is reported whenever it changes. Cards count from
1 as they leave the shoe. While nothing is seen, nothing is evidence: what may have happened
meanwhile is weighed as it comes back in sight, and nobody is accused of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from vision.game.cards import Card
from vision.game.events import CoupSeen, CutCardOut, Event, Life, Noticed, SeenCard, Slot
from vision.game.rules import BurnKind, Dealing, Rules
from vision.sight.detection.classifier import Drawn
from vision.sight.detection.detector import Detection, Kind
from vision.sight.detection.mouth import slots_beside
from vision.sight.following.cards import (
    ASIDE,
    BACK,
    CARDS,
    FACE,
    GONE,
    GONE_ASIDE,
    HAND,
    SHOE,
    SLOTS,
    Cards,
    Lip,
    Place,
)
from vision.sight.following.decisions import (
    PLACED,
    Account,
    Accounts,
    Allegations,
    Restart,
    rounded,
)
from vision.sight.following.evidence import (
    AtMouth,
    CutReport,
    ExposureWatch,
    LipEvidence,
    SymbolTable,
)
from vision.sight.following.hypotheses import Decoder, TableObservation
from vision.sight.following.places import (
    COVERED,
    STRONG,
    ElsewhereEvidence,
    ElsewhereWatch,
    FlashWatch,
    SlotEvidence,
    SlotObservation,
    Values,
    has_hand_at,
)
from vision.sight.following.procedure import FIRST_CARDS, Procedure
from vision.sight.geometry.plane import Image, Points, TableView
from vision.sight.reading.faces import UNKNOWN, Face, FaceReader, Where

# How likely the first cards of a shoe are burned before the camera, where nobody stated whether.
BURN_SEEN = 0.3
BURN_REPORTED = 0.95  # the same where the house stated so
# After so long, ms, without a picture what lay there may be gone; slow cameras give four a second.
GAP_MS = 600
# A reader that begins while cards lie on the table takes them for those of a coup that began
# before: where a card shows in this share of the looks within so many ms, and none came out.
BEGUN_MS, BEGUN_SHARE = 1000, 0.5
HIDES_MS = 2000  # a card before the shoe for longer (a draw takes 300) hides what is burned then
# How likely the cards that lay on the table were taken away while the reader was off.
TAKEN_MEANWHILE = 0.4
# For how long after a restart, ms, what is found is compared with what lay there: longer, and a
# hand is no reason; shorter, and the supervisor confirms sooner.
RESTART_MS = 6000
# A coup whose layout stays open for so long, ms, with nothing on its way, is a doubt for people.
DOUBT_MS = 4000
# For so long, ms, after a coup began it is watched whether cards of the one before still lie.
EARLY_MS = 1000
# Where a card of the log is that has no slot, and of those that have one, by that place.
NOWHERE = {Life.RETURNED: SHOE, Life.OUT: HAND, Life.REMOVED: GONE_ASIDE, Life.LYING: ASIDE}
IN_SLOT = {ASIDE: SLOTS, GONE_ASIDE: GONE}


@dataclass(frozen=True, slots=True)
class Resumed:
    """What lay on the table when the log ended: a coup of sight, its cards in order of leaving.

    `over`: it has a result, so that its cards may have been cleared meanwhile.
    """

    coup: int
    cards: tuple[SeenCard, ...]
    over: bool


@dataclass(frozen=True, slots=True, eq=False)
class Sight:
    """What a look gives: the picture, boxes of cards and hands (px), what the six slots show."""

    image: Image
    boxes: Sequence[Detection]
    places: tuple[SlotObservation, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CardView:
    """A card of the running coup, to be drawn: `quad` is 4 x 2 px; `seen` in the last look."""

    reported: SeenCard
    quad: Points
    seen: bool


class Follower:
    """Says what happens to the cards of one table; `observations` are the last of faces."""

    def __init__(
        self,
        view: TableView,
        table: SymbolTable,
        faces: FaceReader,
        rules: Rules,
        *,
        allege_odds: float,
    ) -> None:
        self._view = view
        self._rules = rules
        self._odds = allege_odds
        self.faces = faces
        self._lip, self._slots = LipEvidence(table), SlotEvidence(table.slots)
        self._outside, self._elsewhere = ElsewhereWatch(view), ElsewhereEvidence(view)
        self._flash = FlashWatch(faces.classify, view)
        self._shown: tuple[SlotObservation, ...] = ()
        self._beside = slots_beside(view)
        self.out = 0.0  # how likely (0 to 1) the mouth shows a card wholly out
        self._free_at = 0  # when none was likely last, ms
        self._at: int | None = None
        # Nothing was seen for a time since the last picture; the last look had a hand at the mouth.
        self._missed = self._hand = False
        self.begin_shoe(1, (), burn=BURN_SEEN)

    # --- the shoe --------------------------------------------------------------------------------

    def begin_shoe(self, order: int, read: Iterable[Card], *, burn: float = BURN_SEEN) -> None:
        """Begin to count at that order, with the faces read so far; the table is empty."""
        self.faces.begin_shoe(read)
        self.faces.forget(1 << 30)
        burns = order == 1 and self._rules.burn.kind is not BurnKind.NONE
        self.decoder = Decoder(Procedure(self._rules, self._beside), burn=burn if burns else 0.0)
        self.accounts = Accounts(self.decoder, odds=self._odds, order=order)
        self._before = 0  # coups of sight before the decoder's first one
        self._muted = 0  # the coups up to this one are of the shoe before
        self._cut, self._exposure = CutReport(), ExposureWatch(self._odds)
        self._lip.begin_shoe()
        self._begun_at: int | None = None
        self._first: list[frozenset[int]] | None = [] if order == 1 else None  # cards by slot

    def change_shoe(self, order: int, read: Iterable[Card], *, past: bool) -> None:
        """Begin a shoe while the table is watched; `past`: what lies there is of the one before."""
        running = self.accounts.open[-1] if self.accounts.open else None
        if running is None or all(card.place.gone for card in running.cards):
            self.begin_shoe(order, read)
            return
        self.faces.begin_shoe(read)
        self.accounts.next = order
        fresh = Allegations(self._odds)
        running = replace(
            running, first=order, alleged=fresh, published=None, open_since=None, doubt=""
        )
        self.accounts.open = [running]
        self._muted = running.coup if past else running.coup - 1
        self._before = -self._muted
        self._cut = CutReport()
        self._lip.begin_shoe()

    def restore(self, at: int, before: int, resumed: Resumed | None) -> None:
        """Go on after so many coups of sight, with what lay on the table when the log ended."""
        self._before = before
        if resumed is None:
            return
        self._before = resumed.coup - 1
        cards = _as_hypothesis(resumed.cards)
        self.decoder.resume(1, cards, gone=TAKEN_MEANWHILE)
        lying = frozenset(card.place.lies for card in cards if card.place.lies is not None)
        account = self._take_up(cards, [card.out_at for card in resumed.cards])
        account.first = min(card.order for card in resumed.cards)
        account.alleged.restart = Restart(at + RESTART_MS, lying, resumed.over)
        for card in resumed.cards:
            if card.card is not None:
                slot = None if card.slot is None else int(card.slot)
                self.faces.restore(Where(1, slot), card.card, card.confidence)

    # --- pictures --------------------------------------------------------------------------------

    @property
    def waiting(self) -> bool:
        """Whether looks are wanted even while nothing moves."""
        restarting = any(account.alleged.restart is not None for account in self.accounts.open)
        return self.faces.waiting or restarting or not self.accounts.is_settled

    def miss(self) -> None:
        """Take that nothing is seen; what may happen meanwhile is weighed at the next picture."""
        for account in self.accounts.open:
            account.blind = True
        self.faces.lose_sight(self._at or 0)
        self._missed = True

    def see(
        self, at: int, mouth: NDArray[np.float32], sight: Sight | None, *, still_at: int = 0
    ) -> list[Event]:
        """Take a picture: the values of the mouth's network (11) and, at a look, what is seen.

        Of what came between it and the picture before, all up to `still_at` (ms) was seen to be
        still, unless the table was not seen meanwhile. Return what is to be reported.
        """
        known = self._at if self._missed or self._at is None else max(self._at, still_at)
        gap = known is not None and at - known > GAP_MS
        if gap:
            self.miss()
        still_at = 0 if self._missed else still_at
        self._at, self._missed = at, False
        shown = None if sight is None else self._look(at, sight)
        near = [look for slot, look in enumerate(self._shown) if slot in self._beside]
        lip = self._lip.take(mouth, at, near, hand=self._hand)
        at_mouth = AtMouth(1.0, 1.0) if gap else self._lip.mouth
        if not self.decoder.step(at, lip, shown, mouth=at_mouth, still_at=still_at):
            return []
        events = list(self._at_lip(at, mouth))
        decided = self.accounts.take(at, looked=sight is not None)
        for account in (*decided, *self.accounts.open, *self.accounts.withdrawn):
            if account.coup > self._muted:
                events += self._report(at, account, decided=account in decided)
        for account in decided:
            self.faces.forget(account.coup)
            if account.coup > self._muted:
                self.accounts.next = account.first + len(account.cards)
        return events

    def _look(self, at: int, sight: Sight) -> TableObservation:
        places = self._shown = sight.places
        outside = self._outside.look(sight.boxes, at)
        self._hand = has_hand_at(self._view.mouth, self._view, sight.boxes)
        self._note_flashed(at, sight)
        account = self.accounts.open[-1] if self.accounts.open else None
        out = zip(account.left_at, account.cards, strict=True) if account else ()
        drawn = [Drawn(at_ms, lies=card.place.slot is not None) for at_ms, card in out]
        self.faces.look(sight.image, at, self._lying(places, outside), drawn)
        running = account.coup if account else 0
        reads = {
            where.slot: face.now.points
            for where, face in self.faces.faces.items()
            if where.coup == running and where.slot is not None and face.now is not None
        }
        values = self._slots.take(places, at)
        self._note_early(at, values)
        self._note_begun(at, places)
        elsewhere = self._elsewhere.take(len(outside), sight.boxes, at)
        return TableObservation.of(values, self._slots.holds, reads, elsewhere)

    def _note_begun(self, at: int, places: Sequence[SlotObservation]) -> None:
        """Take cards that lie there from the first look on for a coup that began before it."""
        if self._first is None:
            return
        self._begun_at = at if self._begun_at is None else self._begun_at
        self._first.append(
            frozenset(
                place
                for place, look in enumerate(places)
                if look.box is not None and look.box.score >= STRONG
            )
        )
        if any(len(account.found) < len(account.cards) for account in self.accounts.open):
            self._first = None  # one came out
        elif at - self._begun_at >= BEGUN_MS:
            seen, self._first = self._first, None
            least = BEGUN_SHARE * len(seen)
            slots = [slot.value for slot in Slot if sum(slot in lay for lay in seen) >= least]
            self._begin_with(at, slots)

    def _begin_with(self, at: int, slots: Sequence[int]) -> None:
        """Take the cards that lie in those slots for a coup of which a part was not seen."""
        boxes = [(slot, self._shown[slot].box) for slot in slots]
        up = [slot for slot, box in boxes if box is not None and box.kind is Kind.FACE]
        cards = tuple(CARDS[SLOTS[s], FACE if s in up else BACK, None] for s in slots)
        if cards:
            self.decoder.resume(1, cards, gone=1 - BURN_REPORTED)
            self._take_up(cards, [at] * len(cards)).blind = True

    def _take_up(self, cards: Cards, left_at: list[int]) -> Account:
        """Go on with the first coup of the decoder, which has those cards."""
        account = replace(
            self.accounts.account(1), cards=list(cards), left_at=left_at, found=set(), likeliest=()
        )
        account.burning = False
        self.accounts.open = [account]
        return account

    def _lying(
        self, places: Sequence[SlotObservation], outside: Sequence[Detection]
    ) -> dict[Where, Detection]:
        """Return the cards that lie in clear sight and are believed to be cards of the coup."""
        if not self.accounts.open:
            return {}
        account = self.accounts.open[-1]
        state = account.likeliest[0][0] if account.likeliest else None
        cards: Cards = () if state is None else state.cards
        found = {}
        for slot in (card.place.lies for card in cards):
            look = None if slot is None else places[slot]
            if look is None or look.box is None or look.moves or look.covered > COVERED:
                continue
            found[Where(account.coup, slot)] = look.box
        if any(card.place in {ASIDE, GONE_ASIDE} for card in cards):
            found.update((Where(account.coup, None), box) for box in outside[:1])
        return found

    def cards(self) -> tuple[CardView, ...]:
        """Return the cards of the running coup that lie in a slot, as they were reported last."""
        account = self.accounts.open[-1] if self.accounts.open else None
        if account is None or account.published is None:
            return ()
        found = []
        for card, reported in zip(account.cards, account.published.cards, strict=False):
            slot = card.place.lies
            if slot is None:
                continue
            box = self._shown[slot].box if self._shown else None
            quad = self._view.homography.to_px(self._view.slots[Slot(slot)])
            if box is not None:
                quad = self._view.quad_px(self._view.locate(box.quad)[0])
            found.append(CardView(reported, quad, box is not None))
        return tuple(found)

    def likeliest(self) -> tuple[tuple[str, float], ...]:
        """Return the likeliest layouts of the running coup in words, each with its probability."""
        return self.accounts.open[-1].layouts if self.accounts.open else ()

    # --- what is reported -----------------------------------------------------------------------

    def _report(self, at: int, account: Account, *, decided: bool = False) -> list[Event]:
        """Return what is to be reported of a coup, if it differs from what was last."""
        known = 0 if account.published is None else len(account.published.cards)
        if set(range(known, len(account.cards))) - account.found:
            # A card leaves the shoe: what was read in a slot that none holds yet was a card that a
            # player laid down there, and is none of this one.
            states = (state.cards for state, _ in account.likeliest[:1])
            held = {card.place.slot for cards in (account.cards, *states) for card in cards}
            self.faces.forget_bare(account.coup, held)
        # The numbers of its cards follow those of the coup before, which may change.
        for before in self.accounts.open:
            if before.coup == account.coup - 1 and before.coup > self._muted:
                account.first = before.first + len(before.cards)
        faces = [self._face(account, number) for number in range(len(account.cards))]
        account.alleged.take_cards(account)
        for number, face in enumerate(faces):
            account.alleged.take_face(number, face)
        if self._rules.dealing is Dealing.PUNTO_FIRST:
            account.alleged.take_exposed(account)
        account.alleged.check_restart(at, account)
        twice = account.repeated(faces)
        self._doubt(at, account, twice, decided=decided)
        sure = not (account.is_open(self._odds) or account.uncounted)
        cards = tuple(self._card(account, number, face) for number, face in enumerate(faces))
        alleged = () if account.doubt else account.alleged.reported(account.first)
        worst, last = max(account.odds.values(), default=0.0), account.published
        odds = None
        over = account.has_over(self._odds) and twice is None and not account.uncounted
        if worst >= self._odds and (sure or over):
            odds = rounded(worst) if last is None or last.odds is None else last.odds
        seen = CoupSeen(at, account.coup + self._before, cards, alleged, sure, account.doubt, odds)
        if last is not None and replace(seen, at=last.at) == last:
            return []
        account.published = seen
        return [seen]

    def _card(self, account: Account, number: int, face: Face) -> SeenCard:
        card = account.cards[number]
        slot = card.place.slot
        return SeenCard(
            account.first + number,
            account.left_at[number],
            _life(card.place, burning=account.burning),
            None if slot is None else Slot(slot),
            face_up=card.side.is_face or face.read is not None,
            card=face.read,
            declined=face.declined,
            confidence=face.confidence,
            second=face.doubted or face.second,
            switched=face.switched,
        )

    def _face(self, account: Account, number: int) -> Face:
        """Return what is read of a card; outside the slots, of the first one that lies there."""
        places = [card.place for card in account.cards]
        slot = places[number].slot
        aside = (n for n, p in enumerate(places) if p.slot is None and p is not HAND)
        if slot is None and number != next(aside, None):
            return UNKNOWN
        return self.faces.faces.get(Where(account.coup, slot), UNKNOWN)

    def _doubt(self, at: int, account: Account, twice: Card | None, *, decided: bool) -> None:
        """Set the words of a doubt about the reader: what was not seen, or stays open."""
        is_open = account.is_open(self._odds)
        on_way = account.under_way or any(card.place is HAND for card in account.cards)
        if not is_open or on_way:
            account.open_since = None
        elif account.open_since is None:
            account.open_since = at
        # Before four cards are out nothing is decided that people would have to know.
        waits = account.open_since is not None and len(account.cards) >= FIRST_CARDS
        late = waits and at - (account.open_since or at) >= DOUBT_MS
        if account.blind and any(odds > 1 for odds in account.odds.values()):
            account.doubt = "A part of it was not seen."
        elif account.mixed:
            account.doubt = "Its cards were taken for the burn."
        elif twice is not None:
            account.doubt = f"{twice} was read in two places, and seen to leave the shoe once."
        elif not is_open or not (decided or late or account.doubt):
            account.doubt = ""
        elif not account.doubt:
            account.doubt = account.doubted(self._odds)

    # --- what only sight can know ----------------------------------------------------------------

    def _at_lip(self, at: int, mouth: NDArray[np.float32]) -> Iterator[Event]:
        """Tell once of a card in the mouth that shows its face, and of the cut card."""
        shares = dict.fromkeys(Lip, 0.0)
        for hypothesis, p in self.decoder.hypotheses.items():
            shares[hypothesis.state.lip] += p
        waits = shares[Lip.REST] + shares[Lip.EMERGING] + shares[Lip.PARTLY]
        covered = self._lip.covered or self._outside.before_mouth
        if self._exposure.look(mouth, at, waits=waits, covered=covered):
            yield Noticed(at, "EXPOSED_IN_SHOE")
        self.out = sum(shares[lip] for lip in (Lip.WHOLLY, Lip.CLEAR, Lip.LINGERS, Lip.STAYS))
        self._free_at = at if self.out < 1 / 2 else self._free_at
        for account in self.accounts.open:
            account.uncounted |= account.burning and at - self._free_at > HIDES_MS
        cut = shares[Lip.CUT]
        laid = ((a.left_at[n], n in a.found) for a in self.accounts.open
                for n in range(len(a.cards)) if a.cards[n].place is not HAND)  # fmt: skip
        if self._cut.look(at, self._lip.cut.waits, passes=cut, next_out=1 - waits - cut, laid=laid):
            yield CutCardOut(at)

    def _note_flashed(self, at: int, sight: Sight) -> None:
        """Note a card of the first four that shows its face on its way, where none may."""
        running = self.accounts.open[-1] if self.accounts.open else None
        watches = self._rules.dealing is Dealing.PUNTO_FIRST
        if running is None or running.coup <= self._muted or not watches:
            return
        if sum(p for state, p in running.likeliest if state.burning) > 1 - PLACED:
            return  # the first card that is burned is shown to all
        number = len(running.cards) - 1
        in_hand = [index for index, card in enumerate(running.cards) if card.place is HAND]
        carried = in_hand == [number] and number < FIRST_CARDS
        if self._flash.look(sight.image, sight.boxes, at, number if carried else None):
            running.alleged.take_flashed(number)

    def _note_early(self, at: int, values: Values) -> None:
        """Add up whether cards of the coup before still lie when the next one has begun."""
        for before, now in pairwise(self.accounts.open):
            if at - now.left_at[0] > EARLY_MS or before.coup <= self._muted:
                continue
            if before.blind or now.blind:
                continue  # what was not seen accuses nobody
            # Where the next coup's first card comes to lie, a card shows nothing.
            taken = {self._rules.deal_order[0], *(card.place.slot for card in now.cards)}
            now.alleged.take_before(before, values, taken)


def _life(place: Place, *, burning: bool) -> Life:
    if place is HAND:
        return Life.OUT
    if place is SHOE:
        return Life.RETURNED
    # A burned card lies beside the shoe for as long as the burn goes on.
    if place.gone and not (place is GONE_ASIDE and burning):
        return Life.REMOVED
    return Life.LYING


def _as_hypothesis(seen: Sequence[SeenCard]) -> Cards:
    """Return the cards of a coup of the log as a hypothesis has them."""
    found = []
    for card in seen:
        place = NOWHERE[card.life]
        if card.slot is not None and place in IN_SLOT:
            place = IN_SLOT[place][card.slot]
        side = FACE if card.face_up and place is not HAND else BACK
        points = None if card.card is None or place is HAND else card.card.points
        found.append(CARDS[place, side, points])
    return tuple(found)
