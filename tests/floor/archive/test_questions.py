"""What is answered from the archive, against a count by hand of the same month."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from tests.floor.archive.month import BAD_TABLE, WORN_TABLE, PlayedTable
from tests.floor.archive.postgres import FOLDERS, Postgres
from tests.floor.archive.wrong_shoe import LOOKS, MOST_COUPS, coups_until_alarm
from vision.cli import main
from vision.errors import ConfigurationError
from vision.floor.archive.database import open_archive
from vision.floor.archive.logs import Received, write
from vision.floor.archive.questions import QUESTIONS, Asked, ask, asked_of, fit, rate, read_rota
from vision.game.cards import RANK_LETTERS
from vision.game.coup.fault_table import KINDS as FAULTS
from vision.wire.messages import unix_ms

COUPS, DAYS = 250, 4


@cache
def messages() -> tuple[Received, ...]:
    """Return some days of three tables."""
    tables = [PlayedTable(name, COUPS, DAYS) for name in ("1", BAD_TABLE, WORN_TABLE)]
    return tuple(message for table in tables for message in table.messages())


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """Archive them."""
    found = open_archive(str(tmp_path_factory.mktemp("month") / "archive.sqlite"))
    write(found, messages())
    return found


def contents(topic: str) -> list[dict[str, Any]]:
    """Return the payloads of a topic, with their table."""
    return [json.loads(one.payload) for one in messages() if one.topic == topic]


def rows(engine: Engine, kind: str, **asked: Any) -> list[dict[str, Any]]:
    """Return the rows of an answer."""
    found: list[dict[str, Any]] = ask(engine, kind, Asked(**asked)).json()["rows"]
    return found


def test_misdeals_are_those_that_were_raised(engine: Engine) -> None:
    """By kind, by table and by hour the same mis-deals are counted, per coups dealt."""
    raised = contents("alert")
    kinds = Counter(FAULTS[alert["code"]].title for alert in raised)
    found = {row["kind"]: row["misdeals"] for row in rows(engine, "misdeals")}
    assert found == {**kinds, "all": len(raised)}
    tables = Counter(alert["table"] for alert in raised)
    by_table = rows(engine, "misdeals", by="table")
    assert {row["table"]: row["misdeals"] for row in by_table if row["misdeals"]} == tables
    assert {row["coups"] for row in by_table} == {COUPS * DAYS}
    hours = Counter(alert["raised_at"][11:13] + ":00" for alert in raised)
    by_hour = rows(engine, "misdeals", by="hour")
    assert {row["hour"]: row["misdeals"] for row in by_hour if row["misdeals"]} == hours
    assert all(row["low"] <= row["per_thousand"] <= row["high"] for row in by_hour)


def test_false_alerts_are_those_closed_as_the_readers_error(engine: Engine) -> None:
    """By kind, table and hour the same are counted, an hour of play with an exact interval."""
    raised = Counter(alert["table"] for alert in contents("alert"))
    played = sum(row["hours"] for row in rows(engine, "pace"))
    for way in ("kind", "table", "hour"):
        found = rows(engine, "false_alerts", by=way)
        assert sum(row["closed"] for row in found) == raised.total()
        assert sum(row["false"] for row in found) == sum(n // 3 for n in raised.values())
        assert all(row["low"] <= row["an_hour"] <= row["high"] for row in found if row["hours"])
    kinds = rows(engine, "false_alerts")
    assert {row["hours"] for row in kinds} == {played}


def test_remedies_are_timed_from_the_raising(engine: Engine) -> None:
    """Half of the alerts were seen within the middle of what was drawn for them."""
    raised = len(contents("alert"))
    found = rows(engine, "remedies", by="table")
    assert sum(row["alerts"] for row in found) == raised
    assert sum(row["closed"] for row in found) == raised
    assert all(2 <= row["seen_s_p50"] <= 30 for row in found)
    assert all(row["rectified_s_p50"] >= row["seen_s_p50"] for row in found)


def test_reads_show_the_deck_that_wears_out(engine: Engine) -> None:
    """Declined reads are counted by table, by deck and by day."""
    cards = contents("card")
    declined = Counter(c["table"] for c in cards if c["event"] == "read" and c["card"] is None)
    by_table = {row["table"]: row for row in rows(engine, "reads")}
    assert {t: row["declined"] for t, row in by_table.items() if row["declined"]} == declined
    read = sum(c["event"] == "read" and c["card"] is not None for c in cards)
    assert sum(row["read"] for row in by_table.values()) == read
    keyed = sum(c["event"] == "keyed" for c in cards)
    of_decks = rows(engine, "reads", by="deck")
    assert sum(row["declined"] + row["corrected"] for row in of_decks) == keyed
    assert [row["deck"] for row in of_decks] == [name * 12 for name in ("1", "3", "5")]
    assert (
        len(rows(engine, "reads", by="day", table=WORN_TABLE)) == DAYS + 1
    )  # the last night ends after midnight


def test_pace_counts_hours_of_play(engine: Engine) -> None:
    """An hour without a coup is no hour of play."""
    for row in rows(engine, "pace"):
        assert row["coups"] == COUPS * DAYS
        assert row["hours"] == 18 * DAYS
        assert row["coups_an_hour"] == pytest.approx(COUPS / 18, abs=0.1)


def test_odds_are_as_strict_however_often_one_asks(engine: Engine) -> None:
    """The counts are those dealt; asking changes nothing, and a part raises no alarm."""
    winners = Counter(result["winner"] for result in contents("coup/result"))
    reported = rows(engine, "odds", by="all")[0]
    assert reported["counts"] == ", ".join(
        f"{w} {winners[w]}" for w in ("punto", "banco", "egalite")
    )
    assert reported["coups"] == 3 * COUPS * DAYS
    ranks = Counter(
        card[0]
        for result in contents("coup/result")
        for hand in ("punto", "banco")
        for card in result[hand]["cards"]
    )
    reported = rows(engine, "odds", by="all")[2]
    assert reported["counts"] == ", ".join(f"{rank} {ranks[rank]}" for rank in RANK_LETTERS)
    before: list[Any] = [list(notes(engine)), rows(engine, "odds")]
    for _ in range(50):
        ask(engine, "odds", Asked())
    assert [list(notes(engine)), rows(engine, "odds")] == before
    assert "9 tests a day" in before[0][0]
    assert "a part of the archive raises no alarm" in ask(engine, "odds", Asked(table="1")).notes[0]


def notes(engine: Engine) -> list[str]:
    """Return what is said beside the frequencies."""
    return ask(engine, "odds", Asked()).notes


def test_odds_count_whole_days(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """All who look within a day see the same, so that the day is one look."""
    dealt = sorted(unix_ms(one["at"]) for one in contents("coup/result"))
    middle = dealt[len(dealt) // 2]
    midnight = middle // 86_400_000 * 86_400_000
    monkeypatch.setattr("vision.floor.archive.questions.now_ms", lambda: middle)
    assert rows(engine, "odds", by="all")[0]["coups"] == sum(at < midnight for at in dealt)


def test_downtime_is_what_was_blind(engine: Engine) -> None:
    """Blindness is counted and timed; a table that was stopped in order is not down."""
    blind = Counter(s["table"] for s in contents("status") if s["state"] == "blind")
    found = rows(engine, "downtime")
    assert {row["table"]: row["blind"] for row in found if row["blind"]} == blind
    assert all(row["offline"] == 0 and row["up"] > 0.99 for row in found)


def test_time_and_table_bound_what_is_asked(engine: Engine) -> None:
    """A report of one day of one table is of no other."""
    asked = asked_of({"since": "2026-03-02", "until": "2026-03-03", "table": "1"})
    found = ask(engine, "misdeals", asked).json()["rows"]
    results = contents("coup/result")
    of_day = [r for r in results if r["table"] == "1" and r["at"].startswith("2026-03-02")]
    assert {row["coups"] for row in found} == {len(of_day)}


@pytest.mark.skipif(not FOLDERS, reason="needs PostgreSQL")
def test_postgresql_answers_the_same(engine: Engine) -> None:
    """Each question gets the same answer from both databases, of all tables and of one."""
    with Postgres() as server:
        other = open_archive(server.address)
        write(other, messages())
        for kind, (_, ways) in QUESTIONS.items():
            for asked in (Asked(by, table=table) for by in ways or ("",) for table in ("", "1")):
                assert ask(other, kind, asked) == ask(engine, kind, asked)
        other.dispose()


def test_false_alerts_by_shift_are_those_of_the_houses_rota(
    engine: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two dealers take turns of 40 minutes at a table; of the others the rota knows nothing."""
    raised = [alert for alert in contents("alert") if alert["table"] == "1"]
    first, last = (
        unix_ms(pick(one["at"] for one in contents("coup/result"))) for pick in (min, max)
    )
    turns = list(range(first - first % 3_600_000, last + 3_600_000, 40 * 60_000))
    lines = [
        f"{text_of_ms(turn)},{text_of_ms(turn + 40 * 60_000)},1,{'AB'[number % 2]}"
        for number, turn in enumerate(turns)
    ]
    rota = tmp_path / "rota.csv"
    rota.write_text("\n".join(["from,until,table,shift", *lines]), "utf-8")
    asked = asked_of({"by": "shift"}, str(rota))
    found = {row["shift"]: row for row in ask(engine, "false_alerts", asked).json()["rows"]}
    whose = [(unix_ms(alert["raised_at"]) - turns[0]) // (40 * 60_000) % 2 for alert in raised]
    assert [found[name]["closed"] for name in "AB"] == [whose.count(0), whose.count(1)]
    tables = {row["table"]: row for row in rows(engine, "false_alerts", by="table")}
    for name in ("closed", "false"):
        assert sum(row[name] for row in found.values()) == sum(t[name] for t in tables.values())
    assert found["not in the rota"]["closed"] == sum(
        tables[t]["closed"] for t in tables if t != "1"
    )
    assert found["A"]["hours"] + found["B"]["hours"] == pytest.approx(tables["1"]["hours"], abs=0.1)
    assert found["A"]["low"] <= found["A"]["an_hour"] <= found["A"]["high"]
    where = ["--archive", str(engine.url.database), "--by", "shift"]
    assert main(["floor", "report", "false_alerts", *where, "--rota", str(rota)]) == 0
    assert "False alerts by shift, an hour of play" in capsys.readouterr().out
    assert main(["floor", "report", "false_alerts", *where]) == 2
    assert "in [archive] rota or with --rota" in capsys.readouterr().err


def text_of_ms(at: int) -> str:
    """Return a moment as a rota has it."""
    return datetime.fromtimestamp(at / 1000, UTC).isoformat()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("von;bis\n", "line 1: is no turn; write from,until,table,shift, in the first line"),
        ("from,until,table,shift\n2026-03-01T08:00,soon,1,A\n", "line 2: until soon: not a date"),
        ("from,until,table,shift\n2026-03-01,2026-02-01,1,A\n", "line 2: is not 0 to 24 h long"),
        ("from,until,table,shift\n2026-03-01,2027-03-01,1,A\n", "is not 0 to 24 h long"),
        (
            "from,until,table,shift\n2026-03-01T08:00,2026-03-01T09:00\n",
            "line 2: is no turn; write from,until,table,shift",
        ),
        (
            "from,until,table,shift\n2026-03-01T08:00,2026-03-01T09:00,,\n",
            "line 2: is no turn; write from,until,table,shift",
        ),
    ],
)
def test_rota_that_is_none_is_refused_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    """Whoever wrote it can mend it."""
    rota = tmp_path / "rota.csv"
    rota.write_text(text, "utf-8")
    with pytest.raises(ConfigurationError, match=words):
        read_rota(str(rota))
    with pytest.raises(ConfigurationError, match="is no file"):
        read_rota(str(tmp_path / "none.csv"))


