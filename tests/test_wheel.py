"""The wheel: everything that running needs travels in it, and nothing of training does."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
def test_wheel_holds_models_pages_schemas_and_profiles(tmp_path: Path) -> None:
    """Installed in an empty folder it can run the demo: all its data is inside."""
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, ROOT],
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("shoe_reader-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        entry_points = next(n for n in names if n.endswith("entry_points.txt"))
        commands = archive.read(entry_points).decode()
    for name in ("detector", "corners", "classifier"):
        for ending in ("onnx", "toml"):
            assert f"vision/models/{name}.{ending}" in names
    for folder, ending in (
        ("vision/game/profiles", ".toml"),
        ("vision/schemas", ".json"),
        ("vision/board/pages", ".html"),
        ("vision/board/pages", ".js"),
    ):
        here = {p.relative_to(ROOT).as_posix() for p in (ROOT / folder).rglob(f"*{ending}")}
        assert here, f"{folder} holds no {ending}"
        assert here <= names
    assert "datasets/dealing/simulate.py" in names
    assert "shoe-reader = vision.cli:main" in commands
    assert "simulate = datasets.dealing.simulate:main" in commands
    assert not [n for n in names if n.startswith(("models/", "tests/")) or n.endswith(".pt")]
