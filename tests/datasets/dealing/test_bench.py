"""The bench is the same films for everybody, and can be gone on with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from datasets.dealing import bench, simulate
from datasets.dealing.score import changed
from datasets.dealing.score import main as score
from vision.errors import ConfigurationError


def tiny(folder: Path, films: int = 1) -> dict[str, bytes]:
    """Deal the first films of the bench; return all files by name."""
    assert simulate.main(["bench", str(folder), "--films", str(films), "--quiet"]) == 0
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.slow
def test_bench_is_gone_on_with_and_its_truth_scores_full(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A whole film is not drawn again, a changed one is named and is; the truth is all right."""
    first = tiny(tmp_path / "bench")
    film = tmp_path / "bench/film-00"
    when = (film / "deal.mp4").stat().st_mtime_ns
    (tmp_path / "bench/SHA256SUMS").unlink()
    assert tiny(tmp_path / "bench") == first
    assert (film / "deal.mp4").stat().st_mtime_ns == when
    (coup,) = json.loads((film / "truth.json").read_text("utf-8"))["coups"]
    answers = tmp_path / "mine"
    answers.mkdir()
    row = f"1,{' '.join(coup['punto'])},{' '.join(coup['banco'])},{coup['winner']},"
    (answers / "film-00.csv").write_text(f"coup,punto,banco,winner,faults\n{row}\n", "utf-8")
    assert score([str(tmp_path / "bench"), str(answers)]) == 0
    assert "| mine | - | " in (printed := capsys.readouterr().out)
    assert "| 1 of 1 (3 to 100 %) | 0 of 1" in printed
    (film / "table.toml").write_text("", "utf-8")
    assert changed(tmp_path / "bench") == ["film-00/table.toml"]
    assert tiny(tmp_path / "bench") == first


@pytest.mark.parametrize(
    ("words", "error"),
    [(["bench"], "`bench` and a folder"), (["bench", "F", "--films", "0"], "1 to")],
)
def test_bench_without_a_folder_or_films_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], error: str
) -> None:
    """Neither another shoe nor all nineteen films are dealt in its place."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match=error):
        simulate.main(words)
    assert not list(tmp_path.iterdir())


@pytest.mark.nightly
def test_bench_drawn_twice_is_the_same_to_the_byte(tmp_path: Path) -> None:
    """Films, truth, table files and checksums."""
    assert tiny(tmp_path / "one", 2) == tiny(tmp_path / "two", 2)


def test_bench_is_forty_minutes_and_half_of_it_has_incidents() -> None:
    """Every film can be dealt; what each is stands in its words alone."""
    shows = [simulate.show_of(bench.words_of(number)) for number in range(bench.FILMS)]
    assert 40 <= sum(show.frame_count / show.look.fps for show in shows) / 60 <= 45
    faulty = [any(act.coup.mistakes for act in show.acts) for show in shows]
    assert sum(faulty) == bench.FILMS // 2
    assert len({show.scenario.seed for show in shows}) == bench.FILMS


@pytest.mark.parametrize("word", ["--seed", "--coups"])
def test_bench_with_a_choice_is_refused(tmp_path: Path, word: str) -> None:
    """Its films are fixed, or figures would not be of the same ones."""
    with pytest.raises(ConfigurationError, match=f"leave out {word}"):
        simulate.main(["bench", str(tmp_path), word, "3"])
