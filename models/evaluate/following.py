"""Follow cards on films with truth, and count what is right, held, wrong and falsely alleged.

`python -m models.evaluate.following FILM... [--broken KIND]`: the decoder alone, on streams kept on
disk (`models.evaluate.streams`); faces are given by the truth as they come to lie open, so `right`
means the layout and its order. `--broken` spoils the streams on purpose, as sight fails.
"""

from __future__ import annotations

import argparse
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from datasets.dealing.film_truth import NEVER, Coup, FilmTruth
from models.evaluate.broken_streams import BROKEN
from models.evaluate.streams import Film, films_of
from vision.game.events import Slot
from vision.game.rules import Dealing, Rules
from vision.game.tableau import STANDARD, ExtraCard, check_draws, total
from vision.sight.following.cards import HAND_OF, SHOE
from vision.sight.following.decisions import Account, Accounts
from vision.sight.following.evidence import LipEvidence, SymbolTable
from vision.sight.following.follower import BURN_SEEN
from vision.sight.following.hypotheses import BEAM, Decoder, TableObservation
from vision.sight.following.places import ElsewhereEvidence, ElsewhereWatch, SlotEvidence
from vision.sight.following.procedure import (
    ELSEWHERE,
    OVER,
    REMOVED,
    RETURNED,
    TWO_OUT,
    UNDER,
    Procedure,
)

# What the decoder cannot know or names otherwise: not counted as incidents here.
NOT_OF_LAYOUT = {"SWITCH", "EXPOSED_IN_SHOE", "EXPOSED_EARLY", "UNREAD", "CUT_CARD", "MISREAD"}


@dataclass(slots=True)
class Tally:
    """Counts over films."""

    coups: int = 0
    right: int = 0
    held: int = 0
    wrong: int = 0
    clean: int = 0
    accused: int = 0
    incidents: int = 0
    under_code: int = 0
    cards: int = 0
    in_time: int = 0
    missed: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    late: list[float] = field(default_factory=list)
    placed: list[float] = field(default_factory=list)
    hypotheses: list[int] = field(default_factory=list)
    seconds: float = 0.0
    steps: int = 0
    clean_odds: list[float] = field(default_factory=list)
    incident_odds: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        """Return the counts in words."""
        late = np.percentile(self.late, [50, 90]).round(2).tolist() if self.late else []
        placed = np.percentile(self.placed, [50, 90]).round(2).tolist() if self.placed else []
        hypotheses = (
            np.percentile(self.hypotheses, [50, 99]).astype(int).tolist() if self.hypotheses else []
        )
        return (
            f"{self.coups} coups: right {self.right}, held {self.held}, wrong {self.wrong}; "
            f"clean accused {self.accused} of {self.clean}; incidents {self.under_code} of "
            f"{self.incidents} (missed {dict(self.missed)}); out within 0.3 s "
            f"{self.in_time} of {self.cards}, p50/p90 {late}; placed {placed}; "
            f"hypotheses {hypotheses}, {1000 * self.seconds / max(self.steps, 1):.2f} ms a frame"
        )


def reads_of(truth: FilmTruth, looks: Sequence[int]) -> list[dict[int, int]]:
    """Return for each look the points of the faces that lie open in each slot."""
    reads: list[dict[int, int]] = [{} for _ in looks]
    for card in truth.cards:
        if card.slot is None or not card.readable:
            continue
        first, last = np.searchsorted(looks, [max(card.face, card.placed), card.removed])
        for index in range(first, last):
            reads[index][int(card.slot)] = card.card.points
    return reads


@dataclass(slots=True)
class Decoded:
    """What was believed of a film: its coups, each with when it was decided; times in ms."""

    coups: list[tuple[int, Account]] = field(default_factory=list)
    outs: list[int] = field(default_factory=list)
    placed: list[tuple[int, int]] = field(default_factory=list)
    _known: dict[int, tuple[int, frozenset[int]]] = field(default_factory=dict)

    def note(self, at: int, accounts: Accounts, decided: Sequence[Account]) -> None:
        """Take what is believed at a time: cards that are out and that lie, coups that are over."""
        for account in (*decided, *accounts.open):
            count, lying = self._known.get(account.coup, (0, frozenset()))
            self.outs += [at] * (len(account.cards) - count)
            slots = (card.place.lies for card in account.cards)
            now = frozenset(slot for slot in slots if slot is not None)
            self.placed += [(at, slot) for slot in now - lying]
            self._known[account.coup] = max(count, len(account.cards)), lying | now
        self.coups += [(at, account) for account in decided if not is_burn(account)]


