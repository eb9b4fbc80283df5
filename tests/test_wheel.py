"""The wheel: everything that running needs travels in it, and nothing of training does."""

import os
import subprocess
import sys
import zipfile
from functools import partial
from pathlib import Path

import pytest

pytestmark = [pytest.mark.nightly, pytest.mark.slow]

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel and return its path."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT],
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("shoe_reader-*.whl")
    return built


def test_wheel_holds_models_pages_schemas_and_profiles(wheel: Path) -> None:
    """Installed in an empty folder it can run the demo: all its data is inside."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        entry_points = next(n for n in names if n.endswith("entry_points.txt"))
        commands = archive.read(entry_points).decode()
    for name in ("detector", "corners", "classifier", "mouth", "cut"):
        for ending in ("onnx", "toml"):
            assert f"vision/models/{name}.{ending}" in names
    for name in ("deal.mp4", "truth.json", "table.toml"):
        assert f"vision/simulator/dealing/ready/{name}" in names
    small = {f"vision/models/int8/{p.name}" for p in (ROOT / "models" / "int8").iterdir()}
    assert small
    assert small <= names
    for folder, ending in (
        ("vision/game/profiles", ".toml"),
        ("vision/schemas", ".json"),
        ("vision/board/html", ".html"),
        ("vision/board/pages", ".js"),
    ):
        here = {p.relative_to(ROOT).as_posix() for p in (ROOT / folder).rglob(f"*{ending}")}
        assert here, f"{folder} holds no {ending}"
        assert here <= names
    assert "shoe-reader = vision.cli:main" in commands
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == {"vision"}, "the wheel installs one top-level package"
    assert not [n for n in names if n.endswith(".pt")]


def test_installed_simulator_lies_inside_vision_and_deals(wheel: Path, tmp_path: Path) -> None:
    """The installed command films a coup with the simulator of the wheel, not of the checkout."""
    installed = tmp_path / "installed"
    run = partial(subprocess.run, check=True, capture_output=True, text=True, cwd=tmp_path)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    run([*pip, "--target", installed, wheel])
    assert not (installed / "datasets").exists()
    code = "import sys; from vision.cli import main; code = main(sys.argv[1:]); "
    code += "print(sys.modules['vision.simulator.dealing.simulate'].__file__); sys.exit(code)"
    words = ["simulate", "film", "--coups", "1", "--size", "640x360", "--fps", "2", "--quiet"]
    done = run([sys.executable, "-c", code, *words], env={**os.environ, "PYTHONPATH": installed})
    assert done.stdout.strip() == str(installed / "vision/simulator/dealing/simulate.py")
    assert (tmp_path / "film" / "deal.mp4").stat().st_size > 0
