"""The table file: read in full, checked in full, and every fault named with its cure."""

from __future__ import annotations

from pathlib import Path

import pytest
import tomlkit

from vision.config.table import load
from vision.errors import ConfigurationError
from vision.game.events import Slot

EXAMPLE = Path(__file__).parents[2] / "deploy" / "table.example.toml"


def table_file(folder: Path, old: str = "", new: str = "") -> Path:
    """Write the example with one passage replaced."""
    text = EXAMPLE.read_text(encoding="utf-8")
    assert old in text
    path = folder / "table.toml"
    path.write_text(text.replace(old, new, 1) if old else text, encoding="utf-8")
    return path


def test_load_example_is_accepted() -> None:
    """The example that is shipped is a valid table file."""
    config = load(EXAMPLE)
    assert config.site == "lisboa"
    assert config.camera.source == "0"
    assert set(config.view.slots_mm) == set(Slot)


def test_load_relative_path_starts_at_the_file(tmp_path: Path) -> None:
    """A relative path means the same from whatever folder the command is run."""
    config = load(table_file(tmp_path, 'source = "0"', 'source = "deal.mp4"'))
    assert config.camera.source == str(tmp_path / "deal.mp4")
    assert config.log.path == str(tmp_path / "table-7.sqlite")


@pytest.mark.parametrize("source", ["3", "rtsp://10.0.0.5/stream", "http://cam/video"])
def test_load_source_that_is_no_path_stays(tmp_path: Path, source: str) -> None:
    """Camera numbers and addresses are not taken for files."""
    config = load(table_file(tmp_path, 'source = "0"', f'source = "{source}"'))
    assert config.camera.source == source


def test_load_source_may_be_a_bare_number(tmp_path: Path) -> None:
    """`source = 1` is what an engineer writes for the second camera."""
    assert load(table_file(tmp_path, 'source = "0"', "source = 1")).camera.source == "1"


