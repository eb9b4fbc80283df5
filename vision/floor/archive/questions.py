"""Questions that people ask of the archive, each answered with a table of plain values.

The rows are counted by the database; what remains are some hundred sums. Rates are per thousand
coups with an exact interval. Nothing here knows how an answer is printed or drawn.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    RowMapping,
    Select,
    Table,
    and_,
    case,
    distinct,
    func,
    select,
)

from vision.clock import now_ms
from vision.config.profiles import load_profile
from vision.errors import ConfigurationError
from vision.floor.archive import tables
from vision.floor.archive.database import explained
from vision.floor.archive.statistics import ALARM, CONFIDENCE, fit, middle, rate
from vision.game.cards import RANK_LETTERS
from vision.game.coup.fault_table import KINDS
from vision.game.odds import count, full_shoe
from vision.game.wagers import Bet

HOUR_MS = 3_600_000  # milliseconds of an hour
DAY_MS = 24 * HOUR_MS  # milliseconds of a day
DAY_HOURS = 24  # hours of a day, UTC
DECK_DIGITS = 12  # of the hash of a deck that are shown: enough to tell a house's decks apart
# States of a result that stands.
SEEN = ("final", "corrected")
WINNERS = ("punto", "banco", "egalite")
LENGTHS = (4, 5, 6)  # cards of a coup
TESTS = 3  # of the frequencies of a table: winners, numbers of cards, ranks


@dataclass(frozen=True, slots=True)
class Asked:
    """What of the archive is asked about: times in Unix ms (`until` not included), a table, all."""

    by: str = ""
    since: int = 0
    until: int = 2**62
    table: str = ""

    def within(self, table: Table, time: str) -> ColumnElement[bool]:
        """Return the condition that a row of the archive is asked about."""
        found = (table.c[time] >= self.since) & (table.c[time] < self.until)
        return found & (table.c.table_name == self.table) if self.table else found


def asked_of(fields: Mapping[str, str]) -> Asked:
    """Return a question from texts: by, table, since, until; ConfigurationError.

    A day, or a moment in ISO 8601; UTC where it says no other.
    """
    moments = {name: _moment(name, fields[name]) for name in ("since", "until") if fields.get(name)}
    return Asked(fields.get("by", ""), table=fields.get("table", ""), **moments)


def _moment(name: str, text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ConfigurationError(f"{name} {text}: not a date; write one as 2026-03-31") from error
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows of values under their columns, and what must be said beside them."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    notes: list[str] = field(default_factory=list)
    plot: tuple[str, ...] = ()  # label, value, and low and high of its interval where there is one

    def json(self) -> dict[str, Any]:
        """Return the answer as an object for JSON."""
        rows = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        told = {"notes": self.notes, "plot": list(self.plot)}
        return {"title": self.title, "columns": list(self.columns), "rows": rows, **told}


Line = tuple[Any, ...]
Question = Callable[[Connection, Asked], Answer]


def ask(engine: Engine, kind: str, asked: Asked) -> Answer:
    """Answer a question; ConfigurationError for one that makes no sense, OutsideError."""
    question, groups = QUESTIONS[kind]
    if asked.by == "dealer":
        raise ConfigurationError(
            "the contract does not say who deals (people log in to a desk for all of its tables, "
            "and no order ties a dealer to one); ask by table and hour, and hold that against the "
            "house's rota"
        )
    if asked.by and asked.by not in groups:
        ways = ", ".join(groups) or "nothing"
        raise ConfigurationError(f"{kind} cannot be asked by {asked.by}; ask by {ways}")
    chosen = (
        asked if asked.by or not groups else Asked(groups[0], asked.since, asked.until, asked.table)
    )
    with explained(engine), engine.begin() as connection:
        return question(connection, chosen)


# --- mis-deals ------------------------------------------------------------------------------------


def misdeals(connection: Connection, asked: Asked) -> Answer:
    """Return mis-deals by kind, table or hour of the day, with the rate per thousand coups."""
    alert, coup = tables.alert, tables.coup
    faults = asked.within(alert, "raised_at") & alert.c.severity.in_(GRAVE)
    faults &= alert.c.code.in_(OF_DEALING)
    coups = asked.within(coup, "dealt_at") & coup.c.state.in_((*SEEN, "void"))
    if asked.by == "kind":
        of = connection.execute(select(func.count()).where(coups)).scalar() or 0
        query = select(alert.c.code, func.count()).where(faults).group_by(alert.c.code)
        found = sorted(connection.execute(query).all(), key=lambda row: (-row[1], row[0]))
        lines = [(code, number, of) for code, number in found]
        lines.append(("all", sum(number for _, number in found), of))
    else:
        events = _grouped(connection, alert, "raised_at", faults, asked.by)
        dealt = _grouped(connection, coup, "dealt_at", coups, asked.by)
        lines = [(key, events.get(key, 0), dealt.get(key, 0)) for key in sorted({*events, *dealt})]
    rows = [(_label(key, asked.by), *rate(number, of)) for key, number, of in lines]
    columns = (asked.by, "misdeals", "coups", "per_thousand", "low", "high")
    title = f"Mis-deals by {asked.by}, per thousand coups"
    return Answer(title, columns, rows, [INTERVAL], (asked.by, "per_thousand", "low", "high"))


INTERVAL = (
    f"low and high: the exact {CONFIDENCE:.0%} interval of the rate (Poisson count, Garwood); a "
    "coup may have more than one mis-deal"
)
# Of the dealing, not of the reading; without what people call for or what follows from others.
OF_DEALING = tuple(
    code
    for code, kind in KINDS.items()
    if not kind.of_reader and code not in ("CALLED", "HELD_OVER", "DEADLINE_PASSED")
)
GRAVE = ("warning", "critical")  # an advisory reminds the dealer before anything has gone wrong


def _grouped(
    connection: Connection, table: Table, time: str, where: ColumnElement[bool], by: str
) -> dict[Any, int]:
    """Count rows by table or by hour of the day."""
    key: Any = table.c.table_name if by == "table" else table.c[time] // HOUR_MS % DAY_HOURS
    query: Select[Any] = select(key, func.count()).where(where).group_by(key)
    return {row[0]: row[1] for row in connection.execute(query)}


def _label(key: object, by: str) -> str:
    return f"{int(str(key)):02d}:00" if by == "hour" else str(key)


# --- from alert to remedy -------------------------------------------------------------------------


def remedies(connection: Connection, asked: Asked) -> Answer:
    """Return how long alerts took to be seen, put right and closed, by kind or table."""
    alert = tables.alert
    key = alert.c.code if asked.by == "kind" else alert.c.table_name
    moments = (alert.c.raised_at, alert.c.acknowledged_at, alert.c.rectified_at, alert.c.closed_at)
    query = select(key, *moments, alert.c.in_time).where(asked.within(alert, "raised_at"))
    groups: dict[str, list[Any]] = {}
    for row in connection.execute(query):
        groups.setdefault(row[0], []).append(row)
    rows = [(name, *_waits(found)) for name, found in sorted(groups.items())]
    columns = (
        asked.by, "alerts", "seen", "seen_s_p50", "seen_s_p90", "rectified", "rectified_s_p50",
        "rectified_s_p90", "closed", "late", "open",
    )  # fmt: skip
    notes = ["seconds from the raising of an alert; p50: half of them took less, p90: nine in ten"]
    return Answer("From alert to remedy", columns, rows, notes, (asked.by, "rectified_s_p50"))


def _waits(found: Sequence[Any]) -> tuple[Any, ...]:
    seen, rectified = ([(r[i] - r[1]) / 1000 for r in found if r[i] is not None] for i in (2, 3))
    closed = sum(row[4] is not None for row in found)
    late = sum(row[5] is not None and not row[5] for row in found)
    still_open = sum(row[3] is None and row[4] is None for row in found)
    seen_s, rectified_s = ((middle(s, 0.5), middle(s, 0.9)) for s in (seen, rectified))
    return len(found), len(seen), *seen_s, len(rectified), *rectified_s, closed, late, still_open


# --- reading --------------------------------------------------------------------------------------


def reads(connection: Connection, asked: Asked) -> Answer:
    """Return the share of reads that were declined or corrected, by table, deck or day."""
    shoe, card, run = tables.shoe, tables.card, tables.run
    keys: Mapping[str, Any] = {"table": shoe.c.table_name, "deck": run.c.deck, "day": _day(shoe)}
    of_shoe = [shoe.c[name] for name in ("site", "table_name", "numbering", "shoe")]
    declined = func.sum(_as_int(card.c.declined))
    corrected = func.sum(_as_int(card.c.keyed & ~card.c.declined))
    unusual = (
        select(*(card.c[c.name] for c in of_shoe), declined.label("d"), corrected.label("k"))
        .group_by(*(card.c[c.name] for c in of_shoe))
        .subquery()
    )
    same = [unusual.c[c.name] == c for c in of_shoe]
    in_run = (run.c.site == shoe.c.site) & (run.c.table_name == shoe.c.table_name)
    in_run &= run.c.boot == shoe.c.boot
    sums = (func.sum(shoe.c.reads), func.sum(unusual.c.d), func.sum(unusual.c.k))
    joined = shoe.outerjoin(unusual, and_(*same)).outerjoin(run, in_run)
    key = keys[asked.by]
    query = (
        select(key, *sums)
        .select_from(joined)
        .where(asked.within(shoe, "begun_at"))
        .group_by(key)
        .order_by(key)
    )
    found = [(key, *(int(n or 0) for n in numbers)) for key, *numbers in connection.execute(query)]
    rows = [
        (_name(key, asked.by), good, no, by_hand, *rate(no + by_hand, good + no)[2:])
        for key, good, no, by_hand in found
    ]
    columns = (asked.by, "read", "declined", "corrected", "per_thousand", "low", "high")
    title = f"Reads declined or corrected by {asked.by}, per thousand cards"
    return Answer(title, columns, rows, [DECLINED], (asked.by, "per_thousand", "low", "high"))


DECLINED = (
    "declined: left to people because the reader was not sure; corrected: read, and keyed in "
    "otherwise by people; a rate that rises at one table is its camera, with one deck the deck"
)


def _day(table: Table) -> Any:
    return table.c.begun_at // (HOUR_MS * DAY_HOURS)


def _name(key: object, by: str) -> str:
    if by == "day":
        return datetime.fromtimestamp(int(str(key)) * 86_400, UTC).date().isoformat()
    if by == "deck":
        return str(key)[:DECK_DIGITS] if key else "no enrolled deck"
    return str(key)


def _as_int(condition: Any) -> Any:
    return case((condition, 1), else_=0)


# --- pace -----------------------------------------------------------------------------------------


def pace(connection: Connection, asked: Asked) -> Answer:
    """Return coups an hour of play, by table or hour of the day."""
    coup = tables.coup
    hour = coup.c.dealt_at // HOUR_MS
    hours = (
        select(coup.c.table_name, hour.label("hour"), func.count().label("coups"))
        .where(asked.within(coup, "dealt_at"))
        .group_by(coup.c.table_name, hour)
    )
    groups: dict[Any, list[int]] = {}
    for table, number, coups in connection.execute(hours):
        key = table if asked.by == "table" else number % DAY_HOURS
        groups.setdefault(key, []).append(coups)
    rows = [
        (_label(key, asked.by), sum(found), len(found), round(sum(found) / len(found), 1),
         middle(found, 0.1), middle(found, 0.9))
        for key, found in sorted(groups.items())
    ]  # fmt: skip
    columns = (asked.by, "coups", "hours", "coups_an_hour", "p10", "p90")
    notes = ["hours: those of the clock in which a coup was dealt; one in ten had fewer than p10"]
    plot = (asked.by, "coups_an_hour", "p10", "p90")
    return Answer(f"Coups an hour by {asked.by}", columns, rows, notes, plot)


# --- frequencies ----------------------------------------------------------------------------------


def odds(connection: Connection, asked: Asked) -> Answer:
    """Return how often results and ranks came against the exact odds, by table or of all.

    Whole days are counted, so all who ask within a day have one look, and the days of play count
    the looks: asking changes nothing. What is asked of a part of the archive raises no alarm.
    """
    coup = tables.coup
    is_whole = not (asked.since or asked.table) and asked.until == Asked().until
    asked = replace(asked, until=min(asked.until, now_ms() // DAY_MS * DAY_MS))
    found: dict[tuple[str, str], Counter[tuple[str, Any]]] = defaultdict(Counter)
    outcome = (coup.c.winner, coup.c.cards)
    for key, row in _by_run(connection, asked, outcome, [func.count().label("n")]):
        found[key]["winner", row["winner"]] += row["n"]
        found[key]["cards", row["cards"]] += row["n"]
    sums = [func.sum(coup.c[name]).label(name) for name in tables.RANKS.values()]
    for key, row in _by_run(connection, asked, (), sums):
        for letter, name in tables.RANKS.items():
            found[key]["rank", letter] += int(row[name])
    tests = TESTS * len(found)
    played = select(func.count(distinct(coup.c.dealt_at // DAY_MS))).where(
        coup.c.dealt_at < asked.until
    )
    days = max(1, connection.execute(played).scalar() or 0)
    looks = tests * days if is_whole else 0
    rows = [row for key, counts in sorted(found.items()) for row in _fits(key, counts, looks)]
    columns = (
        "table", "profile", "what", "coups", "counts", "expected", "chi_square", "p", "alarm",
    )  # fmt: skip
    again = (
        f"{tests} tests a day, of whole days (UTC), on {days} days of play; an alarm is p below "
        f"{ALARM:g} / {tests * days}, so that right shoes are suspected once in {1 / ALARM:.0f} "
        "archives however often one looks"
    )
    if not is_whole:
        again = "a part of the archive raises no alarm: ask of all tables and all time"
    return Answer("Results against the exact odds", columns, rows, [again, NO_BACK, NO_BETS])


def _by_run(
    connection: Connection, asked: Asked, kinds: Sequence[Any], numbers: Sequence[Any]
) -> Iterator[tuple[tuple[str, str], RowMapping]]:
    """Yield table (or "all") and profile with what was counted of a run's coups that stand."""
    coup, run = tables.coup, tables.run
    parts = [*(coup.c[name] for name in ("site", "table_name", "boot")), *kinds]
    counted = (
        select(*parts, *numbers)
        .where(asked.within(coup, "dealt_at") & coup.c.state.in_(SEEN))
        .group_by(*parts)
        .subquery()
    )
    in_run = [run.c[name] == counted.c[name] for name in ("site", "table_name", "boot")]
    query = select(run.c.profile, counted).select_from(counted.outerjoin(run, and_(*in_run)))
    for row in connection.execute(query).mappings():
        name = (row["profile"] or "").partition(" ")[0]
        yield (row["table_name"] if asked.by == "table" else "all", name), row


