"""The set-up pages of a table, for the engineer: live picture, areas on the table, check and enrol.

`SetupPages` answers the pages and asks an `Editor` for the table file. `Job` runs a command of this
program for a page, `Viewfinder` gives the newest picture of a camera while somebody looks.
"""

from __future__ import annotations

import logging
import math
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import IO, Any, NamedTuple, Protocol

import cv2
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from vision.board.login.pages import LoginPages, read_json, refusal
from vision.board.login.sessions import Recorder, Session
from vision.board.rights import MAY_SEE
from vision.camera.source import Shot, open_source
from vision.config.table import CameraSection
from vision.errors import OutsideError, ShoeReaderError
from vision.record.facts import Fact
from vision.secrets import masked, shown
from vision.sight.geometry.frame import Frame, Image

ENGINEER = MAY_SEE["setup"]
NO_STORE = {"Cache-Control": "no-store"}
NOT_HERE = (
    "the table file is not with this board server; set the table up where it is, with "
    "shoe-reader calibrate, check and enrol"
)
# The commands that a page may run, by name: the words after `shoe-reader`; the table file is last.
JOBS = {
    "check": ("check",),
    "enrol": ("enrol",),
    "sheet": ("calibrate", "--yes", "--source="),
    "play": ("calibrate", "--yes", "--from-play="),
    "run": ("run",),
}
# Lines of a command's output that are kept; what an engineer scrolls through. The last ones count.
KEPT_LINES = 200
# Seconds that a command has to end in order before it is killed: on a loaded machine more than 5.
END_S = 20.0

# Seconds after which an engineer who goes on looking at a picture is recorded as doing so again.
LOOKED_FOR_S = 600.0

# Seconds that the camera stays open after the last question: the page asks every second.
OPEN_AFTER_S = 8.0
# Seconds that a picture counts as live; older, and the page says that none comes.
NEW_S = 3.0
# Seconds that a page waits for a picture: opening an address may take 2.5 s ([camera] open_s), and
# starting the capture process about one.
PICTURE_S = 6.0
# JPEG quality of the live picture: edges stay clear enough to drag areas to them.
QUALITY = 80

log = logging.getLogger(__name__)


class Written(NamedTuple):
    """A table file that was changed: where the old one is kept, and the hashes of both."""

    kept: str
    before: str
    after: str


class Editor(Protocol):
    """Shows and changes one table file; every method raises ShoeReaderError where it cannot."""

    @property
    def file(self) -> str:
        """The path of the table file."""

    def live(self) -> bytes:
        """Return the live picture of the camera, JPEG."""

    def drawn(self) -> bytes:
        """Return the live picture with what the reader makes of it drawn on, JPEG."""

    def kept(self) -> bytes:
        """Return the kept picture of the empty layout, JPEG."""

    def gauges(self) -> list[dict[str, Any]]:
        """Return light, focus and size of a card in the newest live picture."""

    def release(self) -> None:
        """Close the camera, for a command that opens it."""

    def places(self) -> dict[str, Any]:
        """Return the areas in pixels, the size of the picture, and the file that they stand in."""

    def write(self, changed: Mapping[str, Any]) -> Written:
        """Write areas, in the form of `places`; return what was done."""


Answer = Callable[[Editor, Request, Session], Awaitable[Response]]


