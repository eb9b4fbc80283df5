"""The set-up pages of a table, for the engineer alone: its picture, its places, and what to run.

Asks a `Bench` for everything it shows and writes; it knows nothing of table files.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from vision.board.login.door import Door, read_json, refusal
from vision.board.login.sessions import Session
from vision.board.rights import MAY_SEE
from vision.board.setup.jobs import Job
from vision.errors import ShoeReaderError

ENGINEER = MAY_SEE["setup"]
NO_STORE = {"Cache-Control": "no-store"}
NOT_HERE = (
    "the table file is not with this board server; set the table up where it is, with "
    "shoe-reader calibrate, check and enrol"
)
# What a page may have run, by name: the words after `shoe-reader`, the table file comes last.
JOBS = {"check": ("check",), "enrol": ("enrol",)}

log = logging.getLogger(__name__)


class Bench(Protocol):
    """What can be done to a table's file; each raises ShoeReaderError where it cannot."""

    @property
    def file(self) -> str:
        """The path of the table file."""

    def live(self) -> bytes:
        """Return what the camera sees now, JPEG."""

    def kept(self) -> bytes:
        """Return the picture that was kept of the empty layout, JPEG."""

    def places(self) -> dict[str, Any]:
        """Return the places in pixels, the picture's size, and which file they are of."""

    def write(self, changed: Mapping[str, Any]) -> str:
        """Write places, given as `places` gives them; return where the old file is kept."""


Answer = Callable[[Bench, Request, Session], Awaitable[Response]]


class SetUp:
    """What the set-up pages may ask, of the tables whose files are here."""

    def __init__(self, door: Door, benches: Mapping[str, Bench]) -> None:
        self._door = door
        self._benches = dict(benches)
        self._jobs = {table: Job() for table in benches}

    def routes(self) -> list[Route]:
        """Return the routes of the pages, and of what they ask."""
        page = self._door.guard_page("setup_table.html", ENGINEER)
        start = "/api/setup/{table}"
        return [
            Route("/setup/{table}", page),
            Route(f"{start}/picture/{{kind}}", self._guard(self._picture)),
            Route(f"{start}/places", self._guard(self._places)),
            Route(f"{start}/places", self._guard(self._write, change=True), methods=["POST"]),
            Route(f"{start}/job", self._guard(self._told)),
            Route(f"{start}/job/{{name}}", self._guard(self._run, change=True), methods=["POST"]),
        ]

    def stop(self) -> None:
        """End what still runs."""
        for job in self._jobs.values():
            job.stop()

    def _guard(self, answer: Answer, *, change: bool = False) -> Any:
        async def of_table(request: Request, session: Session) -> Response:
            bench = self._benches.get(request.path_params["table"])
            if bench is None:
                return refusal(404, NOT_HERE)
            try:
                return await answer(bench, request, session)
            except ShoeReaderError as error:
                return refusal(409, str(error))

        return self._door.guard(of_table, ENGINEER, change=change)

    async def _picture(self, bench: Bench, request: Request, _session: Session) -> Response:
        kinds = {"live": bench.live, "kept": bench.kept}
        if request.path_params["kind"] not in kinds:
            return refusal(404, "there is a live picture and a kept one")
        picture = await run_in_threadpool(kinds[request.path_params["kind"]])
        return Response(picture, media_type="image/jpeg", headers=NO_STORE)

    async def _places(self, bench: Bench, _request: Request, _session: Session) -> Response:
        return JSONResponse(await run_in_threadpool(bench.places), headers=NO_STORE)

    async def _write(self, bench: Bench, request: Request, session: Session) -> Response:
        kept = await run_in_threadpool(bench.write, await read_json(request))
        log.info("%s wrote the places of %s; the file before is %s", session.name, bench.file, kept)
        return JSONResponse({"kept": kept}, headers=NO_STORE)

    async def _told(self, _bench: Bench, request: Request, _session: Session) -> Response:
        return JSONResponse(self._jobs[request.path_params["table"]].told(), headers=NO_STORE)

    async def _run(self, bench: Bench, request: Request, session: Session) -> Response:
        job, name = self._jobs[request.path_params["table"]], request.path_params["name"]
        if name == "stop":
            await run_in_threadpool(job.stop)
        elif name not in JOBS:
            return refusal(404, "there is no such thing to run")
        elif not job.start((*JOBS[name], bench.file)):
            return refusal(409, "something is running already; stop it first")
        log.info("%s: %s of %s", session.name, name, bench.file)
        return JSONResponse(job.told(), headers=NO_STORE)
