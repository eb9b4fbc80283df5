"""How the server answers: data as JSON, a refusal with its reason, a defect in the log.

Whatever makes an answer may raise: a refusal is a `RefusalError`, what cannot be done a
ShoeReaderError, and anything else a defect of the program.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import threading
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from inspect import iscoroutinefunction
from typing import Any, NoReturn, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from vision.errors import ConfigurationError, OutsideError

# Bytes of a request's body: an order, a log-in or the areas of a table. Longer ones count as empty.
BODY_LIMIT = 16 * 1024
# Seconds for a request's body, which is one packet. Shorter cuts off poor wireless links, longer
# lets who sends nothing hold a connection.
BODY_S = 10.0

T = TypeVar("T")

log = logging.getLogger(__name__)


class RefusalError(Exception):
    """A request is refused with a status of HTTP and a reason; `more` goes with the answer."""

    retry_s = 0.0  # after how long the browser may try again, where that is told

    def __init__(self, status: int, why: str, **more: object) -> None:
        super().__init__(why)
        self.status = status
        self.more = more


async def answered(make: Callable[..., Any], *args: object) -> Response:
    """Return what is made for a request, data as JSON; slow work that is no coroutine in a thread.

    No cache keeps it unless it says so itself.
    """
    if iscoroutinefunction(make):
        found = await make(*args)
    else:
        found = await run_in_threadpool(make, *args)
    answer = found if isinstance(found, Response) else JSONResponse(found)
    answer.headers.setdefault("Cache-Control", "no-store")
    return answer


def _refused(_request: Request, error: Exception) -> Response:
    if not isinstance(error, RefusalError):
        error = RefusalError(400 if isinstance(error, ConfigurationError) else 503, str(error))
    answer = JSONResponse({"why": str(error), **error.more}, error.status)
    answer.headers["Cache-Control"] = "no-store"
    if error.retry_s:
        answer.headers["Retry-After"] = str(round(error.retry_s))
    return answer


def _failed(request: Request, error: Exception) -> Response:
    path, method = ascii(request.url.path), request.method
    log.error("%s %s failed; this is a defect of the program", method, path, exc_info=error)
    return PlainTextResponse("this failed; the log says why", 500)


HANDLERS: Mapping[Any, Callable[[Request, Exception], Response | Awaitable[Response]]] = {
    RefusalError: _refused,
    ConfigurationError: _refused,
    OutsideError: _refused,
    Exception: _failed,
}


async def read_json(request: Request) -> dict[str, Any]:
    """Return the JSON object of a request; empty where it is none, too long or too slow.

    Numbers that JSON does not have (NaN, Infinity, those beyond a float) make it none.
    """
    body = b""
    try:
        async with asyncio.timeout(BODY_S):
            async for part in request.stream():
                body += part
                if len(body) > BODY_LIMIT:
                    return {}
        content = json.loads(body, parse_constant=_no_number, parse_float=_finite)
    except (ValueError, RecursionError, TimeoutError):
        return {}
    return content if isinstance(content, dict) else {}


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


class OneAtATime:
    """Runs slow work in order in a thread that gives way to others by `nice`."""

    def __init__(self, name: str, *, nice: int) -> None:
        self._thread = ThreadPoolExecutor(1, name, initializer=_give_way, initargs=(nice,))
        self._waiting = 0

    async def run(self, work: Callable[[], T], *, most: int, full: str) -> T:
        """Return what the work comes to; RefusalError with `full` where `most` wait already."""
        if self._waiting >= most:
            raise RefusalError(429, full)
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        finally:
            self._waiting -= 1


def _give_way(nice: int) -> None:
    with suppress(OSError):  # a sandbox may forbid it; then the work is as urgent as the rest
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), nice)
