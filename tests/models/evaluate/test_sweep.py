"""Hand-set numbers of following are found, changed everywhere and put back."""

from __future__ import annotations

from models.evaluate.sweep import numbers
from vision.sight.following import actions, evidence, hypotheses, procedure


def test_numbers_are_found_once_each_and_none_is_a_name() -> None:
    """Every hand-set number is swept under one name, numbers of the game are not."""
    names = [number.name for number in numbers()]
    assert len(names) == len(set(names))
    assert {"MOUTH_MS", "edge, due", "HAND_LINE 2", "LONGEST_S"} <= set(names)
    assert "FIRST_CARDS" not in names


def test_number_is_changed_where_it_is_used_and_put_back() -> None:
    """A number that other modules took over is changed there too; a rate is that of its action."""
    found = {number.name: number for number in numbers()}
    places = {
        "MISSED": lambda: vars(hypotheses)["MISSED"],
        "HAND_MS": lambda: evidence.HAND_MS,
        "edge, due": lambda: actions.ACTIONS["edge"].due,
    }
    for name, kept in places.items():
        before = kept()
        found[name].put(2 * before)
        assert kept() == 2 * before
        found[name].put(before)
        assert kept() == before


def test_number_of_one_module_is_no_place_of_another() -> None:
    """`GONE` is a bound of the mouth's evidence, and places to the procedure."""
    found = {number.name: number for number in numbers()}
    before, places = evidence.GONE, vars(procedure)["GONE"]
    found["GONE"].put(2 * before)
    assert (evidence.GONE, vars(procedure)["GONE"]) == (2 * before, places)
    found["GONE"].put(before)