class SetupPages:
    """The set-up pages of the tables whose files are on this machine."""

    def __init__(
        self, login: LoginPages, editors: Mapping[str, Editor], recorder: Recorder
    ) -> None:
        self._login = login
        self._editors = dict(editors)
        self._record = recorder
        self._jobs = {table: Job() for table in editors}
        # When a session last was recorded as looking at a table's live picture.
        self._looked_s: dict[tuple[str, str], float] = {}

    def routes(self) -> list[Route]:
        """Return the routes of the pages and of their requests."""
        page = self._login.guard_page("setup_table.html", ENGINEER)
        start = "/api/setup/{table}"
        return [
            Route("/setup/{table}", page),
            Route(f"{start}/picture/{{kind}}", self._guard(self._picture)),
            Route(f"{start}/gauges", self._guard(self._gauges)),
            Route(f"{start}/places", self._guard(self._places)),
            Route(f"{start}/places", self._guard(self._write, change=True), methods=["POST"]),
            Route(f"{start}/job", self._guard(self._job)),
            Route(f"{start}/job/{{name}}", self._guard(self._run, change=True), methods=["POST"]),
        ]

    def stop(self) -> None:
        """End the commands that still run."""
        for job in self._jobs.values():
            job.stop()

    def _guard(self, answer: Answer, *, change: bool = False) -> Any:
        async def of_table(request: Request, session: Session) -> Response:
            editor = self._editors.get(request.path_params["table"])
            if editor is None:
                return refusal(404, NOT_HERE)
            try:
                return await answer(editor, request, session)
            except ShoeReaderError as error:
                return refusal(409, str(error))

        return self._login.guard(of_table, ENGINEER, change=change)

    async def _picture(self, editor: Editor, request: Request, session: Session) -> Response:
        kind = request.path_params["kind"]
        kinds = {"live": editor.live, "drawn": editor.drawn, "kept": editor.kept}
        if kind not in kinds:
            return refusal(404, "there are the pictures `live`, `drawn` and `kept`")
        await run_in_threadpool(self._note_look, request.path_params["table"], kind, session)
        picture = await run_in_threadpool(kinds[kind])
        return Response(picture, media_type="image/jpeg", headers=NO_STORE)

    def _note_look(self, table: str, kind: str, session: Session) -> None:
        """Record that somebody looks at the camera: at the beginning, and now and then after."""
        key, now_s = (session.csrf, f"{table} {kind}"), time.monotonic()
        if now_s - self._looked_s.get(key, float("-inf")) < LOOKED_FOR_S:
            return
        who = {"by": session.name, "role": session.role}
        self._record.fact(Fact.LIVE_VIEW_SEEN, table=table, subject=f"picture {kind}", **who)
        kept = {k: at for k, at in self._looked_s.items() if now_s - at < LOOKED_FOR_S}
        self._looked_s = {**kept, key: now_s}

    async def _gauges(self, editor: Editor, _request: Request, _session: Session) -> Response:
        return JSONResponse(await run_in_threadpool(editor.gauges), headers=NO_STORE)

    async def _places(self, editor: Editor, _request: Request, _session: Session) -> Response:
        return JSONResponse(await run_in_threadpool(editor.places), headers=NO_STORE)

    async def _write(self, editor: Editor, request: Request, session: Session) -> Response:
        done = await run_in_threadpool(editor.write, await read_json(request))
        log.info(
            "%s wrote the areas of %s, now %s; the old file is kept as %s",
            session.name,
            editor.file,
            done.after,
            done.kept,
        )
        table, change = request.path_params["table"], f"sha256 {done.before} -> sha256 {done.after}"
        await run_in_threadpool(
            self._fact, Fact.TABLE_FILE_CHANGED, table, session, (editor.file, change)
        )
        return JSONResponse({"kept": done.kept}, headers=NO_STORE)

    def _fact(self, kind: Fact, table: str, session: Session, what: tuple[str, str]) -> None:
        who = {"by": session.name, "role": session.role}
        self._record.fact(kind, table=table, subject=what[0], detail=what[1], **who)

    async def _job(self, _editor: Editor, request: Request, _session: Session) -> Response:
        return JSONResponse(self._jobs[request.path_params["table"]].state(), headers=NO_STORE)

    async def _run(self, editor: Editor, request: Request, session: Session) -> Response:
        table, name = request.path_params["table"], request.path_params["name"]
        job = self._jobs[table]
        if name != "stop" and name not in JOBS:
            return refusal(404, "there is no such command to run")
        await run_in_threadpool(self._fact, Fact.JOB_RUN, table, session, (name, editor.file))
        log.info("%s: %s of %s", session.name, name, editor.file)
        if name != "stop":
            await run_in_threadpool(editor.release)
        if name == "stop":
            await run_in_threadpool(job.stop)
        elif not job.start(name, (*JOBS[name], editor.file)):
            return refusal(409, "a command is running already; stop it first")
        return JSONResponse(job.state(), headers=NO_STORE)


# --- running a command ---