FAULTS = [
    ("unknown-key", 'host = "127', 'hots = "127', ["broker.hots", "unknown key", "'host'"]),
    ("unknown-section", "[reader]", "[raeder]", ["raeder", "unknown key", "'reader'"]),
    ("no-word-like-it", "[reader]", "[zzzz]", ["zzzz", "unknown key", "known here"]),
    ("missing-key", 'site = "lisboa"', "", ["site", "missing", "add the key"]),
    ("missing-source", 'source = "0"', "", ["camera.source", "missing"]),
    ("bad-choice", 'kind = "external"', 'kind = "outside"', ["broker.kind", "'outside'"]),
    ("bad-number", "error_bound = 1e-5", "error_bound = 7", ["reader.error_bound", "is 7"]),
    ("bad-topic", 'table = "7"', 'table = "7/#"', ["table", "7/#", "letters"]),
    ("bad-port", "port = 1883", "port = 99999", ["broker.port", "99999"]),
    ("slot-name", "PUNTO_1 =", "PLAYER_1 =", ["view.slots_mm", "PLAYER_1", "missing: PUNTO_1"]),
    ("slot-outside", "[[300.0, 280.0]", "[[-900.0, 280.0]", ["view.slots_mm.PUNTO_1", "outside"]),
    ("slot-flat", "PUNTO_1 = [[300.0, 280.0], [390.0, 280.0], [390.0, 400.0], [300.0, 400.0]]",
     "PUNTO_1 = [[300, 280], [390, 280], [400, 280]]", ["view.slots_mm.PUNTO_1", "no area"]),
    ("exit-in-the-mouth", "exit_mm = [980.0, 210.0]", "exit_mm = [1082.0, 141.0]",
     ["view.exit_mm", "before the mouth"]),
    ("points-few", "image_px = [[210.0, 90.0], ", "image_px = [", ["view.image_px"]),
    ("point-outside", "[[210.0, 90.0]", "[[2210.0, 90.0]", ["view.image_px", "outside"]),
    ("points-on-a-line", "[1200.0, 700.0]", "[600.0, 0.0]", ["view.table_mm", "one line"]),
    ("not-toml", "[reader]", "[reader", ["not valid TOML", "line"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "words"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS]
)
def test_load_faulty_file_names_file_key_and_cure(
    tmp_path: Path, old: str, new: str, words: list[str]
) -> None:
    """Each fault is told with the file, the key and what to do about it."""
    path = table_file(tmp_path, old, new)
    with pytest.raises(ConfigurationError) as caught:
        load(path)
    message = str(caught.value)
    assert all(word in message for word in [str(path), *words]), message
    assert "Traceback" not in message
    assert "pydantic" not in message


@pytest.mark.parametrize("view", ["", "[view]\ntable_mm = [[0, 0], [9, 0], [9, 9], [0, 9]]\n"])
def test_load_missing_view_names_the_command_that_measures_it(tmp_path: Path, view: str) -> None:
    """Nobody is told to type camera and view: one command adds and measures them."""
    path = tmp_path / "table.toml"
    path.write_text(f'site = "a"\ntable = "1"\n{view}', encoding="utf-8")
    with pytest.raises(ConfigurationError) as caught:
        load(path)
    lines = str(caught.value).splitlines()
    assert any(line.startswith(f"{path}: camera: missing;") for line in lines)
    assert all(
        line.endswith(f"the set-up page adds it: shoe-reader setup {path}") for line in lines
    )


def test_load_all_faults_are_reported_at_once(tmp_path: Path) -> None:
    """An engineer mends a file in one go."""
    path = table_file(tmp_path, 'site = "lisboa"', 'sites = "lisboa"\ntabel = "x"')
    with pytest.raises(ConfigurationError) as caught:
        load(path)
    message = str(caught.value)
    assert "sites: unknown key" in message
    assert "tabel: unknown key" in message
    assert "site: missing" in message


def test_load_no_such_file_is_reported(tmp_path: Path) -> None:
    """A wrong file name is named."""
    with pytest.raises(ConfigurationError, match="no such file"):
        load(tmp_path / "none.toml")


def test_load_binary_file_is_reported(tmp_path: Path) -> None:
    """A picture given as table file is refused in words."""
    path = tmp_path / "table.toml"
    path.write_bytes(bytes(range(1, 256)))
    with pytest.raises(ConfigurationError, match="not text in UTF-8"):
        load(path)


def test_password_unset_variable_is_reported(tmp_path: Path) -> None:
    """A password variable that is not set is named; the password itself is never in the file."""
    config = load(table_file(tmp_path, 'password_env = ""', 'password_env = "NO_SUCH_VARIABLE"'))
    with pytest.raises(ConfigurationError, match="NO_SUCH_VARIABLE"):
        config.broker.password()


@pytest.mark.parametrize("coding", ["utf-8-sig", "utf-8"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_file_of_an_editor_of_windows_is_read(tmp_path: Path, coding: str, line_end: str) -> None:
    """A byte order mark and other ends of lines change nothing."""
    path = table_file(tmp_path)
    plain = load(path)
    path.write_bytes(path.read_text("utf-8").replace("\n", line_end).encode(coding))
    assert load(path) == plain


@pytest.mark.parametrize("coding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1"])
def test_file_in_another_coding_says_how_to_save_it(tmp_path: Path, coding: str) -> None:
    """Text that is not UTF-8 is no riddle."""
    path = table_file(tmp_path)
    path.write_bytes(
        ("# é\n" + path.read_text("utf-8").replace("—", "-")).encode(coding, "replace")
    )
    with pytest.raises(ConfigurationError, match="save it as UTF-8"):
        load(path)


@pytest.mark.parametrize(
    ("section", "key"),
    [
        ("", "site"),
        ("", "table"),
        ("", "profile"),
        ("camera", "source"),
        ("log", "path"),
        ("broker", "host"),
        ("metrics", "host"),
        ("board", "host"),
    ],
)
@pytest.mark.parametrize("value", ["", "   "])
def test_empty_value_that_is_needed_names_the_key(
    tmp_path: Path, section: str, key: str, value: str
) -> None:
    """An empty text is not taken for the working folder or for a default."""
    path = table_file(tmp_path)
    data = tomlkit.parse(path.read_text("utf-8"))
    place = data if not section else data.setdefault(section, tomlkit.table())
    place[key] = value
    path.write_text(tomlkit.dumps(data), encoding="utf-8")
    with pytest.raises(ConfigurationError, match=f"{section}.*{key}: "):
        load(path)


@pytest.mark.parametrize("key", ["log.path", "broker.host", "board.title", "models.detector"])
def test_variable_that_nothing_fills_in_names_the_key(tmp_path: Path, key: str) -> None:
    """A folder is not called ${NAME}."""
    path = table_file(tmp_path)
    data = tomlkit.parse(path.read_text("utf-8"))
    section, name = key.split(".")
    data.setdefault(section, tomlkit.table())[name] = "${NAME}/x"
    path.write_text(tomlkit.dumps(data), encoding="utf-8")
    with pytest.raises(ConfigurationError, match=rf"{key}: \$\{{NAME\}} is filled in only"):
        load(path)
