"""Asks whether a pinned dependency has a known hole: `make audit`.

Where the collection of known holes cannot be reached nothing was audited, and that is what it says.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

NOT_ASKED = 2  # the exit code where not every dependency was audited
LOCK = Path(__file__).parents[1] / "deploy" / "requirements.lock"


def main() -> int:
    """Run pip-audit on the lock file; 1 when a hole is known, 2 where not all could be asked."""
    command = [sys.executable, "-m", "pip_audit", "-r", str(LOCK), "--require-hashes"]
    command += ["--disable-pip", "--format", "json", "--progress-spinner", "off"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        found = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        print(f"NOT AUDITED: pip-audit cannot ask here (exit {done.returncode}); ask elsewhere")
        return NOT_ASKED
    skipped = [one["name"] for one in found if "skip_reason" in one]
    holes = [(one["name"], hole["id"]) for one in found for hole in one.get("vulns", ())]
    for name, hole in holes:
        print(f"{name}: {hole}")
    if skipped:
        print(f"NOT AUDITED: {len(skipped)} of {len(found)}: {', '.join(skipped[:5])} ...")
    print(f"{len(found) - len(skipped)} of {len(found)} audited, {len(holes)} known holes")
    if holes:
        return 1
    return NOT_ASKED if skipped or not found else 0


if __name__ == "__main__":
    sys.exit(main())
