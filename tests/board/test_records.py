"""What must stand in the tables' logs gets there, whatever happens meanwhile."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from tests.board.hall import opened, with_board
from tests.browser.people import PASSWORD, house_of_people, with_desk
from tests.browser.voice import Reader, table_config, wait_for
from tests.mqtt.mqtt_tools import free_port
from vision.access.users import load_users, save_users
from vision.board import orders as records
from vision.board.desk import pages
from vision.board.host import boards as boards_app
from vision.board.host.boards import Boards, address_of
from vision.board.login.passwords import save_password
from vision.board.orders import Listener, Order
from vision.files import WatchedFile
from vision.game.commands import SignIn
from vision.mqtt.embedded_broker import EmbeddedBroker
from vision.record.codec import canonical
from vision.record.facts import Fact
from vision.wire.commands import TOO_MANY

PICTURE = "evidence/s1-1-P1-deadbeef"


def test_log_in_while_the_reader_is_off_outlives_a_restart_of_the_board(tmp_path: Path) -> None:
    """The record is on the disk before the page is handed out, and gets there in the end."""
    users, key = house_of_people(tmp_path)
    with EmbeddedBroker(0) as broker:
        config = with_board(with_desk(table_config(broker.port), users, key), port=free_port())
        with Boards([config], address_of(config)) as boards:
            body = {"name": "Ann", "password": PASSWORD}
            assert httpx.post(f"{boards.server.url}login", json=body).status_code == 200
        reader = Reader(broker.port, "7", users)
        with reader.beating(), Boards([config], address_of(config)):
            wait_for(lambda: [one for one in reader.events if isinstance(one, SignIn)])
        reader.hang_up()
    assert [(one.by, one.accepted) for one in reader.events if isinstance(one, SignIn)] == [
        ("Ann", True)
    ]


def test_record_that_is_refused_is_kept_and_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A users file that is broken for a while loses no log-in."""
    monkeypatch.setattr(records, "REFUSED_RETRY_S", 0.5)
    with opened(tmp_path) as hall:
        desk = load_users(hall.folder / "users.json")
        file = hall.folder / "reader-users.json"
        save_users(file, desk.without("desk-1"))
        hall.reader._gate._file = WatchedFile(
            file, load_users
        )  # the reader's own copy of the users
        with hall.client("Ann"):
            wait_for(lambda: "refused by its table" in caplog.text)
            assert hall.recorded("SignIn") == []
            save_users(file, desk)
            wait_for(lambda: hall.recorded("SignIn"))