NO_BACK = (
    "rank: all thirteen are as likely; cards are not put back, so right shoes scatter less than p "
    "has it (it errs on the side of silence); a reader that declines or misreads one rank shows too"
)
NO_BETS = (
    "a tool against wrong shoes, not for bets: coups of one shoe are not quite independent, and a "
    "small p says to count the cards of the shoe, no more"
)


def _fits(key: tuple[str, str], found: Mapping[tuple[str, Any], int], looks: int) -> list[Line]:
    """Return a row each for the winners, the number of cards and the ranks."""
    table, profile = key
    coups = sum(found["winner", name] for name in WINNERS)
    try:
        rules = load_profile(profile).rules
    except ConfigurationError:
        return [(table, profile, "odds not known: no such profile here", coups,
                 "", "", None, None, "")]  # fmt: skip
    exact = count(full_shoe(rules.decks), rules.tableau)
    bets = (Bet.PUNTO, Bet.BANCO, Bet.EGALITE)
    rows: list[Line] = []
    for what, names, shares in (
        ("winner", WINNERS, [exact.of(bet) / exact.total for bet in bets]),
        ("cards", LENGTHS, [number / exact.total for number in exact.lengths]),
        ("rank", tuple(RANK_LETTERS), [1 / len(RANK_LETTERS)] * len(RANK_LETTERS)),
    ):
        counts = [found[what, name] for name in names]
        due = [sum(counts) * share for share in shares]
        tested = fit(counts, shares)
        alarm = "ALARM" if looks and tested.p < ALARM / looks else ""
        told = (_told(names, counts, "d"), _told(names, due, ".1f"))
        rows.append(
            (table, profile, what, coups, *told, tested.chi_square, round(tested.p, 6), alarm)
        )
    return rows


