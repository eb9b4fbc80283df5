"""Scenario files: what they may say, and what is said about a mistake in one."""

from __future__ import annotations

from pathlib import Path

import pytest

from datasets.dealing.scenario import Dealing, Plan, Scenario, Slip, load, with_changes
from vision.errors import ConfigurationError
from vision.game.cards import parse_cards


def written(folder: Path, text: str) -> Path:
    """Write a scenario file and return its path."""
    path = folder / "scenario.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_scenario_with_every_key_is_read(tmp_path: Path) -> None:
    """Each key of the file reaches its field; coups are numbered on from the last number given."""
    text = """
        seed = 7
        coups = 9
        dealing = "mixed"
        decks = 6
        pace = 1.5
        burn = true
        from = 40
        cut_from_back = 16
        fault_every = 4
        [[coup]]
        number = 3
        fault = "over-draw-natural"
        cards = "9s 7d Kh 2c"
        [[coup]]
        dealing = "face-down"
    """
    plans = {
        3: Plan(Slip.OVER_DRAW_NATURAL, parse_cards("9s 7d Kh 2c")),
        4: Plan(dealing=Dealing.FACE_DOWN),
    }
    assert load(written(tmp_path, text)) == Scenario(
        7, 9, Dealing.MIXED, 6, 1.5, True, 40, 16, 4, plans
    )


def test_scenario_without_a_number_of_coups_deals_those_laid_down(tmp_path: Path) -> None:
    """The coups that are described are the coups that are dealt."""
    assert load(written(tmp_path, "[[coup]]\n[[coup]]\n")).coups == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("speed = 2", ["speed: unknown key", "pace"], id="unknown-key"),
        pytest.param("[[coup]]\ncard = 'As'", ["coup.card: unknown key", "cards"], id="coup-key"),
        pytest.param("[[coup]]\ncards = 'Xs'", ["coup.cards", "'Xs'"], id="card"),
        pytest.param("[[coup]]\nfault = 'oops'", ["coup.fault", "wrong-hand"], id="fault"),
        pytest.param("dealing = 'fast'", ["dealing: 'fast'", "punto-first"], id="dealing"),
        pytest.param("coups = 0", ["coups: 0 is out of range", "1 to 200"], id="no-coups"),
        pytest.param("coups = 1.5", ["coups: must be a whole number"], id="half-a-coup"),
        pytest.param("pace = true", ["pace: must be a number"], id="pace"),
        pytest.param("burn = 1", ["burn: must be a bool"], id="burn"),
        pytest.param("decks = 1\nfrom = 40", ["from:", "lower"], id="empty-shoe"),
        pytest.param("coups = 1\n[[coup]]\nnumber = 2", ["coup 2", "raise coups"], id="beyond"),
        pytest.param("[[coup]]\nnumber = 1\n[[coup]]\nnumber = 1", ["twice"], id="twice"),
        pytest.param("coups =", ["not valid TOML"], id="not-toml"),
    ],
)
def test_scenario_with_a_mistake_names_file_key_and_cure(
    tmp_path: Path, text: str, words: list[str]
) -> None:
    """The message names the file and the key, and says what would be right."""
    path = written(tmp_path, text)
    with pytest.raises(ConfigurationError) as caught:
        load(path)
    for word in (str(path), *words):
        assert word in str(caught.value)


def test_missing_scenario_file_is_a_configuration_error(tmp_path: Path) -> None:
    """A file that is not there is named."""
    with pytest.raises(ConfigurationError, match=r"none\.toml"):
        load(tmp_path / "none.toml")


def test_changes_leave_what_is_none_alone() -> None:
    """Arguments that were not given do not override the file."""
    assert with_changes(Scenario(seed=5), seed=None, coups=3) == Scenario(seed=5, coups=3)
