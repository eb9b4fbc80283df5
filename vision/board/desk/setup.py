"""The set-up pages of a table, for the engineer: live picture, areas on the table, check and enrol.

`SetupPages` answers the pages; `Job` runs a command of this program for a page.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from vision.board.desk.pages import Viewings
from vision.board.desk.table_editor import TableEditor
from vision.board.login.pages import LoginPages
from vision.board.login.sessions import Session
from vision.board.rights import MAY_SEE
from vision.board.web import RefusalError
from vision.config.editor import TableFile
from vision.config.profiles import DEALINGS, WagersSection, in_a_line, load_profile, profile_names
from vision.config.table import load
from vision.errors import OutsideError
from vision.record.facts import Fact

ENGINEER = MAY_SEE["setup"]
NOT_HERE = (
    "the table file is not with this board server; set the table up where it is, with "
    "shoe-reader calibrate, check and enrol"
)
# Stands for the picture in which a command draws what the reader makes of the table.
DRAWN = "DRAWN.jpg"
# The commands that a page may run, by name: the words after `shoe-reader`; the table file is last.
JOBS = {"check": ("check",), "enrol": ("enrol",), "run": ("run", "--draw", DRAWN)}
# Lines of a command's output that are kept; what an engineer scrolls through. The last ones count.
STORED_LINES = 200
# Seconds that a command has to end in order before it is killed: on a loaded machine more than 5.
END_S = 20.0
# Seconds after which an engineer who goes on looking at a picture is recorded as doing so again.
LOOKED_FOR_S = 600.0

log = logging.getLogger(__name__)

Handler = Callable[[TableEditor, Request, Session], Any]


class SetupPages:
    """The set-up pages of the tables whose files are on this machine."""

    def __init__(self, login: LoginPages, editors: Mapping[str, TableEditor]) -> None:
        self._login = login
        self._editors = dict(editors)
        self._records = login.records
        self._jobs = {table: Job() for table in editors}
        self._viewings = Viewings(login.records, Fact.LIVE_VIEW_SEEN, again_s=LOOKED_FOR_S)

    def routes(self) -> list[Route]:
        """Return the routes of the pages and of their requests."""
        page = self._login.guard_page("setup_table.html", ENGINEER)
        start = "/api/setup/{table}"
        return [
            Route("/setup/{table}", page),
            Route(f"{start}/picture/{{kind}}", self._guard(self._picture)),
            Route(f"{start}/gauges", self._guard(lambda editor, *_: editor.gauges())),
            Route(f"{start}/places", self._guard(_places)),
            Route(f"{start}/places", self._guard(self._write, change=True), methods=["POST"]),
            Route(f"{start}/house", self._guard(lambda editor, *_: house_rules(editor.file))),
            Route(f"{start}/house", self._guard(self._write_house, change=True), methods=["POST"]),
            Route(f"{start}/cards", self._guard(_look)),
            Route(f"{start}/job", self._guard(self._job)),
            Route(f"{start}/job/{{name}}", self._guard(self._run, change=True), methods=["POST"]),
        ]

    def stop(self) -> None:
        """End the commands that still run, and close the cameras."""
        for job in self._jobs.values():
            job.stop()
        for editor in self._editors.values():
            editor.viewfinder.release()

    def _guard(self, answer: Handler, *, change: bool = False) -> Any:
        def of_table(request: Request, session: Session) -> Any:
            editor = self._editors.get(request.path_params["table"])
            if editor is None:
                raise RefusalError(404, NOT_HERE)
            return answer(editor, request, session)

        return self._login.guard(of_table, ENGINEER, change=change)

    def _picture(self, editor: TableEditor, request: Request, session: Session) -> Response:
        kind, table = request.path_params["kind"], request.path_params["table"]
        if kind not in ("live", "drawn", "stored", "whole"):
            raise RefusalError(404, "there are the pictures `live`, `drawn`, `stored` and `whole`")
        self._viewings.note(session, table, f"picture {kind}")
        if kind == "drawn":
            found = self._jobs[table].picture()
        else:
            found = editor.stored() if kind == "stored" else editor.picture(whole=kind == "whole")
        return Response(found, media_type="image/jpeg")

    def _write(self, editor: TableEditor, request: Request, session: Session) -> dict[str, str]:
        stored, before, after = editor.write(request.state.fields)
        words = "%s wrote the areas of %s, now %s; the old file is kept as %s"
        log.info(words, session.name, editor.file, after, stored)
        detail = f"sha256 {before} -> sha256 {after}"
        self._fact(Fact.TABLE_FILE_CHANGED, request, session, subject=editor.file, detail=detail)
        return {"stored": stored}

    def _write_house(self, editor: TableEditor, request: Request, session: Session) -> Any:
        write_house_rules(editor.file, request.state.fields)
        log.info("%s wrote the house rules of %s", session.name, editor.file)
        detail = "house rules"
        self._fact(Fact.TABLE_FILE_CHANGED, request, session, subject=editor.file, detail=detail)
        return house_rules(editor.file)

    def _fact(self, kind: Fact, request: Request, session: Session, **what: str) -> None:
        table = request.path_params["table"]
        self._records.fact(kind, table=table, **what, **session.who)

    def _job(self, _editor: TableEditor, request: Request, _session: Session) -> dict[str, Any]:
        return self._jobs[request.path_params["table"]].state()

    def _run(self, editor: TableEditor, request: Request, session: Session) -> dict[str, Any]:
        name, job = request.path_params["name"], self._jobs[request.path_params["table"]]
        if name != "stop" and name not in JOBS:
            raise RefusalError(404, "there is no such command to run")
        self._fact(Fact.JOB_RUN, request, session, subject=name, detail=editor.file)
        log.info("%s: %s of %s", session.name, name, editor.file)
        if name == "stop":
            job.stop()
        else:
            editor.viewfinder.release()
            if not job.start(name, (*JOBS[name], editor.file)):
                raise RefusalError(409, "a command is running already; stop it first")
        return job.state()


def house_rules(file: str) -> dict[str, Any]:
    """Return the rules of a table file, a line for each that there are; `asked`: it names one."""
    config = load(Path(file), unmeasured=True)
    names = dict.fromkeys((*profile_names(), config.profile))
    return {
        "profiles": {name: in_a_line(load_profile(name)) for name in names},
        "dealings": DEALINGS,
        "profile": config.profile,
        "dealing": config.dealing,
        "asked": "profile" in TableFile(Path(file)).section(""),
        **config.wagers.model_dump(),
    }


def write_house_rules(file: str, given: Mapping[str, Any]) -> None:
    """Write those that a page sent; ConfigurationError where they are none."""
    table = TableFile(Path(file))
    table.change("", {key: given[key] for key in ("profile", "dealing") if key in given})
    table.change("wagers", {key: given.get(key) or None for key in WagersSection.model_fields})
    if table.is_changed:
        table.write()


def _places(editor: TableEditor, request: Request, _session: Session) -> dict[str, Any]:
    return editor.places(request.query_params.get("moved", ""))


def _look(editor: TableEditor, request: Request, _session: Session) -> dict[str, Any]:
    asked = request.query_params
    return editor.look(asked.getlist("without"), asked.get("size"))


class Job:
    """The last command that was run for a table; safe to use from several threads.

    A command runs as a process of its own: it can be stopped, and cannot harm the board server.
    """

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._name = ""
        self._folder = TemporaryDirectory(prefix="shoe-reader-")
        self._drawn, self._lines = (Path(self._folder.name, name) for name in (DRAWN, "lines"))
        self._lines.touch()

    @property
    def running(self) -> bool:
        """Whether a command runs."""
        return self._process is not None and self._process.poll() is None

    def picture(self) -> bytes:
        """Return the last picture that the command drew, JPEG; OutsideError where there is none."""
        if not self._drawn.exists():
            raise OutsideError("the command that runs has drawn no picture yet; wait a moment")
        return self._drawn.read_bytes()

    def start(self, name: str, words: Sequence[str]) -> bool:
        """Run a command under a name; False where another one is still running."""
        with self._mutex:
            if self.running:
                return False
            self._name = name
            self._drawn.unlink(missing_ok=True)
            words = [str(self._drawn) if word == DRAWN else word for word in words]
            with self._lines.open("wb") as lines:
                self._process = subprocess.Popen(  # noqa: S603  # our own program
                    [sys.executable, "-P", "-m", "vision.cli", *words],
                    stdin=subprocess.DEVNULL,
                    stdout=lines,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, "PYTHONUNBUFFERED": "1"},
                    start_new_session=True,
                )
            return True

    def stop(self) -> None:
        """End the running command, in order if it can."""
        process = self._process
        if process is None or not self.running:
            return
        process.terminate()
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()

    def state(self) -> dict[str, Any]:
        """Return the command's name, its lines so far, and its exit code, None while it runs."""
        with self._mutex:
            return {
                "name": self._name,
                "running": self.running,
                "code": None if self._process is None else self._process.poll(),
                "lines": self._lines.read_text("utf-8", "replace").splitlines()[-STORED_LINES:],
            }
