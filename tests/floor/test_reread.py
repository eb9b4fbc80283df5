"""A film read again is a run of it; what was read is kept, and compared with the evening."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from datasets.dealing.simulate import main as simulate
from tests.table_log import overdraw, said, write_log
from vision import cli
from vision.config.table import load
from vision.errors import ConfigurationError, OutsideError
from vision.floor.reread import (
    CoupRead,
    differences,
    evening_of,
    load_evening,
    recordings,
    settings_text,
)
from vision.storage.log_reader import message_lines
from vision.wire.messages import message_line

EXAMPLE = Path(__file__).parents[2] / "deploy" / "table.example.toml"
COUPS = [CoupRead(n, n, f"punto: Punto {rank}c") for n, rank in enumerate("A23456789", start=1)]


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Deal two coups on film."""
    folder = tmp_path_factory.mktemp("evening")
    words = ["--coups", "2", "--seed", "3", "--fps", "8", "--size", "960x540", "--quiet"]
    assert simulate([str(folder), *words]) == 0
    return folder / "deal.mp4"


@pytest.fixture(scope="module")
def whole(film: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Read it with the command; return its folder."""
    out = tmp_path_factory.mktemp("again") / "out"
    assert cli.main(["floor", "reread", str(film), "--out", str(out)]) == 0
    return out


def results(path: Path) -> list[tuple[list[str], list[str], str]]:
    """Return cards and winner of each result in a log."""
    found = [json.loads(line) for line in message_lines(path)]
    reported = [each["payload"] for each in found if each["topic"].endswith("/coup/result")]
    return [(one["punto"]["cards"], one["banco"]["cards"], one["winner"]) for one in reported]


@pytest.mark.slow
def test_film_read_again_is_a_run_of_the_film(film: Path, whole: Path, tmp_path: Path) -> None:
    """Its results are those of `shoe-reader run`; it has a log of its own, which verifies."""
    log = tmp_path / "run.sqlite"
    words = ["--source", str(film), "--fast", "--no-broker", "--log", str(log)]
    assert cli.main(["run", str(film.with_name("table.toml")), *words]) == 0
    assert results(whole / "deal" / "table.sqlite") == results(log)
    assert len(results(log)) == 2
    assert cli.main(["audit", str(whole / "deal" / "table.sqlite")]) == 0


@pytest.mark.slow
def test_second_opinion_lists_what_differs(
    film: Path, whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A card that was another one that evening is found; so is a film that cannot be read."""
    published = "\n".join(message_lines(whole / "deal" / "table.sqlite"))
    card = results(whole / "deal" / "table.sqlite")[0][0][0]
    other = "9c" if card != "9c" else "8c"
    evening = tmp_path / "evening.jsonl"
    evening.write_text(published.replace(f'"{card}"', f'"{other}"'), "utf-8")
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(film.read_bytes()[:5000])
    words = ["--table", str(film.with_name("table.toml")), "--evening", str(evening)]
    out = [str(film), str(broken), "--out", str(whole), "--workers", "2"]
    assert cli.main(["floor", "reread", *out, *words]) == 3
    printed = capsys.readouterr()
    assert "broken: not read: broken.mp4" in printed.out
    assert "deal: 2 coups" in printed.out
    assert "not so now: 1 of 2 then; new: 1" in printed.out
    assert "not read: broken" in printed.err
    assert not (whole / "broken").exists()
    text = (whole / "differences.txt").read_text("utf-8")
    assert text in printed.out
    then, now = (line for line in text.splitlines() if "coup 1" in line)
    assert (then[:4], now[:4]) == ("  - ", "  + ")
    assert f"Punto {other}" in then
    assert f"Punto {card}" in now


def test_recording_that_was_read_is_not_read_again(film: Path, whole: Path, tmp_path: Path) -> None:
    """The same command goes on with what is left: what lies in the folder counts."""
    out = tmp_path / "out"
    shutil.copytree(whole / "deal", out / "deal")
    log = out / "deal" / "table.sqlite"
    before = log.read_bytes()
    assert cli.main(["floor", "reread", str(film), "--out", str(out)]) == 0
    assert log.read_bytes() == before


def test_nothing_of_the_table_but_its_reading_counts(tmp_path: Path) -> None:
    """No picture, message or port of the table is touched by a second reading."""
    text = EXAMPLE.read_text("utf-8") + '\n[metrics]\nport = 9100\n[evidence]\nfolder = "live"\n'
    text = text if text.count("[metrics]") == 1 else EXAMPLE.read_text("utf-8")
    (tmp_path / "a.toml").write_text(text, "utf-8")
    config = load(tmp_path / "a.toml")
    (tmp_path / "b.toml").write_text(settings_text(config), "utf-8")
    again = load(tmp_path / "b.toml")
    assert (again.view, again.deck, again.reader) == (config.view, config.deck, config.reader)
    assert again.models.threads == 1
    assert "[metrics]" not in settings_text(config)
    assert "[evidence]" not in settings_text(config)


def test_recording_knows_its_table_and_its_time(tmp_path: Path) -> None:
    """They lie beside the film under its name; the time stands in the name, in UTC."""
    films = [tmp_path / f"{stem}.mp4" for stem in ("t1-20261122-201500", "t2")]
    for path in films:
        path.touch()
        path.with_suffix(".toml").write_text(EXAMPLE.read_text("utf-8"), "utf-8")
    reported = {"topic": "casino/h/table/1/shoe", "payload": {"at": "2026-11-22T21:00:00.000Z"}}
    films[1].with_suffix(".jsonl").write_text(json.dumps(reported) + "\n", "utf-8")
    first, second = recordings(films, None, None)
    assert (first.start_ms, first.evening) == (1_795_378_500_000, None)
    assert second.start_ms == 1_795_381_200_000


@pytest.mark.parametrize(
    ("names", "words"),
    [(["a.mp4"], r"put a\.toml or table\.toml beside"), (["a.mp4", "a.mp4"], "named twice")],
)
def test_recording_that_cannot_be_reported_is_refused(
    names: list[str], words: str, tmp_path: Path
) -> None:
    """The words name the file that is wanted."""
    with pytest.raises(ConfigurationError, match=words):
        recordings([tmp_path / name for name in names], None, None)


def test_folder_of_something_else_is_refused(film: Path, tmp_path: Path) -> None:
    """Nothing that lies in it is overwritten."""
    (tmp_path / "mine.txt").write_text("mine", "utf-8")
    assert cli.main(["floor", "reread", str(film), "--out", str(tmp_path)]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


# --- two readings ---------------------------------------------------------------------------------


def test_equal_readings_have_no_difference() -> None:
    """Nothing is said where both agree; time and number of a coup are no difference."""
    later = [coup._replace(at=coup.at + 5, number=coup.number + 1) for coup in COUPS]
    assert differences(COUPS, later) == []


def test_difference_has_both_readings() -> None:
    """What stood there that evening comes before what is read now."""
    then = [*COUPS[:4], COUPS[4]._replace(words="banco: Banco Kc"), *COUPS[5:]]
    assert differences(then, COUPS) == [("-", then[4]), ("+", COUPS[4])]


def test_missed_coup_spoils_none_after_it() -> None:
    """A coup that one reading has not is alone; all others have their partners."""
    assert differences(COUPS, [*COUPS[:3], *COUPS[4:]]) == [("-", COUPS[3])]
    assert differences(COUPS[1:], COUPS) == [("+", COUPS[0])]


def test_evening_of_a_log_is_that_of_its_messages(tmp_path: Path) -> None:
    """Log and messages file say the same; of a coup counts its last revision, with its author."""
    events = overdraw().events
    write_log(tmp_path / "t.sqlite", events)
    text = "".join(f"{message_line(message)}\n" for message in said(events))
    (tmp_path / "t.jsonl").write_text(text, "utf-8")
    evening = load_evening(tmp_path / "t.jsonl")
    assert load_evening(tmp_path / "t.sqlite") == evening == evening_of(text.splitlines())
    first, second = evening.coups
    assert (first.number, second.number) == (1, 2)
    assert first.words.startswith("punto: Punto ")
    assert second.words.endswith(", corrected by Ann")


def test_evening_that_is_none_is_refused(tmp_path: Path) -> None:
    """A file of something else is said by name."""
    (tmp_path / "x.jsonl").write_text(
        '{"topic": "a/coup/result", "payload": {"coup": 1}}\n', "utf-8"
    )
    with pytest.raises(OutsideError, match=r"x\.jsonl: not a log"):
        load_evening(tmp_path / "x.jsonl")
