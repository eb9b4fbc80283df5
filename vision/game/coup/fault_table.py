"""Every departure from procedure that is known: one table, and the value that reports one.

The table has for each fault what makes it, its words, its severity, the deadline for putting it
right, and whether it holds the result. Words state facts and what the tableau requires; never what
to pay. What becomes of a fault: `alerts`.
"""

from __future__ import annotations

from dataclasses import dataclass

from vision.game.cards import Card
from vision.game.events import Role, Slot
from vision.game.outputs import Deadline, Severity


def card_name(slot: Slot | None, order: int) -> str:
    """Name a card for people: by its slot, or by its order where it lies in none."""
    return f"number {order}" if slot is None else slot.title


INFO, ADVISORY = Severity.INFO, Severity.ADVISORY
WARNING, CRITICAL = Severity.WARNING, Severity.CRITICAL
ANY_TIME: tuple[Deadline, ...] = (Deadline.NONE,)
# "if the error has not been rectified or brought to the attention of management prior to cards
# being drawn for the next coup, all coups thereafter will be deemed valid" (sheets 0 to 2)
NEXT_CARD = (Deadline.NEXT_CARD,)
SETTLEMENT = (Deadline.SETTLEMENT,)
NEXT_COUP = (Deadline.NEXT_COUP,)
SHOE_END = (Deadline.SHOE_END,)
CARD_THEN_COUP = NEXT_CARD + NEXT_COUP
SETTLEMENT_THEN_COUP = SETTLEMENT + NEXT_COUP


