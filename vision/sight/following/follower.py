"""Follow the cards of one table from its pictures: what the camera shows becomes `CoupSeen` events.

Each picture goes to the mouth's network, and each look to the detector; their evidence moves the
worlds of the decoder, and what these agree on is said whenever it changes. Cards are counted from 1
in the order in which they leave the shoe. While nothing is seen, nothing is evidence: what may have
happened meanwhile is weighed as it comes back in sight, and nobody is accused of it.
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
from vision.sight.detection.classifier import Look
from vision.sight.detection.detector import Detection, Kind
from vision.sight.following.decisions import (
    Account,
    Accounts,
    Allegations,
    Restart,
    SaidCard,
    lies,
    rounded,
)
from vision.sight.following.evidence import (
    AsideEvidence,
    CutWatch,
    ExposureWatch,
    LipEvidence,
    SlotEvidence,
    SymbolTable,
    Values,
)
from vision.sight.following.places import (
    COVERED,
    STRONG,
    ElsewhereWatch,
    FlashWatch,
    PlaceLook,
)
from vision.sight.following.procedure import FIRST_CARDS, Procedure
from vision.sight.following.world import (
    ASIDE,
    BACK,
    FACE,
    GONE,
    GONE_ASIDE,
    HAND,
    SHOE,
    Cards,
    Decoder,
    Lip,
    TableLook,
    is_gone,
)
from vision.sight.geometry.plane import Image, Points, TableView
from vision.sight.reading.faces import UNKNOWN, Face, FaceReader, Where
from vision.sight.reading.switching import Drawn

# How likely the first cards of a shoe are burned before the camera, where nobody said whether.
BURN_SEEN = 0.3
BURN_SAID = 0.95  # the same where the house said so
# After a longer time than this, ms, without a picture, what lay there may be gone; a slow camera
# gives four a second.
GAP_MS = 600
# A reader that begins while cards lie on the table takes them for those of a coup that began
# before: where a card shows in this share of the looks within so many ms, and none came out.
BEGUN_MS, BEGUN_SHARE = 1000, 0.5
# How likely the cards that lay on the table were taken away while the reader was off.
TAKEN_MEANWHILE = 0.4
# For how long after a restart, ms, what is found is compared with what lay there: longer, and a
# hand is no reason; shorter, and the supervisor confirms sooner.
RESTART_MS = 6000
# A coup whose layout stays open for so long, ms, with nothing on its way, is a doubt for people.
DOUBT_MS = 4000
# For so long, ms, after a coup began it is watched whether cards of the one before still lie.
EARLY_MS = 1000


@dataclass(frozen=True, slots=True)
class Resumed:
    """What lay on the table when the log ended: a coup of sight, its cards in order of leaving.

    `over`: it has a result, so that its cards may have been cleared meanwhile.
    """

    coup: int
    cards: tuple[SeenCard, ...]
    over: bool


@dataclass(slots=True)
class _Told:
    """What is kept of a coup beside its account: its first order, what was told of it last."""

    first: int
    alleged: Allegations
    seen: CoupSeen | None = None
    open_since: int | None = None
    doubt: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Sight:
    """What a look gives: the picture, boxes of cards and hands (px), what the six slots show."""

    image: Image
    boxes: Sequence[Detection]
    places: tuple[PlaceLook, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CardView:
    """A card of the running coup, to be drawn: `quad` is 4 x 2 px; `seen` in the last look."""

    said: SeenCard
    quad: Points
    seen: bool


class Follower:
    """Says what happens to the cards of one table; `looks` are the last looks at faces."""

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
        self._lip, self._slots = LipEvidence(table), SlotEvidence(table)
        self._elsewhere = ElsewhereWatch(view)
        self._flash = FlashWatch(view)
        self._aside = AsideEvidence()
        self.looks: tuple[Look, ...] = ()
        self._shown: tuple[PlaceLook, ...] = ()
        self.out = 0.0  # how likely (0 to 1) the mouth shows a card wholly out
        self._at: int | None = None
        self._missed = False  # nothing was seen for a time since the last picture
        self.begin_shoe(1, (), burn=BURN_SEEN)

    # --- the shoe --------------------------------------------------------------------------------

    def begin_shoe(self, order: int, read: Iterable[Card], *, burn: float = BURN_SEEN) -> None:
        """Begin to count at that order, with the faces read so far; the table is empty."""
        self.faces.begin_shoe(read)
        self.faces.forget(1 << 30)
        burns = order == 1 and self._rules.burn.kind is not BurnKind.NONE
        self.decoder = Decoder(Procedure(self._rules), burn=burn if burns else 0.0)
        self.accounts = Accounts(self.decoder)
        self._told: dict[int, _Told] = {}
        self._before, self._next = 0, order  # coups of sight before the decoder's first one
        self._muted = 0  # the coups up to this one are of the shoe before
        self._cut, self._exposure = CutWatch(), ExposureWatch(self._odds)
        self._begun_at: int | None = None
        self._first: list[frozenset[int]] | None = [] if order == 1 else None  # cards by slot

    def change_shoe(self, order: int, read: Iterable[Card], *, past: bool) -> None:
        """Begin a shoe while the table is watched; `past`: what lies there is of the one before."""
        running = self.accounts.open[-1] if self.accounts.open else None
        if running is None or all(is_gone(card.place) for card in running.cards):
            self.begin_shoe(order, read)
            return
        self.faces.begin_shoe(read)
        self.accounts.open = [running]
        self._told = {}
        self._next = order
        self._muted = running.coup if past else running.coup - 1
        self._before = -self._muted
        self._cut = CutWatch()

    def restore(self, at: int, before: int, resumed: Resumed | None) -> None:
        """Go on after so many coups of sight, with what lay on the table when the log ended."""
        self._before = before
        if resumed is None:
            return
        self._before = resumed.coup - 1
        cards = tuple(_as_world(card) for card in resumed.cards)
        self.decoder.resume(1, cards, gone=TAKEN_MEANWHILE)
        account = Account(1, [
            SaidCard(card.out_at, place, side % 2 == FACE)
            for card, (place, side, _) in zip(resumed.cards, cards, strict=True)
        ])  # fmt: skip
        self.accounts.open = [account]
        first = min(card.order for card in resumed.cards)
        lying = frozenset(place for place, _, _ in cards if place < HAND)
        restart = Restart(at + RESTART_MS, lying, resumed.over)
        self._told[1] = _Told(first, Allegations(self._odds, restart))
        for card in resumed.cards:
            if card.card is not None:
                slot = None if card.slot is None else int(card.slot)
                self.faces.restore(Where(1, slot), card.card, card.confidence)

    # --- pictures --------------------------------------------------------------------------------

    @property
    def waiting(self) -> bool:
        """Whether looks are wanted even while nothing moves."""
        restarting = any(told.alleged.restart is not None for told in self._told.values())
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
        still, unless the table was not seen meanwhile. Return what is to be said.
        """
        known = self._at if self._missed or self._at is None else max(self._at, still_at)
        gap = known is not None and at - known > GAP_MS
        if gap:
            self.miss()
        still_at = 0 if self._missed else still_at
        self._at, self._missed, self.looks = at, False, ()
        shown = None if sight is None else self._look(at, sight)
        lip = self._lip.take(mouth, at)
        hand = 1.0 if gap else self._lip.hand
        if not self.decoder.step(at, lip, shown, hand=hand, still_at=still_at):
            return []
        events = list(self._at_lip(at, mouth))
        decided = self.accounts.take(at, looked=sight is not None)
        for account in (*decided, *self.accounts.open, *self.accounts.withdrawn):
            if account.coup > self._muted:
                events += self._say(at, account, decided=account in decided)
        for account in self.accounts.withdrawn:
            self._told.pop(account.coup, None)
        for account in decided:
            self.faces.forget(account.coup)
            told = self._told.pop(account.coup, None)
            if told is not None:
                self._next = told.first + len(account.cards)
        return events

    def _look(self, at: int, sight: Sight) -> TableLook:
        looks = self._shown = sight.places
        outside = self._elsewhere.look(sight.boxes, at)
        self._note_flashed(at, sight)
        cards = self.accounts.open[-1].cards if self.accounts.open else ()
        drawn = [Drawn(card.out_at, lies=card.slot is not None) for card in cards]
        self.looks = self.faces.look(sight.image, at, self._lying(looks, outside), drawn)
        running = self.accounts.open[-1].coup if self.accounts.open else 0
        reads = {
            where.slot: face.now.points
            for where, face in self.faces.faces.items()
            if where.coup == running and where.slot is not None and face.now is not None
        }
        values = self._slots.take(looks, at)
        self._note_early(at, values)
        self._note_begun(at, looks)
        aside = self._aside.take(len(outside), at)
        return TableLook.of(values, self._slots.holds, reads, aside)

    def _note_begun(self, at: int, looks: Sequence[PlaceLook]) -> None:
        """Take cards that lie there from the first look on for a coup that began before it."""
        if self._first is None:
            return
        self._begun_at = at if self._begun_at is None else self._begun_at
        self._first.append(
            frozenset(
                place
                for place, look in enumerate(looks)
                if look.box is not None and look.box.score >= STRONG
            )
        )
        if any(not card.found for account in self.accounts.open for card in account.cards):
            self._first = None  # one came out
        elif at - self._begun_at >= BEGUN_MS:
            seen, self._first = self._first, None
            least = BEGUN_SHARE * len(seen)
            self._take_up(at, [p for p in range(HAND) if sum(p in s for s in seen) >= least], looks)

    def _take_up(self, at: int, places: Sequence[int], looks: Sequence[PlaceLook]) -> None:
        cards = []
        for place in places:
            box = looks[place].box
            face = box is not None and box.kind is Kind.FACE
            cards.append((place, FACE if face else BACK, None))
        if cards:
            self.decoder.resume(1, tuple(cards), gone=1 - BURN_SAID)
            said = [SaidCard(at, place, side == FACE) for place, side, _ in cards]
            self.accounts.open = [Account(1, said, blind=True)]

    def _lying(
        self, looks: Sequence[PlaceLook], outside: Sequence[Detection]
    ) -> dict[Where, Detection]:
        """Return the cards that lie in clear sight and are believed to be cards of the coup."""
        if not self.accounts.open:
            return {}
        account = self.accounts.open[-1]
        state = account.likeliest[0][0] if account.likeliest else None
        cards: Cards = () if state is None else state.cards
        found = {}
        for place, _, _ in cards:
            look = looks[place] if place < HAND else None
            if look is None or look.box is None or look.moves or look.covered > COVERED:
                continue
            found[Where(account.coup, place)] = look.box
        if any(place in {ASIDE, GONE_ASIDE} for place, _, _ in cards):
            found.update((Where(account.coup, None), box) for box in outside[:1])
        return found

    def cards(self) -> tuple[CardView, ...]:
        """Return the cards of the running coup that lie in a slot, as they were said last."""
        account = self.accounts.open[-1] if self.accounts.open else None
        told = None if account is None else self._told.get(account.coup)
        if account is None or told is None or told.seen is None:
            return ()
        found = []
        for card, said in zip(account.cards, told.seen.cards, strict=False):
            if card.slot is None or not lies(card.place):
                continue
            box = self._shown[card.slot].box if self._shown else None
            quad = self._view.homography.to_px(self._view.slots[Slot(card.slot)])
            if box is not None:
                quad = self._view.quad_px(self._view.locate(box.quad)[0])
            found.append(CardView(said, quad, box is not None))
        return tuple(found)

    def likeliest(self) -> tuple[tuple[str, float], ...]:
        """Return the likeliest layouts of the running coup in words, each with its probability."""
        return self.accounts.open[-1].layouts if self.accounts.open else ()

    # --- what is said ----------------------------------------------------------------------------

    def _say(self, at: int, account: Account, *, decided: bool = False) -> list[Event]:
        """Return what is to be said of a coup, if it is another thing than was said last."""
        told = self._told.get(account.coup)
        if told is None:
            told = self._told[account.coup] = _Told(self._next, Allegations(self._odds))
        # The numbers of its cards follow those of the coup before, which may change.
        for before in self.accounts.open:
            if before.coup == account.coup - 1 and before.coup in self._told:
                told.first = self._told[before.coup].first + len(before.cards)
        told.alleged.take_cards(account)
        for number, card in enumerate(account.cards):
            told.alleged.take_face(number, self._face(account, card))
        if self._rules.dealing is Dealing.PUNTO_FIRST:
            told.alleged.take_exposed(account)
        told.alleged.check_restart(at, account)
        self._doubt(at, account, told, decided=decided)
        sure = not account.is_open(self._odds)
        cards = tuple(
            self._card(account, order, card) for order, card in enumerate(account.cards, told.first)
        )
        alleged = () if told.doubt else told.alleged.told(told.first)
        worst = max(account.odds.values(), default=0.0)
        odds = None
        if worst >= self._odds and sure:
            same = told.seen is not None and told.seen.odds is not None
            odds = told.seen.odds if same and told.seen is not None else rounded(worst)
        number = account.coup + self._before
        seen = CoupSeen(at, number, cards, alleged, sure, told.doubt, odds)
        if told.seen is not None and replace(seen, at=told.seen.at) == told.seen:
            return []
        told.seen = seen
        return [seen]

    def _card(self, account: Account, order: int, card: SaidCard) -> SeenCard:
        face = self._face(account, card)
        return SeenCard(
            order,
            card.out_at,
            _life(card.place, burning=account.burning),
            None if card.slot is None else Slot(card.slot),
            face_up=card.face_up or face.read is not None,
            card=face.read,
            declined=face.declined,
            confidence=face.confidence,
            second=face.doubted or face.second,
            switched=face.switched,
        )

    def _face(self, account: Account, card: SaidCard) -> Face:
        """Return what is read of a card; outside the slots, of the first one that lies there."""
        where = Where(account.coup, card.slot)
        aside = [other for other in account.cards if other.slot is None and other.place != HAND]
        mine = card.slot is not None or (bool(aside) and card is aside[0])
        return self.faces.faces.get(where, UNKNOWN) if mine else UNKNOWN

    def _doubt(self, at: int, account: Account, told: _Told, *, decided: bool) -> None:
        """Set the words of a doubt about the reader: what was not seen, or stays open."""
        is_open = account.is_open(self._odds)
        if not is_open or any(card.place == HAND for card in account.cards):
            told.open_since = None
        elif told.open_since is None:
            told.open_since = at
        # Before four cards are out nothing is decided that people would have to know.
        waits = told.open_since is not None and len(account.cards) >= FIRST_CARDS
        late = waits and at - (told.open_since or at) >= DOUBT_MS
        if account.blind and any(odds > 1 for odds in account.odds.values()):
            told.doubt = "A part of it was not seen."
        elif not is_open or not (decided or late or told.doubt):
            told.doubt = ""
        elif not told.doubt:
            unseen = account.is_laid and account.unseen > 1
            words = "Not every card of it was seen to lie."
            told.doubt = words if unseen else account.alternatives

    # --- what only sight can know ----------------------------------------------------------------

    def _at_lip(self, at: int, mouth: NDArray[np.float32]) -> Iterator[Event]:
        """Tell once of a card in the mouth that shows its face, and of the cut card."""
        shares = dict.fromkeys(Lip, 0.0)
        for world, p in self.decoder.worlds.items():
            shares[world.state.lip] += p
        waits = shares[Lip.REST] + shares[Lip.EMERGING] + shares[Lip.PARTLY]
        if self._exposure.look(mouth, at, waits=waits):
            yield Noticed(at, "EXPOSED_IN_SHOE")
        self.out = shares[Lip.WHOLLY] + shares[Lip.CLEAR] + shares[Lip.LINGERS]
        cut = shares[Lip.CUT]
        if self._cut.look(mouth, passes=cut, next_out=1 - waits - cut):
            yield CutCardOut(at)

    def _note_flashed(self, at: int, sight: Sight) -> None:
        """Note a card of the first four that shows its face on its way, where none may."""
        running = self.accounts.open[-1] if self.accounts.open else None
        told = None if running is None else self._told.get(running.coup)
        if running is None or told is None or self._rules.dealing is not Dealing.PUNTO_FIRST:
            return
        number = len(running.cards) - 1
        in_hand = [index for index, card in enumerate(running.cards) if card.place == HAND]
        carried = in_hand == [number] and number < FIRST_CARDS
        if self._flash.look(sight.boxes, at, number if carried else None):
            told.alleged.take_flashed(number)

    def _note_early(self, at: int, values: Values) -> None:
        """Add up whether cards of the coup before still lie when the next one has begun."""
        for before, now in pairwise(self.accounts.open):
            told = self._told.get(now.coup)
            if told is None or at - now.cards[0].out_at > EARLY_MS or before.coup <= self._muted:
                continue
            if before.blind or now.blind:
                continue  # what was not seen accuses nobody
            # Where the next coup's first card comes to lie, a card shows nothing.
            taken = {self._rules.deal_order[0], *(card.slot for card in now.cards)}
            told.alleged.take_before(before, values, taken)


def _life(place: int, *, burning: bool) -> Life:
    if place == HAND:
        return Life.OUT
    if place == SHOE:
        return Life.RETURNED
    # A burned card lies beside the shoe for as long as the burn goes on.
    if is_gone(place) and not (place == GONE_ASIDE and burning):
        return Life.REMOVED
    return Life.LYING


def _as_world(card: SeenCard) -> tuple[int, int, int | None]:
    """Return a card of the log as a world has it."""
    slot = None if card.slot is None else int(card.slot)
    side = FACE if card.face_up else BACK
    points = None if card.card is None else card.card.points
    if card.life is Life.RETURNED:
        return SHOE, side, points
    if card.life is Life.OUT:
        return HAND, BACK, None
    if card.life is Life.REMOVED:
        return (GONE_ASIDE if slot is None else GONE + slot), side, points
    return (ASIDE if slot is None else slot), side, points
