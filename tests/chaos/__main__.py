"""Every chaos in its whole form: `make chaos`, or `python -m tests.chaos NAME...` for some."""

from __future__ import annotations

import sys
from collections.abc import Callable

from tests.chaos import (
    boards,
    boards_speed,
    boards_tries,
    camera,
    catch_up,
    clocks,
    disks,
    fuzz_media,
    kills,
    outages,
    proofs,
    soak,
    tampering,
    test_security_board_role,
    test_security_fuzz,
)

WHOLE: dict[str, Callable[[], str]] = {
    "kills": lambda: kills.run(500),
    "evidence": lambda: proofs.run(100),
    "tampering": lambda: tampering.run(1000),
    "broker": lambda: outages.run(120),
    "catch-up": lambda: catch_up.run(70),
    "disk": lambda: disks.run(300),
    "clock": lambda: clocks.run(120),
    "camera": lambda: camera.run(50),
    "media": lambda: fuzz_media.run({"images": 90_000, "videos": 8_000, "models": 2_000}),
    "orders": lambda: test_security_fuzz.run(100_000),
    "board": test_security_board_role.run,
    "boards": lambda: boards.run(30),
    "board-speed": lambda: boards_speed.run(300, 3010),
    "board-tries": boards_tries.run,
    "soak": lambda: soak.run(3010),
    "opening": lambda: soak.opening(1_000_000),
}


def main(names: list[str]) -> int:
    """Run those named, or all; print what each measured."""
    unknown = [name for name in names if name not in WHOLE]
    if unknown:
        print(f"there is no {unknown[0]}; there are {', '.join(WHOLE)}", file=sys.stderr)
        return 2
    for name in names or WHOLE:
        print(f"{name}:\n{WHOLE[name]()}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