class Job:
    """The last command that was run for a table; safe to use from several threads.

    A command runs as a process of its own: it can be stopped, and cannot harm the board server.
    """

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._name = ""
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)

    def start(self, name: str, words: Sequence[str]) -> bool:
        """Run a command under a name; False where another one is still running."""
        with self._mutex:
            if self._running:
                return False
            self._name, self._lines = name, deque(maxlen=KEPT_LINES)
            self._process = subprocess.Popen(  # noqa: S603  # our own program
                [sys.executable, "-P", "-m", "vision.cli", *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                start_new_session=True,
            )
            assert self._process.stdout is not None  # noqa: S101
            out = (self._process.stdout, self._lines)
            threading.Thread(target=_listen, args=out, name="job", daemon=True).start()
            return True

    def stop(self) -> None:
        """End the running command, in order if it can."""
        process = self._process
        if process is None or process.poll() is not None:
            return
        process.terminate()
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()

    def state(self) -> dict[str, Any]:
        """Return the command's name, its lines so far, and its exit code, None while it runs."""
        with self._mutex:
            code = None if self._process is None else self._process.poll()
            return {
                "name": self._name,
                "running": self._running,
                "code": code,
                "lines": list(self._lines),
            }

    @property
    def _running(self) -> bool:
        return self._process is not None and self._process.poll() is None


def _listen(out: IO[str], lines: deque[str]) -> None:
    with out:
        for line in out:
            lines.append(line.rstrip())


# --- live picture ---


Draw = Callable[[Frame], Image]


class Viewfinder:
    """The newest picture of a table's camera, plain or drawn on; safe to use from several threads.

    The camera is opened when a picture is asked for, and closed soon after the last question. Only
    while drawn ones are asked for, pictures are drawn on by what `drawing` makes.
    """

    def __init__(
        self,
        camera: CameraSection,
        drawing: Callable[[], Draw],
        *,
        cover: Callable[[Image], Image],
    ) -> None:
        """Prepare; `cover` blacks out what lies beyond the layout."""
        self._camera = camera
        self._drawing = drawing
        self._cover = cover
        self._news = threading.Condition()
        # By whether they are drawn on: the newest picture, when it came, and when it was asked for.
        self._images: dict[bool, Image] = {}
        self._taken_s: dict[bool, float] = {}
        self._asked_s: dict[bool, float] = {}
        self._complaint = ""
        self._thread: threading.Thread | None = None

    def picture(self, *, drawn: bool = False) -> bytes:
        """Return the newest picture as JPEG; OutsideError where none comes in time."""
        covered = self._cover(self.image(drawn=drawn))
        return cv2.imencode(".jpg", covered, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])[1].tobytes()

    def release(self) -> None:
        """Close the camera, and wait until it is closed."""
        thread = self._thread
        with self._news:
            self._asked_s.clear()
        if thread is not None:
            thread.join(PICTURE_S)

    def image(self, *, drawn: bool = False) -> Image:
        """Return the newest picture; OutsideError where none comes in time."""
        with self._news:
            self._asked_s[drawn] = time.monotonic()
            if self._thread is None:
                self._complaint = ""
                self._thread = threading.Thread(target=self._look, name="viewfinder", daemon=True)
                self._thread.start()
            self._news.wait_for(lambda: self._is_new(drawn=drawn) or self._complaint, PICTURE_S)
            image = self._images[drawn] if self._is_new(drawn=drawn) else None
            complaint = self._complaint or "no picture comes"
        if image is None:
            raise OutsideError(
                f"{shown(self._camera.source)}: {complaint}; a camera on a cable serves one "
                "program at a time: stop the reader, or use the calibration picture"
            )
        return image

    def _is_new(self, *, drawn: bool) -> bool:
        return time.monotonic() - self._taken_s.get(drawn, -math.inf) < NEW_S

    def _is_wanted(self, *, drawn: bool) -> bool:
        return time.monotonic() - self._asked_s.get(drawn, -math.inf) <= OPEN_AFTER_S

    def _look(self) -> None:
        complaint = ""
        try:
            self._follow()
        except ShoeReaderError as error:
            complaint = masked(str(error))
        with self._news:
            self._thread = None
            self._complaint = complaint
            self._news.notify_all()

    def _follow(self) -> None:
        """Take pictures until nobody has asked for one for a while."""
        draw: Draw | None = None
        for seen in open_source(self._camera):
            if isinstance(seen, Shot):
                self._take(seen.frame.image, drawn=False)
                if self._is_wanted(drawn=True):
                    draw = draw or self._drawing()
                    self._take(draw(seen.frame), drawn=True)
            else:
                with self._news:
                    self._complaint = seen.reason
                    self._news.notify_all()
            if not (self._is_wanted(drawn=False) or self._is_wanted(drawn=True)):
                break

    def _take(self, image: Image, *, drawn: bool) -> None:
        with self._news:
            self._images[drawn], self._taken_s[drawn] = image, time.monotonic()
            self._news.notify_all()