def is_burn(account: Account) -> bool:
    """Whether the cards of a coup were burned."""
    return bool(account.likeliest) and account.likeliest[0][0].burning


def decode(
    film: Film, table: SymbolTable, *, tally: Tally, broken: str, beam: int = BEAM
) -> Decoded:
    """Run the decoder over a film."""
    failing = BROKEN[broken](film)
    stream = failing.film.stream
    rules = Rules(dealing=Dealing(stream.dealing))
    decoder = Decoder(Procedure(rules), burn=BURN_SEEN, beam=beam)
    lip, slots = LipEvidence(table), SlotEvidence(table.slots)
    elsewhere, outside = ElsewhereEvidence(stream.view), ElsewhereWatch(stream.view)
    reads, accounts, decoded = reads_of(film.truth, stream.looks), Accounts(decoder), Decoded()
    index = {at: index for index, at in enumerate(stream.looks)}
    begun = time.perf_counter()
    for at, values, still_at, sighting, _ in stream.moments(failing.mouth()):
        shown = None
        if sighting is not None:
            aside = outside.look(sighting.boxes, at)
            places = slots.take(failing.slots(sighting.places, at), at)
            away = elsewhere.take(len(aside), sighting.boxes, at)
            shown = TableObservation.of(places, slots.holds, reads[index[at]], away)
        likely = lip.take(values, at)
        if not decoder.step(at, likely, shown, mouth=lip.mouth, still_at=still_at):
            continue
        tally.hypotheses.append(len(decoder.hypotheses))
        decoded.note(at, accounts, accounts.take(at, looked=sighting is not None))
        tally.steps += 1
    decoded.note(stream.frames[-1], accounts, accounts.open)
    tally.seconds += time.perf_counter() - begun
    return decoded


def codes_of(account: Account, odds: float) -> set[str]:
    """Return the fault codes alleged of a coup, by the rules where the layout shows them."""
    alleged = {code for code, ratio in account.odds.items() if ratio >= odds}
    codes = alleged & {RETURNED, TWO_OUT}
    if account.is_open(odds):
        return codes  # what rests on the layout is alleged of a layout that is known
    if REMOVED in alleged:
        codes.add("WRONG_REMOVED")
    if alleged & {OVER, ELSEWHERE, UNDER}:
        codes |= _of_layout(account, alleged)
    return codes


def alleging_odds(account: Account | None) -> float:
    """Return the highest odds at which a fault would be alleged of a coup, 0 for none."""
    if account is None:
        return 0.0
    return max((odds for odds in account.odds.values() if codes_of(account, odds)), default=0.0)


def _of_layout(account: Account, alleged: set[str]) -> set[str]:
    """Return what the tableau says of the believed layout."""
    likely = next(state.cards for state, _ in account.likeliest if state.layout == account.layout)
    laid = [(card.place.slot, card.points) for card in likely if card.place is not SHOE]
    firsts = [(s, points) for s, points in laid if s is not None and s < Slot.PUNTO_3]
    if [slot for slot, _ in laid[:4]] != [0, 1, 2, 3] and ELSEWHERE in alleged:
        return {"WRONG_ORDER_INIT", "WRONG_HAND"}  # truths name it by the order or by the card
    sums = [total(tuple(p for s, p in firsts if HAND_OF[s] == hand)) for hand in (0, 1)]
    extras = tuple(
        ExtraCard(None if slot is None else HAND_OF[slot], None, points)
        for slot, points in laid
        if slot is None or slot >= Slot.PUNTO_3
    )
    check = check_draws(STANDARD, sums[0], sums[1], extras)
    codes = {code for code in check.codes if code}
    if UNDER in alleged:
        codes |= {f"UNDER_{s.name[0]}3" for s in check.due if s is not None}
    return codes


def judge(
    film: Film, decoded: Decoded, odds: float, tally: Tally, *, verbose: bool = False
) -> None:
    """Compare what was believed of a film with its truth."""
    truth, decided = film.truth, list(decoded.coups)
    for number, coup in enumerate(truth.coups):
        later = truth.coups[number + 1 :]
        until = later[0].cards[0].out + 9000 if later and later[0].cards else NEVER
        found = next((pair for pair in decided if coup.end - 1000 < pair[0] <= until), None)
        if found is not None:
            decided.remove(found)
        account = None if found is None else found[1]
        note = _judge_coup(coup, account, odds, tally)
        if note:
            print(f"  {film.stream.name} coup {coup.number} {','.join(coup.faults)}: {note}")
            for state, p in account.likeliest if verbose and account else ():
                print(f"    {p:.4f} {state.cards} {state.codes}")
    _judge_times(truth, decoded, tally)