@dataclass(frozen=True, slots=True)
class FaultKind:
    """A row of the table.

    `title` names it for people, who never see its code. `made`: the modules of `vision/` that find,
    allege or notice it. `severities` run from the fault's mildest state to its gravest, `deadlines`
    from the first to the last. `holds`: the result waits while an alert of it is open. `noticed`:
    it enters by a `Noticed` event, `alleged`: by what sight alleges of a coup. `of_reader`: it is
    about the reading, not the dealing, and so does not stay with the result; one that holds it too
    is a doubt, which no time limit ends. `machine`: the engineer sees it too. `reminds`: its
    mildest state is for the dealer alone. `of_shoe`: found in coup after coup it is one incident of
    the shoe, with one alert that counts them.
    """

    code: str
    title: str
    made: str
    words: str
    severities: tuple[Severity, ...]
    deadlines: tuple[Deadline, ...]
    holds: bool = False
    noticed: bool = False
    alleged: bool = False
    of_reader: bool = False
    machine: bool = False
    of_shoe: bool = False
    reminds: bool = False

    def audience(self, grade: int) -> tuple[Role, ...]:
        """Return who sees it in its state of that grade; surveillance all but reminders."""
        if self.reminds and grade == 0:
            return (Role.DEALER,)
        severity = self.severity(grade)
        audience = [Role.SURVEILLANCE]
        if severity is not INFO:
            audience.append(Role.DEALER)
        if severity in (WARNING, CRITICAL):
            audience.append(Role.INSPECTOR)
        if self.machine:
            audience.append(Role.ENGINEER)
        return tuple(audience)

    def severity(self, grade: int) -> Severity:
        """Return its severity in its state of that grade, the gravest beyond the last."""
        return self.severities[min(grade, len(self.severities) - 1)]


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault as found: `key` is the same for as long as it is about the same thing.

    `grade` counts up from its mildest state. `waits`: no time limit passes, because a card on which
    it rests is in doubt. `odds`: how many times likelier it is than all explanations
    without it, where sight says so. `count`: how often it has come. The other fields are the facts
    at that time.
    """

    key: str
    code: str
    text: str
    grade: int = 0
    order: int | None = None
    slot: Slot | None = None
    expected: tuple[Slot, ...] = ()
    observed: Slot | None = None
    exposed: bool | None = None
    card: Card | None = None
    second: Card | None = None
    confidence: float | None = None
    check_card: bool = False
    waits: bool = False
    odds: float | None = None
    count: int = 1

    @property
    def kind(self) -> FaultKind:
        """Its row of the table."""
        return KINDS[self.code]

    @property
    def deadlines(self) -> tuple[Deadline, ...]:
        """Its time limits."""
        return ANY_TIME if self.waits else self.kind.deadlines


_K = FaultKind
_LOUD = (WARNING, CRITICAL)

# fmt: off
_TABLE = (
    # --- the tableau
    _K("OVER_P3_STAND", "Over-draw by Punto", "game/tableau",
       "No card due to Punto ({totals}). Card {face}.", _LOUD, CARD_THEN_COUP, holds=True),
    _K("OVER_NATURAL", "Draw after a natural", "game/tableau",
       "Natural ({totals}): no more cards. Card {face}.", (CRITICAL,), CARD_THEN_COUP, holds=True),
    _K("OVER_B3", "Over-draw by Banco", "game/tableau",
       "No card due to Banco ({totals}): Banco stands. Card {face}.", _LOUD, CARD_THEN_COUP,
       holds=True),
    _K("OVER_4TH", "Fourth card in a hand", "game/tableau",
       "A fourth card: a hand has three at most. Card {face}.", (CRITICAL,), CARD_THEN_COUP,
       holds=True),
    _K("UNDER_P3", "Under-draw by Punto", "game/coup/fault_finding",
       "Card due to Punto ({totals}).", (ADVISORY, WARNING, CRITICAL), SETTLEMENT_THEN_COUP,
       holds=True, reminds=True),
    _K("UNDER_B3", "Under-draw by Banco", "game/coup/fault_finding",
       "Card due to Banco ({totals}).", (ADVISORY, WARNING, CRITICAL), SETTLEMENT_THEN_COUP,
       holds=True, reminds=True),
    _K("WRONG_HAND", "Card laid with the wrong hand", "game/coup/fault_finding game/tableau",
       "{which} lies with {lies}, due to {due}{totals}.", (WARNING,), CARD_THEN_COUP, holds=True),
    _K("WRONG_ORDER_INIT", "First cards in the wrong order", "game/coup/fault_finding",
       "First cards dealt {dealt}, not {order}.", (WARNING,), CARD_THEN_COUP, holds=True),
    _K("OUT_OF_TURN_B3", "Banco drawn before Punto", "game/tableau",
       "Banco's third card drawn before Punto's ({totals}).", (WARNING,), CARD_THEN_COUP,
       holds=True),
    # --- the cards on the table
    _K("TWO_CARDS_OUT", "Two cards together", "sight/following/procedure",
       "Two cards left the shoe together.", (WARNING,), NEXT_CARD, holds=True, alleged=True),
    _K("EXPOSED_IN_SHOE", "Card face up in the shoe", "sight/following/follower",
       "Card face up in the shoe.", (WARNING,), NEXT_CARD, noticed=True),
    _K("EXPOSED_EARLY", "Card exposed too early", "sight/following/decisions",
       "Card {slot} exposed before its time.", (INFO, WARNING), SETTLEMENT, alleged=True),
    _K("EXCESS_CARRIED", "Card carried over", "game/fold/coup_commands",
       "Coup starts with a card carried over: {card}.", (INFO,), ANY_TIME),
    _K("EARLY_DEAL", "Card dealt too early", "sight/following/decisions game/fold/shoe",
       "Card out {before}.", (ADVISORY,), NEXT_CARD, alleged=True),
    _K("SWITCH", "Card changed", "sight/following/decisions game/coup/fault_finding",
       "Card in {slot} was {card}, now {now}.", (CRITICAL,), ANY_TIME, holds=True, alleged=True),
    _K("CARD_UNACCOUNTED", "Card missing from the table", "game/coup/fault_finding",
       "Card {order} left the shoe and is not on the table.", (WARNING,), SETTLEMENT,
       of_reader=True),
    _K("PREMATURE_CLEAR", "Cards cleared before the result", "game/coup/fault_finding",
       "Cards removed before the result.", (WARNING,), SETTLEMENT_THEN_COUP, holds=True),
    _K("WRONG_REMOVED", "Card removed too early", "game/coup/fault_finding",
       "Card {slot} removed before the result.", (WARNING,), SETTLEMENT),
    _K("RETURNED_TO_SHOE", "Card returned to the shoe", "sight/following/procedure",
       "Card returned to the shoe.", (CRITICAL,), NEXT_CARD, holds=True, alleged=True),
    _K("FOREIGN_CARD", "Unknown card", "sight/following/decisions",
       "Unknown card.", (CRITICAL,), NEXT_CARD, holds=True, alleged=True),
    # --- the result
    _K("WRONG_RESULT", "Wrong result entered", "game/coup/results",
       "Cards: {ours}. Entered: {theirs}.", (CRITICAL,), SETTLEMENT_THEN_COUP, holds=True),
    _K("WRONG_SIDE", "Wrong side bet entered", "game/coup/results",
       "Cards: {ours}. Entered: {theirs}.", (WARNING,), SETTLEMENT),
    _K("HELD_OVER", "Result held past its shoe", "game/fold/shoe",
       "Coup {coup}: held as its shoe ended. Close this alert to release the shoe.", (WARNING,),
       ANY_TIME),
    # --- the shoe
    _K("SHORT_SHOE", "Shoe too short", "game/fold/shoe game/fold/step",
       "Not enough cards to finish: {left} left.", (CRITICAL,), NEXT_CARD, holds=True),
    _K("CUT_IGNORED", "Cut card ignored", "game/fold/shoe",
       "Cut card ignored: {coups} since coup {last}.", _LOUD, SHOE_END, of_shoe=True),
    _K("CUT_MISSING", "Cut card not seen", "game/coup/transition",
       "Cut card not seen with {left} cards left.", (ADVISORY,), SHOE_END),
    _K("SHOE_COUNT", "Cards of the shoe do not add up", "game/fold/shoe",
       "{counted} of {cards} cards accounted for.", (WARNING,), SHOE_END),
    _K("DUP_CARD", "Too many copies of a card", "game/coup/fault_finding",
       "{copy}th {card} in a shoe of {decks} decks.", (CRITICAL,), NEXT_COUP + SHOE_END,
       holds=True),
    _K("NEW_DECK_ORDER", "Cards not shuffled", "game/coup/transition",
       "Cards appear unshuffled: {runs} of {pairs} follow in order.", (CRITICAL,), NEXT_COUP),
    _K("BURN_MISSED", "No burn card", "game/fold/shoe",
       "No card was burned; the rule is {rule}.", (WARNING,), NEXT_COUP),
    _K("BURN_WRONG", "Wrong number of burn cards", "game/fold/shoe",
       "Burned {burned}, the rule requires {due}.", (WARNING,), NEXT_COUP),
    # --- the reading
    _K("REVIEW", "Reader in doubt", "game/coup/fault_finding",
       "Reader in doubt about {about}: compare the cards.", (ADVISORY,), ANY_TIME, holds=True,
       of_reader=True),
    _K("MISREAD_RISK", "Card read with doubt", "game/coup/fault_finding",
       "Read {slot}: {card} or {second}? Confirm.", (ADVISORY,), ANY_TIME, holds=True,
       of_reader=True),
    _K("UNREAD", "Card not read", "game/coup/fault_finding",
       "Card {slot} not read: key it in.", (ADVISORY, WARNING), SETTLEMENT, of_reader=True),
    _K("READ_CONFLICT", "Card read in two ways",
       "sight/following/decisions game/coup/fault_finding", "{slot} read as {card} and {other}.",
       (WARNING,), ANY_TIME, holds=True, alleged=True, of_reader=True),
    _K("RESTART_CONFIRM", "Cards moved while the reader was off", "sight/following/decisions",
       "Cards moved while the reader was off. Confirm the coup.", (WARNING,), ANY_TIME, holds=True,
       alleged=True, of_reader=True),
    # --- people
    _K("CALLED", "Inspector called", "game/fold/commands",
       "{who} calls the inspector.", (WARNING,), ANY_TIME),
    # --- the machine
    _K("VIEW_LOST", "Reader blind",
       "sight/quality/camera_position sight/quality/view game/fold/step",
       "Reader blind: {detail}. Results held.", _LOUD, NEXT_CARD, of_reader=True, machine=True),
    _K("CAMERA_MOVED", "Camera moved", "sight/quality/camera_position",
       "Camera moved.", _LOUD, NEXT_CARD, noticed=True, of_reader=True, machine=True),
    _K("LIGHT", "Light too poor", "sight/quality/view",
       "Light too poor to read by.", _LOUD, NEXT_CARD, noticed=True, of_reader=True, machine=True),
    _K("READING_POOR", "Reading poor", "sight/quality/view",
       "Cards are read worse than before.", (WARNING,), ANY_TIME, noticed=True, of_reader=True,
       machine=True),
    _K("CLOCK", "Clock wrong", "app/machine game/fold/step",
       "The clock of the reader is wrong.", (WARNING,), ANY_TIME, noticed=True, of_reader=True,
       machine=True),
    _K("LINK", "Messages not sent", "app/machine",
       "Messages cannot be sent.", (WARNING,), ANY_TIME, noticed=True, of_reader=True,
       machine=True),
    _K("ORDERS", "Orders refused", "app/journal",
       "Many orders are refused.", (WARNING,), ANY_TIME, noticed=True, of_reader=True,
       machine=True),
    _K("LOGINS", "Log-ins failed", "app/journal",
       "Many log-ins fail.", (WARNING,), ANY_TIME, noticed=True, of_reader=True, machine=True),
    _K("OVERLOAD", "Reader overloaded", "app/machine",
       "Reader overloaded.", (ADVISORY,), ANY_TIME, noticed=True, of_reader=True, machine=True),
    _K("EVIDENCE", "Pictures not kept", "app/evidence",
       "Pictures cannot be kept.", (WARNING,), ANY_TIME, noticed=True, of_reader=True,
       machine=True),
    _K("EVIDENCE_AT_RISK", "Pictures at risk", "app/evidence",
       "Pictures may be lost.", (WARNING,), ANY_TIME, noticed=True, of_reader=True, machine=True),
    _K("UNSIGNED", "Unsigned records", "app/restore",
       "Unsigned records were taken over.", (WARNING,), ANY_TIME, noticed=True, of_reader=True,
       machine=True),
    _K("INSTALLATION", "Reader changed", "app/journal",
       "Another installation reads this table than before.", (INFO,), ANY_TIME, noticed=True,
       of_reader=True, machine=True),
    _K("LOG", "Event log broken", "app/machine",
       "The event log is broken.", (CRITICAL,), ANY_TIME, noticed=True, of_reader=True,
       machine=True),
)
# fmt: on

KINDS: dict[str, FaultKind] = {kind.code: kind for kind in _TABLE}
# Alerts that say that the reader is not sure, or that the machine ails: they accuse nobody.
OPENLY_UNSURE = frozenset(
    {"UNREAD", "MISREAD_RISK", "READ_CONFLICT", "REVIEW"}
    | {code for code, kind in KINDS.items() if kind.machine}
)


def words_of(code: str, /, **facts: object) -> str:
    """Return what the fault says, its facts filled in."""
    return KINDS[code].words.format(**facts)
