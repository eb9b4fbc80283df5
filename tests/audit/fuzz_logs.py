"""Changes logs at random: `python -m tests.audit.fuzz_logs` writes 20,000, and prints what came.

Each is a true log with one thing changed by somebody who knows its form: a value within a record,
of whatever kind, size or depth, with the chain made again behind it or not; a column of a table
beside it; a record that is gone. `audit` and `replay --check` must end with an exit code and words,
and so must the start of a reader (each twentieth); a traceback or a minute is a fault of the
program. The logs are unsigned: a chain made again with a value that fits passes, and is counted.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from tests.chaos.table import journal_of
from tests.table_log import NOON, PLAYS
from vision.cli import main as command
from vision.errors import ShoeReaderError
from vision.record.codec import chain_hash
from vision.record.facts import EvidenceKept, Fact, Medium, Recorded

LONGEST_S = 60  # for one command on a log of 200 records; beyond it something has no bound
STARTED = 20  # each such log is given to a reader too, which takes longer than an audit
DEEP: Any = json.loads("[" * 400 + "]" * 400)
ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 10**15, 2**63, 10**30, -(10**30), 1e308, float("nan"), "", "x",
    "\ud800", "x" * 5000, "9999-99-99", "[", [], {}, [[]], [None], {"is": "Anchored"}, {"": {}},
    DEEP, [1, 2], "1e9", "\0",
)  # fmt: skip
BODIES = ("[" * 5000, "{", "", "null", "[]", "1", '{"n":1}', "{}", '{"n":1,"desk":{}}', "\ud7ff")
COLUMNS = [
    *((name, "message") for name in ("seq", "topic", "payload", "qos", "retain", "sum")),
    ("seq", "unsent"), ("seq", "standing"), ("topic", "standing"), ("n", "log"), ("hash", "log"),
]  # fmt: skip
CELLS = (None, 0, -1, 7, 2 * 10**9, 10**15, 2**62, 1.5, "", "x", b"", b"x", b"\xff", "0" * 64)

HEADER_BYTES = 100  # of an SQLite file, where it counts what was written

Change = Callable[[random.Random, sqlite3.Connection], str]


def made(folder: Path) -> list[Path]:
    """Write logs of everything that a record can hold; return them."""
    found = []
    for name in ("ruled", "doubted", "overdraw"):
        path = folder / f"{name}.sqlite"
        taken = {"after": 3, "hash": "0" * 64, "boot": "b1", "term": 2}
        with journal_of(path, 1, publish=name != "overdraw") as journal:
            journal.take(PLAYS[name]().events[:-1])
            at = journal.table.clock
            journal.take(
                [
                    EvidenceKept(at, "s1-1-c1", Medium.STILL, "s1", 1, "0" * 64, 9, 1),
                    Recorded(at, Fact.USER, "Ann", '{"roles":["inspector"],"key":"00"}'),
                    Recorded(at, Fact.EVIDENCE_DELETED, "age", '["2023-11-14/a.jpg"]'),
                    Recorded(at, Fact.CLOCK_CONFIRMED, "", f"[{NOON},{10**7}]"),
                    Recorded(at, Fact.TAKEN_OVER, "b", json.dumps(taken)),
                    Recorded(at, Fact.KEY, "00", "00"),
                ]
            )
            journal.start(at, "b9", ())
        found.append(path)
    return found


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each place within a JSON value: what it is in, and its key or index."""
    keys = value.keys() if isinstance(value, dict) else range(len(value))
    for key in [*keys]:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places(value[key])


def change_record(draw: random.Random, db: sqlite3.Connection) -> str:
    """Change one value within a record, often with the chain made again."""
    rows = db.execute("SELECT n, body, hash FROM log ORDER BY n").fetchall()
    index = draw.choice([at for at, (_, body, _) in enumerate(rows) if body])  # not what went
    number, body, _ = rows[index]
    content = json.loads(body)
    inside, key = draw.choice([*places(content)])
    if draw.random() < 0.15:
        del inside[key]
    else:
        inside[key] = draw.choice(ODD)
    body = json.dumps(content, separators=(",", ":"), sort_keys=draw.random() < 0.9)
    rewrite(draw, db, rows, index, draw.choice(BODIES) if draw.random() < 0.1 else body)
    return f"{key} of record {number}"


