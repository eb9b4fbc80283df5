"""The library as a newcomer meets it: the README's example runs, and each public name is there."""

from __future__ import annotations

import pydoc
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vision
from vision.errors import ShoeReaderError

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
    """What the README prints beside its code is what the code prints, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    exec(compile(example(), "README.md", "exec"), {})
    reported = re.findall(r"# (.*)", example())
    assert capsys.readouterr().out.splitlines() == reported


def test_every_public_name_can_be_had() -> None:
    """Names of `__all__` are imported when used; others are refused as usual."""
    for name in vision.__all__:
        assert callable(getattr(vision, name))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        vision.nothing  # noqa: B018 - asking is the test


def test_help_lists_every_public_name() -> None:
    """Whoever asks for help sees each of them, not only those that are defined there."""
    shown = pydoc.plain(pydoc.render_doc(vision))
    assert [
        name
        for name in vision.__all__
        if not re.search(rf"^ +(class )?{name}\(", shown, re.MULTILINE)
    ] == []


@pytest.mark.parametrize(
    ("picture", "words"),
    [
        (np.zeros((400, 400, 3), np.float32), r"float32 \(400, 400, 3\) is no picture"),
        (np.zeros((400, 400), np.uint8), r"uint8 \(400, 400\) is no picture: .*COLOR_GRAY2BGR"),
        (np.zeros((400, 400, 4), np.uint8), r"uint8 \(400, 400, 4\) is no picture"),
        (np.zeros((0, 400, 3), np.uint8), r"uint8 \(0, 400, 3\) is no picture"),
        (None, r"NoneType \(\) is no picture: .* give a file or what cv2.imread returns"),
        ("there-is-none.jpg", "there-is-none.jpg: No such file or directory; give the name"),
        (__file__, "is not a picture that can be read; give a JPEG"),
    ],
)
def test_picture_of_a_wrong_kind_is_refused_in_words(picture: Any, words: str) -> None:
    """Neither silence nor an error of a library: what it is, and what to do."""
    with pytest.raises(ShoeReaderError, match=words):
        vision.read_cards(picture)


def test_import_of_the_package_loads_no_library() -> None:
    """`import vision` stays quick: nothing heavy is imported before it is used."""
    code = "import sys, vision; print(sorted({'cv2', 'numpy', 'pydantic'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
