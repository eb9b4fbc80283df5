"""What holds for all tests: a tool that is missing is no reason to pass in CI."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FILES = {
    "test_marked.py": '@pytest.mark.skipif(True, reason="needs a broker")\ndef test_one(): pass',
    "test_within.py": 'def test_two(): pytest.skip("needs a broker")',
    "test_whole.py": 'pytest.importorskip("no_such_library")',
    "test_other.py": 'def test_three(): pytest.skip("only root may mount")',
}


@pytest.mark.parametrize("ci", ["true", ""])
@pytest.mark.parametrize("name", FILES)
def test_skip_for_want_of_a_tool_fails_in_ci(name: str, ci: str, tmp_path: Path) -> None:
    """Elsewhere it is a skip, and what the machine cannot do is one everywhere."""
    (tmp_path / name).write_text(f"import pytest\n{FILES[name]}\n", "utf-8")
    root = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", str(tmp_path / name)],
        env={**os.environ, "CI": ci, "PYTHONPATH": str(root)},
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    fails = bool(ci) and name != "test_other.py"
    assert ("for want of a tool" in done.stdout) is fails, done.stdout
    assert (done.returncode in (1, 2)) is fails, done.stdout