def rewrite(
    draw: random.Random, db: sqlite3.Connection, rows: list[Any], index: int, body: str
) -> None:
    """Put another body in the place of a record's."""
    previous = rows[index - 1][2] if index else "0" * 64
    again = draw.random() < 0.8
    for number, own, digest in rows[index:]:
        text = body if number == rows[index][0] else own
        previous = chain_hash(previous, text) if again else digest
        db.execute("UPDATE log SET body = ?, hash = ? WHERE n = ?", (text, previous, number))
        if not again:
            break


def change_column(draw: random.Random, db: sqlite3.Connection) -> str:
    """Change one cell of a table."""
    column, table = draw.choice(COLUMNS)
    query = f"SELECT rowid FROM {table} ORDER BY random() LIMIT 1"
    row = db.execute(query).fetchone()
    if row:
        query = f"UPDATE {table} SET {column} = ? WHERE rowid = ?"
        db.execute(query, (draw.choice(CELLS), row[0]))
    return f"{table}.{column}"


def take_out(draw: random.Random, db: sqlite3.Connection) -> str:
    """Take a record out, or leave only its hash."""
    (last,) = db.execute("SELECT max(n) FROM log").fetchone()
    number = draw.randrange(last + 1)
    if draw.random() < 0.5:
        db.execute("DELETE FROM log WHERE n = ?", (number,))
    else:
        db.execute("UPDATE log SET body = '' WHERE n = ?", (number,))
    return f"record {number} taken out"


CHANGES: tuple[Change, ...] = (*(change_record,) * 7, *(change_column,) * 2, take_out)


def mutate(seed: int, log: Path) -> str:
    """Change the log; return what was done, "" where the file did not take it."""
    draw = random.Random(seed)
    change = draw.choice(CHANGES)
    before = log.read_bytes()[HEADER_BYTES:]
    with closing(sqlite3.connect(log, isolation_level=None)) as db:
        db.execute("PRAGMA synchronous=OFF")
        db.execute("PRAGMA journal_mode=DELETE")
        try:
            words = change(draw, db)
        except (sqlite3.Error, UnicodeError):
            return ""
    return words if log.read_bytes()[HEADER_BYTES:] != before else ""


def outcome(deed: Callable[[], object]) -> str:
    """Return how a command ended, in a word; the traceback where it had none."""
    signal.alarm(LONGEST_S)
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            return f"exit {deed()}"
    except ShoeReaderError as error:
        return f"exit {error.exit_code}"
    except Exception:  # noqa: BLE001  what this looks for
        return traceback.format_exc()
    finally:
        signal.alarm(0)


def start(log: Path) -> int:
    """Open the log as a reader does."""
    journal_of(log, 1).close()
    return 0


def run(count: int, first: int = 0) -> Counter[str]:
    """Try so many seeds; return how often each outcome came, faults as their tracebacks."""
    found: Counter[str] = Counter()
    signal.signal(signal.SIGALRM, _too_long)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:  # no disk is measured here
        folder = Path(name)
        logs = made(folder)
        for seed in range(first, first + count):
            log = Path(shutil.copyfile(logs[seed % len(logs)], folder / "t.sqlite"))
            what = mutate(seed, log)
            if not what:
                found["not taken by the file"] += 1
                continue
            audit = outcome(lambda: command(["audit", str(folder / "t.sqlite")]))
            replay = outcome(lambda: command(["replay", str(folder / "t.sqlite"), "--check"]))
            if audit != "exit 3":
                found[f"audit: {audit} at seed {seed}, {what}"] += 1
            for of, ended in (("audit", audit), ("replay", replay)):
                found[f"{of}: {ended}" if ended.startswith("exit") else f"{seed} {of} {ended}"] += 1
            if seed % STARTED == 0:
                ended = outcome(lambda: start(folder / "t.sqlite"))
                is_word = ended.startswith("exit")
                found[f"start: {ended}" if is_word else f"{seed} start {ended}"] += 1
            for path in folder.glob("t.sqlite*"):
                path.unlink()
    return found


def faults(found: Counter[str]) -> list[str]:
    """Return the tracebacks among the outcomes."""
    return [words for words in found if "Traceback" in words]


def _too_long(*_: object) -> None:
    raise TimeoutError


def main() -> int:
    """Try them, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=20_000, metavar="N", help="logs (20000)")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the first seed (0)")
    arguments = parser.parse_args()
    found = run(arguments.logs, arguments.first)
    bad = faults(found)
    for words in sorted(set(found) - set(bad)):
        print(f"{found[words]:7} {words}")
    print(f"{len(bad):7} tracebacks of {arguments.logs} logs")
    print("\n".join(bad[:20]))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
