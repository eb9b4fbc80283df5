"""Whatever a log holds, the commands end with a sentence."""

from __future__ import annotations

from tests.audit.fuzz_logs import faults, run


def test_changed_log_ends_in_words_never_in_a_traceback() -> None:
    """Sixty logs with a value of any kind in any place; 20,000 by `tests.audit.fuzz_logs`."""
    found = run(60)
    assert faults(found) == []
    assert found["audit: exit 3"] > 40
