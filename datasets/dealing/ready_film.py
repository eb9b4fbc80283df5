"""The small film that the package brings along, so that the demo need not deal one first.

    python -m datasets.dealing.ready_film          draws it again, after a change of the simulator
    python -m datasets.dealing.ready_film --check  draws it elsewhere, and compares every byte

The bytes are the same wherever the drawing and encoding libraries have the same versions.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from . import simulate

FOLDER = Path(__file__).parent / "ready"
# Six coups are a minute and a half: long enough to see roads and a mis-deal, short enough for a
# film of few megabytes. Every FAULT_EVERY-th coup has a mis-deal.
COUPS, SEED, FAULT_EVERY = 6, 8, 5
# x264's constant rate factor: one coarser than other films. Lower makes the package larger (5 MB at
# 26, 20 at 23), higher blurs the indices.
CRF = 27
FILES = (simulate.VIDEO, "truth.json", "table.toml")


def words(folder: Path) -> list[str]:
    """Return the words with which `shoe-reader simulate` deals the film into a folder."""
    settings = {"--coups": COUPS, "--seed": SEED, "--fault-every": FAULT_EVERY, "--crf": CRF}
    return [str(folder), *(str(word) for pair in settings.items() for word in pair)]


def main() -> int:
    """Draw the film, or with --check compare it with what would be drawn; 1 where it differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, and change nothing")
    if not parser.parse_args().check:
        return simulate.main(words(FOLDER))
    with tempfile.TemporaryDirectory() as scratch:
        simulate.main(words(Path(scratch)))
        drawn = {name: Path(scratch, name).read_bytes() for name in FILES}
    differ = [name for name in FILES if (FOLDER / name).read_bytes() != drawn[name]]
    print("\n".join(f"{FOLDER / name}: differs" for name in differ) or "every byte is the same")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