def test_questions_that_make_no_sense_are_refused(engine: Engine) -> None:
    """With the ways that there are."""
    with pytest.raises(
        ConfigurationError, match="pace cannot be asked by deck; ask by table, hour"
    ):
        ask(engine, "pace", Asked("deck"))


@pytest.mark.parametrize(
    ("events", "low", "high"), [(0, 0, 3.689), (1, 0.025, 5.572), (10, 4.795, 18.39)]
)
def test_rate_has_the_exact_interval(events: int, low: float, high: float) -> None:
    """The limits are those of published tables of the Poisson distribution."""
    found = rate(events, 1000)
    assert (found.low, found.high) == (pytest.approx(low, abs=0.001), pytest.approx(high, abs=0.01))


def test_fit_has_the_published_probability() -> None:
    """A chi-square of 5.991 with two degrees of freedom is as likely as one in twenty."""
    found = fit([60, 30, 10], [0.5, 0.3, 0.2])
    assert found.chi_square == pytest.approx(7.0)
    assert found.p == pytest.approx(0.030197, abs=1e-6)
    assert fit([50, 30, 20], [0.5, 0.3, 0.2]).p == 1.0
    assert fit([0, 0], [0.5, 0.5]) == (0.0, 1.0)


def test_report_prints_text_csv_and_json(
    engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command prints what the question answers."""
    where = ["--archive", str(engine.url.database)]
    assert main(["floor", "report", "misdeals", "--by", "table", *where]) == 0
    assert (
        "Mis-deals by table, per thousand coups\n\ntable  misdeals  coups"
        in capsys.readouterr().out
    )
    assert main(["floor", "report", "pace", "--format", "csv", *where]) == 0
    assert capsys.readouterr().out.startswith("table,coups,hours,coups_an_hour,p10,p90\r\n1,")
    assert main(["floor", "report", "odds", "--format", "json", *where]) == 0
    assert json.loads(capsys.readouterr().out)["columns"][0] == "table"
    assert main(["floor", "report", "pace", "--since", "soon", *where]) == 2
    assert "write one as 2026-03-31" in capsys.readouterr().err


def test_odds_find_a_shoe_without_eight_nines() -> None:
    """Within 4,000 coups, three days of a table; whole shoes are not suspected in 10,000."""
    observations = LOOKS["daily look, after a month"]
    assert all(coups_until_alarm(f"a{n}", observations, wrong=True) < 4000 for n in range(3))
    assert coups_until_alarm("b", observations, wrong=False) == MOST_COUPS