def _told(names: Sequence[object], numbers: Sequence[float], form: str) -> str:
    return ", ".join(f"{name} {n:{form}}" for name, n in zip(names, numbers, strict=True))


# --- downtime -------------------------------------------------------------------------------------


def downtime(connection: Connection, asked: Asked) -> Answer:
    """Return how long readers were away or blind, and how often, by table."""
    status = tables.status
    query = (
        select(status.c.table_name, status.c.at, status.c.state)
        .where(status.c.at < min(asked.until, now_ms()))
        .order_by(status.c.table_name, status.c.at, status.c.seq)
    )
    if asked.table:
        query = query.where(status.c.table_name == asked.table)
    spans: dict[str, list[tuple[int, str]]] = {}
    for table, at, state in connection.execute(query):
        spans.setdefault(table, []).append((at, state))
    end = min(asked.until, now_ms())
    last = connection.execute(select(func.max(tables.message.c.at))).scalar() or 0
    rows = [(table, *_away(found, asked.since, min(end, max(last, found[-1][0]))))
            for table, found in sorted(spans.items())]  # fmt: skip
    columns = (
        "table",
        "watched_h",
        "blind_min",
        "blind",
        "offline_min",
        "offline",
        "stopped_h",
        "up",
    )
    return Answer("Downtime by table", columns, rows, [BLIND], ("table", "up"))


