"""Anybody's answers to films are scored by one rule, and bad ones are refused by line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from datasets.dealing.film_truth import Coup, FilmTruth
from datasets.dealing.score import Figures, films_in, judge, main, read_answer, table
from vision.errors import ConfigurationError

AT = "2026-01-01T00:00:00.000Z"


def dealt(number: int, punto: str, banco: str, *faults: str) -> Coup:
    """Return a coup of the truth that Punto won."""
    start = 10_000 * number
    hands = (tuple(punto.split()), tuple(banco.split()), "punto")
    return Coup(number, (), faults, start, start + 9000, *hands)


TRUTH = FilmTruth(
    (
        dealt(1, "9c 2s", "5h 4d"),
        dealt(2, "Kd 8h", "3c Js"),
        dealt(3, "Ac 7d", "2h 6s", "OVER_B3"),
        dealt(4, "5c 4s", "2d 2c", "EXPOSED_IN_SHOE"),
    ),
    (),
    None,
)


def message(kind: str, **payload: Any) -> str:
    """Return a line of messages."""
    return json.dumps({"topic": f"casino/a/table/1/{kind}", "payload": {"at": AT} | payload})


def result(number: int | str, punto: str, banco: str, winner: str | None = "punto") -> str:
    """Return the line of a result."""
    hands = {"punto": {"cards": punto.split()}, "banco": {"cards": banco.split()}}
    return message("coup/result", coup=number, winner=winner, **hands)


def alert(number: int, code: str, severity: str = "warning") -> str:
    """Return the line of an alert."""
    return message("alert", coup=number, code=code, severity=severity)


def judged(tmp_path: Path, *lines: str, name: str = "film.jsonl") -> Figures:
    """Return the figures of an answer to the film."""
    return judge("film", TRUTH, read_answer(written(tmp_path, name, *lines)))


def written(folder: Path, name: str, *lines: str) -> Path:
    """Return a file with these lines."""
    (folder / name).write_text("\n".join(lines) + "\n", "utf-8")
    return folder / name


def test_answers_are_right_held_wrong_or_missing(tmp_path: Path) -> None:
    """Each coup has one outcome; a missed one does not make those behind it wrong."""
    found = judged(
        tmp_path,
        result(1, "9c 2s", "5h 4d"),
        result(2, "Ac 7d", "2h 6s", None),
        result(3, "5c 3s", "2d 2c"),
    )
    assert (found.right, found.held, found.wrong, found.missing) == (1, 1, 1, 1)
    assert (found.cards_right, found.cards) == (11, 16)


def test_last_result_of_a_coup_counts(tmp_path: Path) -> None:
    """A correction takes the place of what was published before."""
    found = judged(tmp_path, result(1, "9c 3s", "5h 4d"), result(1, "9c 2s", "5h 4d"))
    assert (found.right, found.wrong) == (1, 0)


def test_coup_that_was_never_dealt_is_wrong(tmp_path: Path) -> None:
    """A result out of nothing counts against the pipeline."""
    lines = [result(n, " ".join(c.punto), " ".join(c.banco)) for n, c in enumerate(TRUTH.coups)]
    found = judged(tmp_path, *lines, result(9, "Qc Qs", "Th Td"))
    assert (found.right, found.wrong) == (4, 1)


def test_more_wrong_coups_than_were_dealt_have_no_interval(tmp_path: Path) -> None:
    """A share of over one is none: the count stands alone."""
    found = judged(tmp_path, *(result(n, "Qc Qs", "Th Td") for n in range(5)))
    assert "| 5 of 4 |" in table({"mine": found})


def test_card_is_written_alike_in_both_forms(tmp_path: Path) -> None:
    """A ten as `10h` and small letters are the same card in messages as in a table of coups."""
    (from_messages,) = read_answer(written(tmp_path, "a.jsonl", result(1, "10h 2S", "5h"))).results
    rows = ("coup,punto,banco,winner,faults", "1,10h 2S,5h,punto,")
    (from_rows,) = read_answer(written(tmp_path, "a.csv", *rows)).results
    assert from_messages["punto"] == from_rows["punto"] == {"cards": ["Th", "2s"]}


def test_incident_counts_under_its_code_and_a_clean_coup_is_accused_once(tmp_path: Path) -> None:
    """Only alerts of the dealer accuse; what is said for the record does not count."""
    found = judged(
        tmp_path,
        result(1, "9c 2s", "5h 4d"), alert(1, "OVER_4TH"), alert(1, "UNDER_P3"),
        result(2, "Kd 8h", "3c Js"), alert(2, "REVIEW"), alert(2, "OVER_B3", "info"),
        result(3, "Ac 7d", "2h 6s", None), alert(3, "OVER_B3"),
        result(4, "5c 4s", "2d 2c"),
    )  # fmt: skip
    assert (found.accused, found.clean) == (1, 2)
    assert (found.reported, found.incidents) == (1, 2)


def test_face_in_the_mouth_may_show_in_the_coup_before(tmp_path: Path) -> None:
    """Its report there is right, and accuses nobody."""
    found = judged(
        tmp_path,
        result(1, "9c 2s", "5h 4d"), result(2, "Kd 8h", "3c Js"),
        result(3, "Ac 7d", "2h 6s", None), alert(3, "EXPOSED_IN_SHOE"),
        result(4, "5c 4s", "2d 2c"),
    )  # fmt: skip
    assert (found.reported, found.accused) == (1, 0)


def test_table_of_coups_is_scored_as_messages_are(tmp_path: Path) -> None:
    """A CSV without times has no figure for cards out, and every other one."""
    found = judged(
        tmp_path,
        "coup,punto,banco,winner,faults",
        "1,9c 2s,5h 4d,punto,", "2,Kd ?,3c Js,,", "3,Ac 7d,2h 6s,,OVER_B3", "4,5c 4s,2d 2c,punto,",
        name="film.csv",
    )  # fmt: skip
    assert (found.right, found.held, found.wrong, found.outs) == (2, 2, 0, 0)
    assert (found.reported, found.cards_right) == (1, 15)
    assert "| 2 of 4 (7 to 93 %) |" in table({"mine": found})


@pytest.mark.parametrize(
    ("name", "line", "word"),
    [
        pytest.param("film.csv", "1,9c 2x,5h 4d,punto,", "line 2: ", id="no card"),
        pytest.param("film.csv", "1,9c 2s,5h 4d,player,", "winner is 'player'", id="no winner"),
        pytest.param("film.csv", "x,9c 2s,5h 4d,punto,", "line 2: coup is 'x'", id="no number"),
        pytest.param("film.csv", "1,9c 2s,5h 4d,,OVER", "'OVER' is no code", id="no code"),
        pytest.param("film.csv", "1,?,?,,\n1,?,?,,", "line 3: coup 1 has a row", id="coup twice"),
        pytest.param("film.jsonl", result(1, "9c 1h", "5h"), "'1h' is not a card", id="message"),
        pytest.param("film.jsonl", result("1", "9c", "5h"), "coup is '1'", id="coup in words"),
        pytest.param("film.jsonl", alert(1, "OVER"), "'OVER' is no code", id="alert no code"),
        pytest.param("film.jsonl", alert(1, "REVIEW", "high"), "severity is 'high'", id="severity"),
        pytest.param("film.jsonl", message("shoe", at=AT[:-1]), "end it with Z", id="no zone"),
        pytest.param(
            "film.jsonl",
            message("coup/result", coup=1, winner=None, punto={"cards": "9c"}),
            'punto.cards is "9c"',
            id="no list",
        ),
        pytest.param("film.jsonl", '{"topic": "t/shoe", "payload": {}}', "lacks 'at'", id="no at"),
        pytest.param("film.jsonl", "coup 1: punto", "line 2: is no message", id="no JSON"),
        pytest.param("film.jsonl", '{"topic": "t/coup/result"}', "line 2", id="no payload"),
    ],
)
def test_bad_answer_is_refused_by_line(tmp_path: Path, name: str, line: str, word: str) -> None:
    """The error names file, line and what is wrong with it."""
    path = tmp_path / name
    first = "coup,punto,banco,winner,faults" if name.endswith("csv") else alert(1, "REVIEW")
    path.write_text(f"{first}\n{line}\n", "utf-8")
    with pytest.raises(ConfigurationError, match=word):
        read_answer(path)


def test_folder_without_films_is_refused(tmp_path: Path) -> None:
    """The error says what deals films."""
    with pytest.raises(ConfigurationError, match="simulate bench"):
        films_in(tmp_path)


def test_column_that_is_not_there_is_named(tmp_path: Path) -> None:
    """Who writes `player` for `punto` sees which columns are missing."""
    path = written(tmp_path, "film.csv", "coup,player,banker,winner,faults")
    with pytest.raises(ConfigurationError, match=r"it lacks punto, banco$"):
        read_answer(path)


def test_answers_without_effect_and_films_without_answer_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An answer to no film, or beside messages, does not count, and is not silent about it."""
    truth = json.dumps({"coups": [], "cards": [], "faults": [], "cut_ms": None})
    for film in ("film-00", "film-01"):
        (tmp_path / "films" / film).mkdir(parents=True)
        written(tmp_path / "films" / film, "truth.json", truth)
    (mine := tmp_path / "mine").mkdir()
    for name in ("film-00.csv", "film-00.jsonl", "film-7.csv"):
        written(mine, name, message("shoe"))
    assert main([str(tmp_path / "films"), str(mine)]) == 0
    output = capsys.readouterr()
    assert [line.split()[1] for line in output.err.splitlines()] == [
        str(mine / "film-00.csv"), str(mine / "film-7.csv")
    ]  # fmt: skip
    assert "1 of 2 films have an answer, none has film-01;" in output.out
