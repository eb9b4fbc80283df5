"""The rule by which a consumer tells who may speak for a table."""

from __future__ import annotations

import random

from vision.wire.form import Term


def test_history_counts_in_any_order_and_an_overtaken_reader_never() -> None:
    """Counted messages of both readers are taken however they come; its will and health are not."""
    history = [(1, seq) for seq in range(1, 20)] + [(2, seq) for seq in range(20, 40)]
    draw = random.Random(1)
    for _ in range(50):
        term = Term()
        jumbled = sorted(history, key=lambda reported: reported[1] + draw.uniform(0, 15))
        assert all(term.admits(number, seq, counted=True) for number, seq in jumbled)
        assert term == Term(2, 20)
        assert not term.admits(1, 19, counted=False), "the last will of the reader that hung"
        assert not term.admits(1, 20, counted=True), "what the store has refused it"
        assert not term.admits(0, 25, counted=True)


def test_term_first_heard_without_a_number_began_after_it() -> None:
    """A will, or `health`, carries the number of the last counted message, of whatever term."""
    term = Term()
    assert term.admits(2, 30, counted=False)
    assert term.admits(1, 30, counted=True)
    assert not term.admits(1, 31, counted=True)


def test_table_of_one_reader_knows_no_term() -> None:
    """Whatever number comes, it counts."""
    term = Term()
    assert all(term.admits(0, seq, counted=counted) for seq in (5, 1) for counted in (True, False))
