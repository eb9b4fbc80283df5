"""The house's rota: which shift is at which table, and when.

The messages do not say who deals, so a report by shift needs what the house's planning writes: a
CSV file with the columns `from` and `until` (ISO 8601; UTC where they say no other), `table`
(empty: all tables) and `shift`, which is whatever the house calls it: a dealer's number, a crew.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from vision.errors import ConfigurationError
from vision.files import text_of

HOUR_MS = 3_600_000  # milliseconds of an hour
LONGEST_H = 24  # of a turn: one that is longer is a slip of the pen, such as a wrong year
COLUMNS = "from,until,table,shift"
# Turns by the hours since 1970 that they touch: their time in Unix ms, table and shift.
Rota = Mapping[int, list[tuple[range, str, str]]]


def read_rota(file: str) -> Rota:
    """Read a rota; ConfigurationError where there is none, with the line that is wrong."""
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
