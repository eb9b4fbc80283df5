"""Every chaos in its whole form: `make chaos`, or `python -m tests.chaos NAME` for one."""

from __future__ import annotations

import sys
from collections.abc import Callable

from tests.chaos import kills

WHOLE: dict[str, Callable[[], str]] = {
    "kills": lambda: kills.run(500),
}


def main(names: list[str]) -> int:
    """Run those named, or all; print what each measured."""
    for name in names or WHOLE:
        print(f"{name}: {WHOLE[name]()}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
