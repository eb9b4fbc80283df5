"""Let Ctrl-C and SIGTERM, which arrive as exceptions anywhere, not come between two steps."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Do what is within to its end; a signal that comes meanwhile acts after it.

    Only the main thread is interrupted, so that in others nothing is changed. What is within deals
    with its own errors: where a signal came too, that is what is raised.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def act() -> None:
        if came:
            signal.raise_signal(came[0])

    with ExitStack() as restoring:
        restoring.callback(act)
        for each in SIGNALS:
            handler = signal.getsignal(each)
            if handler is not None:  # one that Python did not set cannot be set again
                restoring.callback(signal.signal, each, handler)
                signal.signal(each, lambda number, _frame: came.append(number))
        yield
