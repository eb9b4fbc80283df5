"""Let Ctrl-C and SIGTERM, which arrive as exceptions anywhere, not come between two steps."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Do what is within to its end; a signal that comes meanwhile acts after it.

    Only the main thread is interrupted, so that in others nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    handlers = {each: signal.getsignal(each) for each in SIGNALS}
    try:
        for each in SIGNALS:
            signal.signal(each, lambda number, _frame: came.append(number))
        yield
    finally:
        for each, handler in handlers.items():
            signal.signal(each, handler)
        for number in came[:1]:
            signal.raise_signal(number)
