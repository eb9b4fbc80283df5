"""The library as a newcomer meets it: the README's example runs, and each public name is there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import vision
from tests.table_log import PLAYS, write_log

ROOT = Path(__file__).parent.parent


def example() -> str:
    """Return the code of the README's section on the library."""
    text = (ROOT / "README.md").read_text("utf-8")
    section = text[text.index("## As a library") :]
    found = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert found is not None
    return found[1]


def test_example_of_the_readme_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the README prints beside its code is what the code prints."""
    write_log(tmp_path / "table-7.sqlite", PLAYS["clean"]().events)
    monkeypatch.chdir(tmp_path)
    exec(compile(example(), "README.md", "exec"), {})
    told = re.findall(r"# (.*)", example())
    assert capsys.readouterr().out.splitlines() == told


def test_every_public_name_can_be_had() -> None:
    """Names of `__all__` are imported when used; others are refused as usual."""
    for name in vision.__all__:
        assert callable(getattr(vision, name))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        vision.nothing  # noqa: B018 - asking is the test


def test_import_of_the_package_loads_no_library() -> None:
    """`import vision` stays quick: nothing heavy is imported before it is used."""
    code = "import sys, vision; print(sorted({'cv2', 'numpy', 'pydantic'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
