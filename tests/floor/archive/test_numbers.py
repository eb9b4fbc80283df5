"""Sets of message numbers, against Python's own sets."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from vision.floor.archive.numbers import NumberSet

RANGES = st.lists(st.tuples(st.integers(1, 60), st.integers(0, 9)), max_size=12)


@given(RANGES)
def test_number_set_is_a_set_of_numbers(ranges: list[tuple[int, int]]) -> None:
    """What was added is within, all else is missing, and the ranges do not touch."""
    numbers, plain = NumberSet(), set[int]()
    for first, length in ranges:
        numbers.add(first, first + length)
        plain |= set(range(first, first + length + 1))
    assert {n for n in range(80) if n in numbers} == plain
    missing = {n for first, last in numbers.missing(75) for n in range(first, last + 1)}
    assert missing == set(range(1, 76)) - plain
    found = numbers.ranges
    assert all(after[0] > before[1] + 1 for before, after in pairwise(found))
    assert NumberSet.of_text(numbers.text()).ranges == found
    assert numbers.newest == max(plain, default=0)