def test_nobody_is_logged_in_unrecorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a record cannot be kept, there is no page."""
    monkeypatch.setattr(records, "LIMIT", 0)
    with opened(tmp_path) as hall, hall.client() as client:
        answer = hall.log_in(client, "Ann")
        assert (answer.status_code, "records wait" in answer.text) == (503, True)
        assert client.get("me").status_code == 401


def test_picture_is_recorded_as_seen_once_in_a_session(tmp_path: Path) -> None:
    """Who looked at which picture stands in the log of its table."""
    with opened(tmp_path) as hall:
        hall.reader.show(PICTURE, b"\xff\xd8 a picture")
        with hall.client("Cy") as client:
            wait_for(lambda: client.get(f"api/media/7/{PICTURE}").status_code == 200)
            client.get(f"api/media/7/{PICTURE}")
            wait_for(lambda: hall.recorded("picture_seen"))
            with hall.client("Ann") as other:
                other.get(f"api/media/7/{PICTURE}")
            wait_for(lambda: len(hall.recorded("picture_seen")) == 2)
    seen = [(one.by, one.role, one.subject) for one in hall.recorded("picture_seen")]
    assert seen == [("Cy", "surveillance", PICTURE), ("Ann", "inspector", PICTURE)]


def test_results_are_recorded_as_seen_once_in_a_session(tmp_path: Path) -> None:
    """Who sees a shoe's results, or those of all, may key them: it stands in the table's log."""
    with opened(tmp_path) as hall, hall.client("Cy") as client:
        for path in ("api/history/7/s1", "api/history/7/s1/3", "api/history/7", "api/search"):
            client.get(path)
            client.get(path)
        wait_for(lambda: len(hall.recorded("results_seen")) == 3)
    seen = [(one.by, one.role, one.subject) for one in hall.recorded("results_seen")]
    assert seen == [("Cy", "surveillance", subject) for subject in ("s1", "", "")]


def test_results_of_a_table_that_is_none_are_refused(tmp_path: Path) -> None:
    """No record can be kept of who sees them, and there are none."""
    with opened(tmp_path) as hall, hall.client("Ann") as client:
        for path in ("api/history/8", "api/history/8/s1", "api/history/8/s1/3"):
            assert client.get(path).status_code == 404


def test_archives_are_made_one_at_a_time_and_too_many_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many are asked for at once, the pages share the processor with one only."""
    gate, at_work, most = threading.Event(), threading.Semaphore(0), []

    def export(_desk: object, _table: str, _shoe: str, _coup: int, out: Path) -> None:
        at_work.release()
        gate.wait(20)
        most.append(sum(1 for _ in iter(lambda: at_work.acquire(blocking=False), False)))
        out.write_bytes(b"archive")

    monkeypatch.setattr(boards_app._DeskServer, "_export", export)
    with opened(tmp_path) as hall, hall.client("Cy") as client:
        asked = pages.EXPORTS_ASKED + 3
        with ThreadPoolExecutor(asked) as pool:
            answers = [pool.submit(client.get, f"api/export/7/s1/{n}") for n in range(asked)]
            wait_for(lambda: sum(answer.done() for answer in answers) == 3)
            gate.set()
            codes = sorted(answer.result().status_code for answer in answers)
    assert codes == [200] * pages.EXPORTS_ASKED + [429] * 3
    assert most == [1] * pages.EXPORTS_ASKED


def test_password_changed_beside_the_server_is_recorded(tmp_path: Path) -> None:
    """Whose password it is stands in the log; a restart in between changes nothing."""
    with opened(tmp_path, board={"port": free_port()}) as hall:
        with hall.client():
            wait_for(lambda: _knows(hall.boards))
        save_password(hall.passwords, "Bo", PASSWORD + " anew")
        wait_for(lambda: hall.recorded("password_changed"))
    assert [(one.subject, one.detail) for one in hall.recorded("password_changed")] == [
        ("Bo", "changed")
    ]


def _knows(boards: Boards) -> bool:
    """Whether the server has taken note of the passwords as they are."""
    assert boards.desk is not None
    found = boards.desk._records._store.execute("SELECT count(*) FROM known").fetchone()
    return bool(found[0] >= 8)


