"""A film read again gives the messages of a run of it; what was read is kept, and compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from datasets.dealing.simulate import main as simulate
from vision import cli
from vision.errors import ConfigurationError
from vision.floor.reread.cluster import here
from vision.floor.reread.film import FilmRead, WantedFilm
from vision.floor.reread.job import Progress, Rereading, recordings

NEVER = ("at", "boot", "seq", "shoe", "id", "evidence", "raised_at", "changed_at")


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
    out = tmp_path_factory.mktemp("whole")
    assert cli.main(["floor", "reread", str(film), "--out", str(out)]) == 0
    return out


class Counting:
    """Reads films and counts them; `fails` is how many are read before it is broken off."""

    def __init__(self, fails: int = 99) -> None:
        self.count = 0
        self._fails = fails

    def __call__(self, film: WantedFilm) -> FilmRead:
        """Read a film, as if it had nothing but a beginning."""
        if self.count == self._fails:
            raise KeyboardInterrupt
        self.count += 1
        return FilmRead((), 1.0, 0.0, "", 0.5)


def payloads(path: Path, *topics: str) -> list[dict[str, object]]:
    """Return what a messages file says on some topics, without times and numbers of the run."""
    found = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [
        {name: value for name, value in each["payload"].items() if name not in NEVER}
        for each in found
        if each["topic"].endswith(topics) and each["payload"]
    ]


@pytest.mark.slow
def test_film_read_again_is_a_run_of_the_film(film: Path, whole: Path, tmp_path: Path) -> None:
    """Cards and results are those of `shoe-reader run`, message for message."""
    said, log = tmp_path / "run.jsonl", tmp_path / "run.sqlite"
    words = ["--source", str(film), "--fast", "--no-broker", "--messages", str(said)]
    assert cli.main(["run", str(film.with_name("table.toml")), *words, "--log", str(log)]) == 0
    topics = ("/card", "/coup/result", "/roads", "/alert")
    again = payloads(whole / "deal" / "messages.jsonl", *topics)
    assert again == payloads(said, *topics)
    assert len(again) > 20


def test_run_that_was_broken_off_reads_no_film_twice(film: Path, tmp_path: Path) -> None:
    """Begun again, it reads what is left; another model, shoe or film is another reading."""
    urls = [str(tmp_path / f"{name}.mp4") for name in "abc"]
    for url in urls:
        Path(url).symlink_to(film)
    found_in = recordings(urls, film.with_name("table.toml"), None)
    first, second, third = Counting(fails=2), Counting(), Counting()
    with pytest.raises(KeyboardInterrupt):
        Rereading(tmp_path / "out", here, Progress(), read=first).run(found_in)
    for counting in (second, third):
        found = Rereading(tmp_path / "out", here, Progress(), read=counting).run(found_in)
        assert [each.error for each in found] == [""] * 3
    assert (first.count, second.count, third.count) == (2, 1, 0)


@pytest.mark.slow
def test_second_opinion_lists_what_differs_with_a_picture(
    film: Path, whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A card that was another one that evening is found; so is a film that cannot be read."""
    said = (whole / "deal" / "messages.jsonl").read_text("utf-8")
    result = next(line for line in said.splitlines() if "/coup/result" in line)
    card = json.loads(result)["payload"]["punto"]["cards"][0]
    evening = tmp_path / "evening.jsonl"
    evening.write_text(said.replace(f'"{card}"', '"9c"' if card != "9c" else '"8c"'), "utf-8")
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(film.read_bytes()[:5000])
    table = film.with_name("table.toml")
    words = ["--table", str(table), "--evening", str(evening)]
    out = [str(film), str(broken), "--out", str(whole)]
    assert cli.main(["floor", "reread", *out, *words]) == 3
    printed = capsys.readouterr()
    assert "broken: not read" in printed.out
    assert "deal: 2 coups" in printed.out
    assert "not read: broken" in printed.err
    report = json.loads((whole / "report.json").read_text("utf-8"))
    (difference, *_) = report["recordings"][0]["differences"]
    assert difference["kind"] == "other cards"
    assert card in difference["now"]["punto"]
    assert (whole / difference["picture"]).read_bytes()[:2] == b"\xff\xd8"
    page = (whole / "report.html").read_text("utf-8")
    assert f'src="{difference["picture"]}"' in page
    assert "other cards" in page


def test_film_named_twice_is_refused(tmp_path: Path) -> None:
    """One film is one recording."""
    with pytest.raises(ConfigurationError, match="named twice"):
        recordings([str(tmp_path / "a.mp4")] * 2, None, None)


def test_costs_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each film says how far the run is, and its core-seconds."""
    progress = Progress()
    progress.begin(3, 1)
    progress.add("deal", 7200.0)
    assert capsys.readouterr().err.startswith("deal: read; 2 of 3 films, 7200 core-seconds, about")
