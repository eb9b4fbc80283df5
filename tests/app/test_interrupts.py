"""What must not be torn is done to its end before Ctrl-C or SIGTERM acts."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest

from vision.app.run_log import uninterrupted


@pytest.fixture(autouse=True)
def ending() -> Iterator[None]:
    """Have SIGTERM raise, as the command line does."""

    def end(_signal: int, _frame: object) -> None:
        raise SystemExit(0)

    before = signal.signal(signal.SIGTERM, end)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize(
    ("number", "error"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)]
)
def test_signal_acts_after_what_it_came_within(
    number: signal.Signals, error: type[BaseException]
) -> None:
    """All that is within is done; then the signal ends the program as ever."""
    done = []

    def work() -> None:
        with uninterrupted():
            signal.raise_signal(number)
            done.append("to its end")

    with pytest.raises(error):
        work()
    assert done
    with pytest.raises(error):
        signal.raise_signal(number)


def test_error_within_is_reported_where_no_signal_came() -> None:
    """An error passes, and the signals act as before."""
    with pytest.raises(ValueError, match="full"), uninterrupted():
        raise ValueError("full")
    with pytest.raises(SystemExit):
        signal.raise_signal(signal.SIGTERM)


def test_other_threads_are_never_interrupted() -> None:
    """A thread that is not the main one has nothing to change."""
    found = []

    def work() -> None:
        with uninterrupted():
            found.append(signal.getsignal(signal.SIGTERM))

    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [before]
