"""Questions that people ask of the archive, each answered with a table of plain values.

The database counts (`questions.sql`); what remains are some hundred sums. Rates are per thousand
coups with an exact interval. Nothing here knows how an answer is printed or drawn.
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from scipy.special import gammaincc
from sqlalchemy import Connection, Engine, bindparam, text

from vision.clock import DAY_MS, now_ms
from vision.config.profiles import load_profile
from vision.errors import ConfigurationError
from vision.files import text_of
from vision.floor.archive import tables
from vision.floor.archive.database import explained
from vision.game.cards import RANK_LETTERS
from vision.game.coup.fault_table import KINDS
from vision.game.odds import count, full_shoe
from vision.game.wagers import Bet
from vision.metrics.intervals import CONFIDENCE, poisson

# Probability of a false alarm in one look at one table's frequencies, before it is divided by the
# number of tests and looks: one in a thousand. Higher, and right shoes are suspected every month.
ALARM = 0.001
HOUR_MS = 3_600_000  # milliseconds of an hour
LONGEST_H = 24  # of a turn: one that is longer is a slip of the pen, such as a wrong year
COLUMNS = "from,until,table,shift"
# Turns by the hours since 1970 that they touch: their time in Unix ms, table and shift.
Rota = Mapping[int, list[tuple[range, str, str]]]


class Rate(NamedTuple):
    """Events per thousand, with the exact interval of a Poisson count (Garwood 1936)."""

    events: int
    of: int
    per_thousand: float | None
    low: float | None
    high: float | None


def rate(events: int, of: int) -> Rate:
    """Return the rate of events among `of` coups; None where there was no coup."""
    if not of:
        return Rate(events, of, None, None, None)
    return Rate(events, of, *(round(1000 * x / of, 3) for x in (events, *poisson(events))))


class Fit(NamedTuple):
    """A chi-square test of counts against exact probabilities; `p` is that of so much by chance."""

    chi_square: float
    p: float


def fit(counts: Sequence[int], probabilities: Sequence[float]) -> Fit:
    """Return how well counts fit; the probabilities come to 1. Of no counts any fits."""
    total = sum(counts)
    if not total:
        return Fit(0.0, 1.0)
    wanted = [total * share for share in probabilities]
    terms = ((n - w) ** 2 / w for n, w in zip(counts, wanted, strict=True))
    chi_square, freedom = sum(terms), len(counts) - 1
    return Fit(round(chi_square, 3), float(gammaincc(freedom / 2, chi_square / 2)))


def middle(values: Sequence[float], share: float) -> float | None:
    """Return the value below which that share lies, by the nearest rank; None without values."""
    ordered = sorted(values)
    place = max(0, min(len(ordered) - 1, round(share * len(ordered) + 0.5) - 1))
    return ordered[place] if ordered else None


DAY_HOURS = 24  # hours of a day, UTC
DECK_DIGITS = 12  # of the hash of a deck that are shown: enough to tell a house's decks apart
WINNERS = ("punto", "banco", "egalite")
LENGTHS = (4, 5, 6)  # cards of a coup
EVER = 2**62  # Unix milliseconds after all times
SQL = dict(
    block.split("\n", 1)
    for block in Path(__file__).with_suffix(".sql").read_text("utf-8").split("-- name: ")[1:]
)
TESTS = 3  # of the frequencies of a table: winners, numbers of cards, ranks


@dataclass(frozen=True, slots=True)
class Asked:
    """What of the archive is asked about: times in Unix ms (`until` not included), a table, all."""

    by: str = ""
    since: int = 0
    until: int = EVER
    table: str = ""
    rota: Rota = field(default_factory=dict)  # of the house, for what is asked by shift


def asked_of(fields: Mapping[str, str], rota: str = "") -> Asked:
    """Return a question from texts: by, table, since, until; ConfigurationError.

    A day, or a moment in ISO 8601; UTC where it says no other. `rota` is the file of the house's.
    """
    moments = {name: moment(name, fields[name]) for name in ("since", "until") if fields.get(name)}
    turns = read_rota(rota) if fields.get("by") == "shift" else {}
    return Asked(fields.get("by", ""), table=fields.get("table", ""), rota=turns, **moments)


def read_rota(file: str) -> Rota:
    """Read the house's rota, since the messages do not say who deals.

    A CSV file with the columns `from` and `until` (ISO 8601; UTC where they say no other), `table`
    (empty: all tables) and `shift`, which is whatever the house calls it: a dealer's number, a
    crew. ConfigurationError where there is none, with the line that is wrong.
    """
    if not Path(file).is_file():
        raise ConfigurationError(
            f"rota '{file}': is no file; the messages do not say who deals: name the house's rota, "
            f"a CSV file with the columns {COLUMNS}, in [archive] rota or with --rota"
        )
    rota, lines = defaultdict(list), csv.reader(text_of(Path(file)).splitlines())
    for cells in lines:
        if lines.line_num == 1 and ",".join(cells) == COLUMNS:
            continue
        where = f"rota {file}, line {lines.line_num}:"
        if lines.line_num == 1 or len(cells) != 4 or not cells[3]:
            raise ConfigurationError(
                f"{where} is no turn; write {COLUMNS}, in the first line just so"
            )
        time = range(moment(f"{where} from", cells[0]), moment(f"{where} until", cells[1]))
        if not 0 < len(time) <= LONGEST_H * HOUR_MS:
            raise ConfigurationError(
                f"{where} is not 0 to {LONGEST_H} h long; give a longer turn in parts"
            )
        for hour in range(time.start // HOUR_MS, -(-time.stop // HOUR_MS)):
            rota[hour].append((time, cells[2], cells[3]))
    return rota


def moment(name: str, text: str) -> int:
    """Return a day or a moment as Unix ms; ConfigurationError, which gives it that name."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise ConfigurationError(f"{name} {text}: not a date; write one as 2026-03-31") from error
    return round((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows of values under their columns, and the notes beside them."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    notes: list[str] = field(default_factory=list)
    plot: tuple[str, ...] = ()  # label, value, and low and high of its interval where there is one
    facts: Mapping[str, object] = field(default_factory=dict)  # numbers in the first note

    def json(self) -> dict[str, Any]:
        """Return the answer as an object for JSON."""
        rows = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        reported = {"notes": self.notes, "plot": list(self.plot), "facts": self.facts}
        return {"title": self.title, "columns": list(self.columns), "rows": rows, **reported}


Line = tuple[Any, ...]
Question = Callable[[Connection, Asked], Answer]


def ask(engine: Engine, kind: str, asked: Asked) -> Answer:
    """Answer a question; ConfigurationError for one that makes no sense, OutsideError."""
    question, groups = QUESTIONS[kind]
    if asked.by and asked.by not in groups:
        ways = ", ".join(groups) or "nothing"
        raise ConfigurationError(f"{kind} cannot be asked by {asked.by}; ask by {ways}")
    chosen = replace(asked, by=asked.by or "".join(groups[:1]))
    with explained(engine), engine.begin() as connection:
        return question(connection, chosen)


def _rows(
    connection: Connection, name: str, asked: Asked, key: str = "", counts: str = ""
) -> list[Any]:
    query = text(SQL[name].format(key=key, counts=counts))
    if ":codes" in query.text:
        query = query.bindparams(bindparam("codes", OF_DEALING, expanding=True))
    values = {"since": asked.since, "until": asked.until, "table": asked.table}
    return list(connection.execute(query, values))


def misdeals(connection: Connection, asked: Asked) -> Answer:
    """Return mis-deals by kind, table or hour of the day, with the rate per thousand coups."""
    keys = {"kind": "code", "table": "table_name"}
    events = dict(_rows(connection, "alerts", asked, keys.get(asked.by, HOUR.format("raised_at"))))
    of_coups = {**keys, "kind": "'all'"}
    coups = _rows(connection, "coups", asked, of_coups.get(asked.by, HOUR.format("dealt_at")))
    dealt = dict(coups)
    if asked.by == "kind":
        of = dealt.get("all", 0)
        lines = [
            (code, number, of)
            for code, number in sorted(events.items(), key=lambda one: (-one[1], one[0]))
        ]
        lines.append(("all", sum(events.values()), of))
    else:
        lines = [(key, events.get(key, 0), dealt.get(key, 0)) for key in sorted({*events, *dealt})]
    rows = [(_label(key, asked.by), *rate(number, of)) for key, number, of in lines]
    columns = (asked.by, "misdeals", "coups", "per_thousand", "low", "high")
    title = f"Mis-deals by {asked.by}, per thousand coups"
    return Answer(title, columns, rows, [INTERVAL], (asked.by, "per_thousand", "low", "high"))


HOUR = f"{{}} / {HOUR_MS} % {DAY_HOURS}"  # of the day, as a column
INTERVAL = (
    f"low and high: the exact {CONFIDENCE:.0%} interval of the rate (Poisson count, Garwood); a "
    "coup may have more than one mis-deal"
)
# Of the dealing, not of the reading; without what people call for or what follows from others.
OF_DEALING = tuple(
    code
    for code, kind in KINDS.items()
    if not kind.of_reader and code not in ("CALLED", "HELD_OVER")
)


def false_alerts(connection: Connection, asked: Asked) -> Answer:
    """Return how many alerts people closed as the reader's error, an hour of play."""
    played: dict[Any, float] = defaultdict(int)
    if asked.by == "shift":
        found = _of_shifts(connection, asked, played)
    else:
        keys = {"kind": "code", "table": "table_name"}
        found = _rows(connection, "closed", asked, keys.get(asked.by, HOUR.format("raised_at")))
        for table, hour, _ in _rows(connection, "pace", asked):
            played[{"kind": "all", "table": table}.get(asked.by, hour % DAY_HOURS)] += 1
    rows = []
    for key, closed, false in found:
        hours = played["all" if asked.by == "kind" else key]
        shares = (round(n / hours, 3) if hours else None for n in (false, *poisson(int(false))))
        rows.append((_label(key, asked.by), closed, int(false), round(hours, 2), *shares))
    columns = (asked.by, "closed", "false", "hours", "an_hour", "low", "high")
    title = f"False alerts by {asked.by}, an hour of play"
    return Answer(title, columns, rows, [FALSE], (asked.by, "an_hour", "low", "high"))


FALSE = (
    "false: closed as the reader's error; closed: with a category; hours: of the clock and table "
    "in which a coup was dealt; of a shift its part of them, by the house's rota"
)
NO_SHIFT = "not in the rota"


def _of_shifts(
    connection: Connection, asked: Asked, played: dict[Any, float]
) -> list[tuple[str, int, int]]:
    """Return each shift's alerts that were closed and those that were false; put in its hours."""
    closed, false = Counter[str](), Counter[str]()
    for place, hour, _ in _rows(connection, "pace", asked):
        for time, table, shift in asked.rota.get(hour, ()):
            if table in ("", place):
                end = min(time.stop, (hour + 1) * HOUR_MS)
                played[shift] += (end - max(time.start, hour * HOUR_MS)) / HOUR_MS
    for place, at, *counts in _rows(connection, "closed", asked, "table_name, raised_at"):
        turns = asked.rota.get(at // HOUR_MS, ())
        there = {shift for time, table, shift in turns if table in ("", place) and at in time}
        for shift in there or {NO_SHIFT}:
            closed[shift] += counts[0]
            false[shift] += counts[1]
    return [(shift, closed[shift], false[shift]) for shift in sorted({*closed, *played})]


def _label(key: object, by: str) -> str:
    if by == "hour":
        return f"{int(str(key)):02d}:00"
    if by == "day":
        return datetime.fromtimestamp(int(str(key)) * DAY_MS / 1000, UTC).date().isoformat()
    if by == "deck":
        return str(key)[:DECK_DIGITS] if key else "no enrolled deck"
    kind = KINDS.get(str(key)) if by == "kind" else None
    return kind.title if kind else str(key)


def remedies(connection: Connection, asked: Asked) -> Answer:
    """Return how long alerts took to be seen, put right and closed, by kind or table."""
    key = "code" if asked.by == "kind" else "table_name"
    groups: dict[str, list[Any]] = defaultdict(list)
    for row in _rows(connection, "remedies", asked, key):
        groups[row[0]].append(row)
    rows = [(_label(name, asked.by), *_waits(found)) for name, found in sorted(groups.items())]
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


def reads(connection: Connection, asked: Asked) -> Answer:
    """Return the share of reads that were declined or corrected, by table, deck or day."""
    day = f"at / {DAY_MS}"
    key = {"table": "fact.table_name", "deck": "run.deck", "day": day}[asked.by]
    rows: list[Line] = []
    for group, *numbers in _rows(connection, "reads", asked, key):
        read, declined, corrected = map(int, numbers)
        share = rate(declined + corrected, read + declined)
        rows.append((_label(group, asked.by), read, declined, corrected, *share[2:]))
    columns = (asked.by, "read", "declined", "corrected", "per_thousand", "low", "high")
    title = f"Reads declined or corrected by {asked.by}, per thousand cards"
    return Answer(title, columns, rows, [DECLINED], (asked.by, "per_thousand", "low", "high"))


DECLINED = (
    "declined: left to people because the reader was not sure; corrected: read, and keyed in "
    "otherwise by people; a rate that rises at one table is its camera, with one deck the deck"
)


def pace(connection: Connection, asked: Asked) -> Answer:
    """Return coups an hour of play, by table or hour of the day."""
    groups: dict[Any, list[int]] = defaultdict(list)
    for table, number, coups in _rows(connection, "pace", asked):
        key = table if asked.by == "table" else number % DAY_HOURS
        groups[key].append(coups)
    rows = [
        (_label(key, asked.by), sum(found), len(found), round(sum(found) / len(found), 1),
         middle(found, 0.1), middle(found, 0.9))
        for key, found in sorted(groups.items())
    ]  # fmt: skip
    columns = (asked.by, "coups", "hours", "coups_an_hour", "p10", "p90")
    notes = ["hours: those of the clock in which a coup was dealt; one in ten had fewer than p10"]
    plot = (asked.by, "coups_an_hour", "p10", "p90")
    return Answer(f"Coups an hour by {asked.by}", columns, rows, notes, plot)


def odds(connection: Connection, asked: Asked) -> Answer:
    """Return how often results and ranks came against the exact odds, by table or of all.

    Whole days are counted, so all who ask within a day have one look, and the days of play count
    the looks: asking changes nothing. What is asked of a part of the archive raises no alarm.
    """
    is_whole = not (asked.since or asked.table) and asked.until == EVER
    asked = replace(asked, until=min(asked.until, now_ms() // DAY_MS * DAY_MS))
    found: dict[tuple[str, str], Counter[tuple[str, Any]]] = defaultdict(Counter)
    ranks = ", ".join(f"sum({name}) AS {name}" for name in tables.RANKS.values())
    for row in _rows(connection, "odds", asked, "winner, cards", f"count(*) AS n, {ranks}"):
        counts = found[row.table_name if asked.by == "table" else "all", row.profile.split(" ")[0]]
        counts["winner", row.winner] += row.n
        counts["cards", row.cards] += row.n
        for letter, name in tables.RANKS.items():
            counts["rank", letter] += int(getattr(row, name))
    tests = TESTS * len(found)
    days = max(1, _rows(connection, "days", asked)[0][0])
    trials = tests * days if is_whole else 0
    rows = [row for key, counts in sorted(found.items()) for row in _fits(key, counts, trials)]
    columns = (
        "table", "profile", "what", "coups", "counts", "expected", "chi_square", "p", "alarm",
    )  # fmt: skip
    facts = {
        "tests": tests,
        "days": days,
        "limit": f"{ALARM:g} / {tests * days}",
        "archives": f"{1 / ALARM:.0f}",
    }
    notes = [AGAIN.format(**facts) if is_whole else PART, NO_BACK, NO_BETS]
    title = "Results against the exact odds"
    return Answer(title, columns, rows, notes, facts=facts if is_whole else {})


AGAIN = (
    "{tests} tests a day, of whole days (UTC), on {days} days of play; an alarm is p below "
    "{limit}, so that right shoes are suspected once in {archives} archives however often one looks"
)
PART = "a part of the archive raises no alarm: ask of all tables and all time"
NO_BACK = (
    "rank: all thirteen are as likely; cards are not put back, so right shoes scatter less than p "
    "has it (it errs on the side of silence); a reader that declines or misreads one rank shows too"
)
NO_BETS = (
    "a tool against wrong shoes, not for bets: coups of one shoe are not quite independent, and a "
    "small p says to count the cards of the shoe, no more"
)


def _fits(key: tuple[str, str], found: Mapping[tuple[str, Any], int], trials: int) -> list[Line]:
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
        alarm = "ALARM" if trials and tested.p < ALARM / trials else ""
        reported = (_reported(names, counts, "d"), _reported(names, due, ".1f"))
        rows.append(
            (table, profile, what, coups, *reported, tested.chi_square, round(tested.p, 6), alarm)
        )
    return rows


def _reported(names: Sequence[object], numbers: Sequence[float], form: str) -> str:
    return ", ".join(f"{name} {n:{form}}" for name, n in zip(names, numbers, strict=True))


def downtime(connection: Connection, asked: Asked) -> Answer:
    """Return how long readers were away or blind, and how often, by table."""
    end = min(asked.until, now_ms())
    spans: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for table, at, state in _rows(connection, "states", replace(asked, until=end)):
        spans[table].append((at, state))
    last = _rows(connection, "last", asked)[0][0]
    rows = [(table, *_away(found, asked.since, min(end, max(last, found[-1][0]))))
            for table, found in sorted(spans.items())]  # fmt: skip
    columns = (
        "table", "watched_h", "blind_min", "blind", "offline_min", "offline", "stopped_h", "up",
    )  # fmt: skip
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
    "false_alerts": (false_alerts, ("kind", "table", "hour", "shift")),
    "remedies": (remedies, ("kind", "table")),
    "reads": (reads, ("table", "deck", "day")),
    "pace": (pace, ("table", "hour")),
    "odds": (odds, ("table", "all")),
    "downtime": (downtime, ()),
}
