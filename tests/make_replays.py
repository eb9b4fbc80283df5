"""Makes the golden logs anew: `python -m tests.make_replays`, after a change that is meant.

Look at the difference before committing it: a log that no longer replays is a changed promise.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.table_log import PLAYS, write_export, write_log
from vision.storage.log_reader import read_log

REPLAYS = Path(__file__).parent / "replays"


def main() -> None:
    """Write every play as an exported log."""
    with tempfile.TemporaryDirectory() as folder:
        for name, play in PLAYS.items():
            log = Path(folder) / f"{name}.sqlite"
            write_log(log, play().events)
            write_export(REPLAYS / f"{name}.jsonl", read_log(log))


if __name__ == "__main__":
    main()