def _judge_coup(coup: Coup, account: Account | None, odds: float, tally: Tally) -> str:
    tally.coups += 1
    codes = codes_of(account, odds) if account else set()
    notes = []
    if account is None or not account.is_laid:
        tally.held += 1
        notes.append("not seen" if account is None else f"held p {account.p:.4f}")
    elif account.layout == coup.layout:
        tally.right += 1
    else:
        tally.wrong += 1
        notes.append("WRONG")
    if notes and account is not None:
        notes.append(f"{account.layout} for {coup.layout}")
    ratios = {} if account is None else {k: f"{v:.2g}" for k, v in account.odds.items()}
    if coup.is_clean:
        tally.clean += 1
        tally.accused += bool(codes)
        tally.clean_odds.append(alleging_odds(account))
        notes += [f"ACCUSED {codes} {ratios}"] if codes else []
    for code in set(coup.faults) - NOT_OF_LAYOUT:
        tally.incidents += 1
        tally.under_code += code in codes
        tally.found[code] += code in codes
        tally.missed[code] += code not in codes
        tally.incident_odds.append(max([0.0, *(account.odds.values() if account else ())]))
        notes += [] if code in codes else [f"MISSED {code} for {codes} {ratios}"]
    tally.missed = +tally.missed
    return "; ".join(notes)


def _judge_times(truth: FilmTruth, decoded: Decoded, tally: Tally) -> None:
    for card in truth.cards:
        tally.cards += 1
        late = [(at - card.out) / 1000 for at in decoded.outs if -250 < at - card.out < 1500]
        if late:
            best = min(late, key=abs)
            tally.in_time += best <= 0.3
            tally.late.append(best)
        if card.slot is None:
            continue
        after = [
            (at - card.placed) / 1000
            for at, slot in decoded.placed
            if slot == card.slot and -500 < at - card.placed < 4000
        ]
        tally.placed += after[:1]


def curve(tally: Tally) -> str:
    """Return the clean coups accused and the incidents missed at several odds."""
    rows = ["odds   clean accused   incidents not alleged"]
    for odds in (1, 3, 10, 50, 200, 1000, 1e5):
        accused = sum(o >= odds for o in tally.clean_odds)
        missed = sum(o < odds for o in tally.incident_odds)
        rows.append(
            f"{odds:<7g}{accused} of {len(tally.clean_odds):<10}"
            f"{missed} of {len(tally.incident_odds)}"
        )
    return "\n".join(rows)


def main() -> int:
    """Decode every film, print each coup that is not right, the counts and the curve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "films", nargs="+", type=Path, help="films, or folders of films, with truth"
    )
    parser.add_argument("--table", type=Path, default=Path("models/following.toml"))
    parser.add_argument("--cache", type=Path, default=Path("runs/streams"))
    parser.add_argument("--odds", type=float, default=50.0, help="from which a fault is alleged")
    parser.add_argument(
        "--broken", choices=sorted(BROKEN), default="not", help="fail so on purpose"
    )
    parser.add_argument("--beam", type=int, default=BEAM, help="hypotheses kept at most")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    table, everything = (
        SymbolTable.of(tomllib.loads(arguments.table.read_text("utf-8"))),
        Tally(),
    )
    for film in films_of(arguments.films, arguments.cache):
        tally = Tally()
        decoded = decode(film, table, tally=tally, broken=arguments.broken, beam=arguments.beam)
        judge(film, decoded, arguments.odds, tally, verbose=arguments.verbose)
        print(f"{film.stream.name}: {tally}", flush=True)
        merge(everything, tally)
    print(f"all: {everything}\n{curve(everything)}")
    return 1 if everything.wrong else 0


def merge(into: Tally, other: Tally) -> None:
    """Add the counts of one film."""
    for name in Tally.__dataclass_fields__:
        mine, theirs = getattr(into, name), getattr(other, name)
        setattr(into, name, mine + theirs)


if __name__ == "__main__":
    sys.exit(main())