BLIND = (
    "blind: the reader runs and cannot see; offline: it vanished; stopped: it was ended in order, "
    "which is no fault; up: the share of the time not stopped in which it could see"
)


def _away(found: Sequence[tuple[int, str]], since: int, end: int) -> tuple[Any, ...]:
    spent, times = dict.fromkeys(STATES, 0), dict.fromkeys(STATES, 0)
    ends = [at for at, _ in found[1:]] + [end]
    for (at, state), after in zip(found, ends, strict=True):
        ms = max(0, min(after, end) - max(at, since))
        if ms and state in spent:
            spent[state] += ms
            times[state] += at >= since
    watched = spent["online"] + spent["blind"] + spent["offline"]
    return (
        round(watched / HOUR_MS, 2),
        round(spent["blind"] / 60_000, 1),
        times["blind"],
        round(spent["offline"] / 60_000, 1),
        times["offline"],
        round(spent["stopped"] / HOUR_MS, 2),
        round(spent["online"] / watched, 5) if watched else None,
    )


STATES = ("online", "blind", "offline", "stopped")

# Each question, and by what it can be asked, the usual one first.
QUESTIONS: Mapping[str, tuple[Question, tuple[str, ...]]] = {
    "misdeals": (misdeals, ("kind", "table", "hour")),
    "remedies": (remedies, ("kind", "table")),
    "reads": (reads, ("table", "deck", "day")),
    "pace": (pace, ("table", "hour")),
    "odds": (odds, ("table", "all")),
    "downtime": (downtime, ()),
}