def test_fact_about_who_is_no_user_any_more_names_them_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader refuses names that are no users; the fact gets there all the same."""
    monkeypatch.setattr(records, "REFUSED_RETRY_S", 0.2)
    with opened(tmp_path) as hall:
        hall.reader.show(PICTURE, b"\xff\xd8 a picture")
        everybody = load_users(hall.folder / "users.json")
        file = hall.folder / "reader-users.json"
        save_users(file, everybody.without("Cy"))
        hall.reader._gate._file = WatchedFile(file, load_users)
        with hall.client("Cy") as client:
            wait_for(lambda: client.get(f"api/media/7/{PICTURE}").status_code == 200)
            wait_for(lambda: hall.recorded("picture_seen"))
    seen = hall.recorded("picture_seen")[0]
    assert (seen.by, seen.detail) == ("", "Cy (surveillance, no user any more)")


def test_record_that_somebody_put_into_the_file_is_not_signed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Who can write the desk's file, and has no key, gives no order by it and changes no fact."""
    fields = {"by": "Ann", "role": "inspector", "coup": 1, "reason": "mine"}
    with opened(tmp_path) as hall:
        assert hall.boards.desk is not None
        file = hall.boards.desk._records
        file.fact(Fact.JOB_RUN, table="7", subject="first", by="Ann", role="inspector")
        wait_for(lambda: hall.recorded("job_run"))
        away = Line()
        away.connected = False
        line, file._feed = file._feed, cast(Any, away)
        file.fact(Fact.JOB_RUN, table="7", subject="true", by="Ann", role="inspector")
        with file._mutex, file._store as db:
            query = "SELECT fields FROM record WHERE fields LIKE '%true%'"
            ((text,),) = db.execute(query).fetchall()
            copied = [("r2", "7", "void_coup", text), ("r3", "7", "record", text)]
            plain = [("r4", "7", "void_coup", json.dumps(fields)), ("r5", "7", "record", "[")]
            other = text.replace('"true"', '"forged"')
            db.executemany("INSERT INTO record VALUES (?, ?, ?, ?)", [*copied, *plain])
            db.execute("INSERT INTO record VALUES ('r6', '7', 'record', ?)", (other,))
        file._feed = line
        wait_for(lambda: len(hall.recorded("job_run")) == 2)
        wait_for(lambda: caplog.text.count("not by this desk") == 5)
    assert [one.subject for one in hall.recorded("job_run")] == ["first", "true"]
    assert hall.recorded("VoidCoup") == []


class Line:
    """The orders of a desk, and the feed of one table, with nobody behind them."""

    tables = ("7",)
    connected = True

    def __init__(self) -> None:
        self.feed = self
        self.sent: list[str] = []
        self.listeners: list[Listener] = []

    def hear(self, ref: str, answer: dict[str, object]) -> None:
        """Tell who listens of an answer."""
        for listener in self.listeners:
            listener(ref, answer)

    def seal(self, order: Order) -> str:
        """Sign nothing."""
        return canonical(["", order.fields])

    def silent_s(self, _table: str) -> float:
        """Say that the table speaks."""
        return 0.0

    def send(self, order: Order) -> None:
        """Keep what was sent while somebody listens."""
        if self.connected:
            self.sent.append(order.ref)


def test_table_is_sent_no_more_than_it_takes_and_the_rest_in_order(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What is refused because too much waits is sent again soon, and is nobody's fault."""
    monkeypatch.setattr(records, "RETRY_S", 0.3)
    monkeypatch.setattr(records, "LOOK_S", 0.02)
    line = Line()
    kept = records.Records(cast(Any, line), None)
    for number in range(3 * records.AT_ONCE):
        kept.fact(Fact.ACCEPTANCE_SET, detail=str(number))
    assert len(line.sent) == records.AT_ONCE
    busy, *others = list(line.sent)
    line.hear(busy, {"accepted": False, "why": TOO_MANY})
    for ref in others:
        line.hear(ref, {"accepted": True})
    assert kept.waiting == 2 * records.AT_ONCE + 1
    kept.start()
    heard = {busy, *others}
    while len(heard) < 3 * records.AT_ONCE:
        wait_for(lambda: {*line.sent} - heard)
        for ref in {*line.sent} - heard:
            heard.add(ref)
            line.hear(ref, {"accepted": True})
    wait_for(lambda: line.sent.count(busy) > 1)
    line.hear(busy, {"accepted": True})
    assert kept.waiting == 0
    kept.stop()
    assert "refused" not in caplog.text


def test_record_made_before_the_broker_is_there_is_sent_once_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It does not wait as one that was sent and not answered."""
    monkeypatch.setattr(records, "LOOK_S", 0.02)
    line = Line()
    line.connected = False
    kept = records.Records(cast(Any, line), None)
    kept.fact(Fact.ACCEPTANCE_SET, detail="1")
    kept.start()
    line.connected = True
    wait_for(lambda: line.sent, seconds=records.RETRY_S / 2)
    kept.stop()
