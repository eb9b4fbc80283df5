"""A film read in pieces is the film read whole, to the byte; and what differs is shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from datasets.dealing.simulate import main as simulate
from vision import cli
from vision.errors import ConfigurationError
from vision.floor.reread.cluster import Here
from vision.floor.reread.job import PieceReading, Progress, Rereading
from vision.floor.reread.piece_reader import read_piece, reader_of
from vision.floor.reread.pieces import Piece, PieceRead
from vision.floor.reread.recordings import recordings

PIECE = 0.1  # minutes: less than a coup, so that some pieces have no rest to begin at


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Deal two coups on film, with a key frame each second, as recorders have them."""
    folder = tmp_path_factory.mktemp("evening")
    words = ["--coups", "2", "--seed", "3", "--fps", "8", "--size", "960x540", "--quiet"]
    assert simulate([str(folder), *words, "--key-every", "1"]) == 0
    return folder / "deal.mp4"


@pytest.fixture(scope="module")
def whole(film: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Read it uncut with the command; return its folder."""
    out = tmp_path_factory.mktemp("whole")
    assert cli.main(["floor", "reread", str(film), "--out", str(out), "--minutes", "0"]) == 0
    return out


class Counting:
    """Reads pieces and counts them; `fails` is how many are read before it is broken off."""

    def __init__(self, fails: int = 99) -> None:
        self.count = 0
        self._fails = fails

    def __call__(self, piece: Piece) -> PieceRead:
        """Read a piece."""
        if self.count == self._fails:
            raise KeyboardInterrupt
        self.count += 1
        return read_piece(piece)


def reread(film: Path, out: Path, read: Counting) -> str:
    """Read it in pieces; return the messages."""
    work = Rereading(out, Here(), PieceReading(read, reader_of), Progress(), minutes=PIECE)
    (found,) = work.run(recordings([str(film)], None, None))
    assert (found.error, found.missing_s) == ("", 0)
    assert found.pieces > 2
    return (out / "deal" / "messages.jsonl").read_text("utf-8")


@pytest.mark.slow
def test_pieces_of_a_film_are_the_whole_film_and_a_run_goes_on(
    film: Path, whole: Path, tmp_path: Path
) -> None:
    """Broken off after two pieces and begun again, none is read twice, and not a byte differs."""
    first, second = Counting(fails=2), Counting()
    with pytest.raises(KeyboardInterrupt):
        reread(film, tmp_path, first)
    said = reread(film, tmp_path, second)
    assert said == (whole / "deal" / "messages.jsonl").read_text("utf-8")
    assert said.count("/coup/result") >= 2
    kept = list((tmp_path / "pieces").glob("piece-*"))
    assert first.count + second.count == len(kept)
    again = Counting()
    assert reread(film, tmp_path, again) == said
    assert again.count == 0


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
    words = ["--table", str(table), "--evening", str(evening), "--minutes", "0"]
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


def test_costs_are_counted_and_priced() -> None:
    """Core-seconds, bytes, and their price in the currency of the option."""
    progress = Progress(price=0.036)
    progress.begin(2, 1)
    progress.core_s, progress.moved = 7200.0, 5_000_000
    assert progress.cost() == "7200 core-seconds = 0.07, 5 MB moved"
    assert progress.line().startswith("[############............] 1/2 pieces")
