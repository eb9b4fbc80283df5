"""The whole way on a drawn table: frames in, durable messages out, whatever ends the run."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import re
import shutil
import signal
import socket
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import av
import cv2
import httpx
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.sight.film import UP, Eye, EyeOfMouth, Stage, deal_coup
from tests.table_log import PLAYS, events_of, header, session_of
from vision import cli
from vision.app import reader as app_module
from vision.app.journal import Journal
from vision.app.reader import TableReader, notify
from vision.app.run_log import Destinations
from vision.camera.decoding import Outage, Shot
from vision.commands import demo
from vision.commands.printing.console import Console
from vision.config.table import TableConfig, load, with_source
from vision.errors import ConfigurationError, OutsideError
from vision.game.cards import parse_cards
from vision.game.events import Event, ShoeStarted, Started, Stopped
from vision.game.outputs import AlertChanged
from vision.inference.load import ModelSet
from vision.record.facts import Recorded
from vision.sight.drawing import HAND, READ, STRIP_PX
from vision.sight.geometry.plane import Frame
from vision.storage.log import Entry, Store
from vision.storage.log_reader import message_lines
from vision.wire.messages import message_line
from vision.wire.session import Step, advance

FPS = 15
START = 90  # pictures in which three cards leave and come to lie, before which nothing is believed
# The fifth card goes to Punto: due with 4 against 7, not due with 7 against 7.
LEGAL = "As Kd 3c 7h 9d"
OVER_DRAW = "Ks 3d 7c 4h 3s"
TABLE = """
site = "test"
table = "7"
[camera]
source = "frames"
width = 640
height = 360
fps = 15.0
[view]
image_px = [[60, 20], [590, 26], [630, 345], [12, 340]]
table_mm = [[0, 0], [1400, 0], [1400, 700], [0, 700]]
mouth_mm = {mouth}
discard_mm = {discard}
[view.slots_mm]
{slots}
[broker]
kind = "none"
[log]
path = "table.sqlite"
"""


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Eye]:
    """Film one legal coup and one over-draw as a folder of frames with a table file."""
    folder = tmp_path_factory.mktemp("film")
    (folder / "frames").mkdir()
    stage = Stage(fps=FPS)
    eye = Eye(stage)
    script = itertools.chain(
        stage.wait(500),
        deal_coup(stage, parse_cards(LEGAL), UP),
        deal_coup(stage, parse_cards(OVER_DRAW), UP),
    )
    for _ in script:
        frame = stage.picture()
        eye.remember(frame.image)
        cv2.imwrite(str(folder / "frames" / f"{frame.index:05}.png"), frame.image)
    (folder / "table.toml").write_text(table_file(stage), "utf-8")
    return folder, eye


def table_file(stage: Stage) -> str:
    """Return the table file of the drawn table."""
    view = stage.view
    slots = "\n".join(f"{slot.name} = {area.tolist()}" for slot, area in view.slots.items())
    assert view.discard is not None
    places = {"mouth": view.mouth.tolist(), "discard": view.discard.tolist()}
    return TABLE.format(slots=slots, **places)


@pytest.fixture(scope="module")
def eyes(film: tuple[Path, Eye]) -> Iterator[ModelSet]:
    """Let the app see with the perfect eye instead of with models."""
    found = film[1].models()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app_module, "models_of", lambda _: found)
        patch.setattr("vision.app.pipeline.MouthSight", EyeOfMouth)
        yield found


@pytest.fixture(scope="module")
def config(film: tuple[Path, Eye], eyes: ModelSet) -> TableConfig:
    """Return the settings of the filmed table."""
    return load(film[0] / "table.toml")


@pytest.fixture(scope="module")
def done(
    config: TableConfig, film: tuple[Path, Eye], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, str]:
    """Run the command over the whole film once; return its folder and what it printed."""
    folder = tmp_path_factory.mktemp("done")
    words = ["run", str(film[0] / "table.toml"), "--fast", "--no-broker"]
    words += ["--log", str(folder / "log.sqlite")]
    reported = io.StringIO()
    with contextlib.redirect_stdout(reported):
        assert cli.main(words) == 0
    return folder, reported.getvalue()


@pytest.fixture(scope="module")
def start(config: TableConfig, tmp_path_factory: pytest.TempPathFactory) -> TableConfig:
    """Return the settings with only the first frames of the film as source."""
    folder = tmp_path_factory.mktemp("start")
    for source in sorted(Path(config.camera.source).iterdir())[:START]:
        shutil.copy(source, folder)
    return with_source(config, str(folder))


class Listening(Console):
    """Prints a run, and has its messages, a line each."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def take(self, step: Step) -> None:
        """Take what a step came to."""
        super().take(step)
        self.lines += map(message_line, step.messages)


def run(config: TableConfig, folder: Path, **changes: Any) -> list[dict[str, Any]]:
    """Run the reader over the film and return its messages."""
    listening, to = Listening(), Destinations(folder / "log.sqlite", publish=False)
    TableReader(config, to, listening, speed=0, **changes).run()
    return [json.loads(line) for line in listening.lines]


def said(folder: Path) -> list[dict[str, Any]]:
    """Return the messages of the log in a folder."""
    return [json.loads(line) for line in message_lines(folder / "log.sqlite")]


def of(messages: list[dict[str, Any]], topic: str) -> list[dict[str, Any]]:
    """Return the payloads of one topic."""
    return [m["payload"] for m in messages if m["topic"] == f"casino/test/table/7/{topic}"]


def test_run_dealt_coups_come_out_as_dealt(done: tuple[Path, str]) -> None:
    """A legal coup gives its result without fault; an over-draw is told and holds the result."""
    messages = said(done[0])
    legal = next(r for r in of(messages, "coup/result") if r["coup"] == 1)
    assert legal["state"] == "final"
    assert [legal["punto"]["cards"], legal["banco"]["cards"]] == expected(LEGAL)
    assert legal["faults"] == []
    assert {alert["coup"] for alert in of(messages, "alert")} == {2}
    assert "OVER_P3_STAND" in {alert["code"] for alert in of(messages, "alert")}
    assert of(messages, "coup/result")[-1]["state"] == "held"
    assert [status["state"] for status in of(messages, "status")] == ["online", "stopped"]
    numbers = [m["payload"]["seq"] for m in messages]
    assert numbers == sorted(set(numbers))


def expected(cards: str) -> list[list[str]]:
    """Return both hands of a coup whose fifth card went to the third place of Punto."""
    faces = cards.split()
    return [[faces[0], faces[2], *faces[4:]], [faces[1], faces[3]]]


def test_run_replay_of_its_log_gives_the_same_bytes(
    start: TableConfig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log alone is enough to say again what was said."""
    listening, log = Listening(), tmp_path / "log.sqlite"
    TableReader(start, Destinations(log, publish=False), listening, speed=0).run()
    capsys.readouterr()
    assert cli.main(["replay", str(log)]) == 0
    assert capsys.readouterr().out.splitlines() == listening.lines != []


def test_run_command_prints_coups_alerts_and_figures(done: tuple[Path, str]) -> None:
    """`run` says what happens as it happens, and how fast it was."""
    reported = done[1]
    assert "coup   1  Banco          3:7  Punto As 3c 9d   Banco Kd 7h" in reported
    assert "coup 2: Check card. No card due to Punto (Punto 7, Banco 7)." in reported
    assert "frames in" in reported
    assert "10 cards out, 10 read, 0 declined" in reported


def test_run_draw_films_every_picture_and_changes_nothing_else(
    start: TableConfig, film: tuple[Path, Eye], tmp_path: Path
) -> None:
    """`--draw` writes as many pictures as the source has; cards come out as without it."""
    plain = of(run(start, tmp_path), "card")
    out, log = tmp_path / "out.mp4", tmp_path / "drawn.sqlite"
    words = ["run", str(film[0] / "table.toml"), "--source", start.camera.source, "--fast"]
    words += ["--no-broker", "--log", str(log)]
    assert cli.main([*words, "--draw", str(out)]) == 0
    drawn = of([json.loads(line) for line in message_lines(log)], "card")
    reported = [
        [(card["event"], card["order"], card["slot"]) for card in c] for c in (plain, drawn)
    ]
    assert reported[0] == reported[1] != []
    with av.open(out) as container:
        pictures = [frame.to_ndarray(format="bgr24") for frame in container.decode(video=0)]
    assert len(pictures) == START
    assert pictures[0].shape == (540 + STRIP_PX, 960, 3)
    hands = [near(picture, HAND) for picture in pictures]
    lying = [near(picture, READ) for picture in pictures]
    # The hand comes and goes; a card lies there at the end. The legend has its colours from on.
    assert max(hands) > hands[0] + 200
    assert lying[-1] > lying[0] + 200


def near(picture: NDArray[Any], colour: tuple[int, int, int]) -> int:
    """Return how many pixels of a picture have a colour, as a film keeps it."""
    return int((np.abs(picture.astype(int) - colour).max(axis=2) < 40).sum())


def test_run_draw_onto_a_film_that_is_there_is_refused(
    film: tuple[Path, Eye], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No film is overwritten, and nothing is begun: the message says what to do."""
    out = tmp_path / "out.mp4"
    out.write_bytes(b"precious")
    words = ["run", str(film[0] / "table.toml"), "--fast", "--no-broker", "--draw", str(out)]
    assert cli.main([*words, "--log", str(tmp_path / "log.sqlite")]) == 2
    assert "is there already and is not overwritten" in capsys.readouterr().err
    assert out.read_bytes() == b"precious"
    assert list(tmp_path.iterdir()) == [out]


def test_run_again_goes_on_with_numbers_and_begins_a_shoe(
    start: TableConfig, tmp_path: Path
) -> None:
    """A second run on the same log continues the numbers of messages, in a new shoe."""
    first = run(start, tmp_path)
    second = run(start, tmp_path, new_shoe=True)
    assert second[0]["payload"]["seq"] == first[-1]["payload"]["seq"] + 1
    assert second[0]["payload"]["boot"] != first[0]["payload"]["boot"]
    shoes = [of(messages, "shoe")[-1] for messages in (first, second)]
    assert shoes[0]["cards_out"] == shoes[1]["cards_out"] > 0
    assert shoes[0]["shoe"] != shoes[1]["shoe"]


def test_run_again_live_goes_on_with_the_shoe(start: TableConfig, tmp_path: Path) -> None:
    """After a restart at a live table the shoe and its count of cards go on."""
    first, second = (run(start, tmp_path) for _ in range(2))
    orders = [
        [card["order"] for card in of(messages, "card") if card["event"] in {"out", "found"}]
        for messages in (first, second)
    ]
    assert max(orders[0]) + 1 == min(orders[1])
    assert len(of(first, "shoe")) > len(of(second, "shoe"))


def test_run_camera_lost_is_reported_once_and_mended(
    start: TableConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An outage makes the reader blind until the next picture, and is said once."""
    image = cv2.imread(str(min(Path(start.camera.source).iterdir())))
    shots = [
        Shot(Frame(image, 1000, 0), 0.0),  # type: ignore[arg-type]
        *(Outage(1100 + 100 * i, "camera lost") for i in range(5)),
        Shot(Frame(image, 2000, 1), 0.0),  # type: ignore[arg-type]
    ]
    monkeypatch.setattr(app_module, "open_source", lambda *_, **__: iter(shots))
    states = [status["state"] for status in of(run(start, tmp_path), "status")]
    assert states == ["online", "blind", "online", "stopped"]


def test_run_source_that_breaks_ends_in_order(start: TableConfig, tmp_path: Path) -> None:
    """What was read before a fault is told, the run is closed, and the fault is passed on."""
    broken = tmp_path / "broken"
    shutil.copytree(start.camera.source, broken)
    (broken / "99999.png").write_bytes(b"no picture")
    with pytest.raises(OutsideError, match=r"99999\.png"):
        run(with_source(start, str(broken)), tmp_path)
    assert of(said(tmp_path), "status")[-1]["state"] == "stopped"


def test_run_picture_of_another_size_is_refused(config: TableConfig, tmp_path: Path) -> None:
    """A picture that does not fit the calibration is refused, never read."""
    other = tmp_path / "other"
    other.mkdir()
    cv2.imwrite(str(other / "0.png"), cv2.UMat(480, 640, cv2.CV_8UC3).get())
    with pytest.raises(ConfigurationError, match=r"640 x 480 px.*640 x 360"):
        run(with_source(config, str(other)), tmp_path)


def shown(monkeypatch: pytest.MonkeyPatch, film: Path, truth: dict[str, Any]) -> None:
    """Give the demo a film that is its own."""
    (film / "truth.json").write_text(json.dumps(truth), "utf-8")
    monkeypatch.setattr(demo, "FILM", film)


def test_demo_ends_by_itself_and_compares_with_what_was_dealt(
    film: tuple[Path, Eye],
    eyes: ModelSet,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The demo runs broker, board and reader, on ports of its own, and tells how it went."""
    coups = [
        {"coup": number, "winner": "banco", "punto": hands[0], "banco": hands[1]}
        for number, hands in enumerate((expected(LEGAL), expected(OVER_DRAW)), start=1)
    ]
    shown(monkeypatch, film[0], {"frames": 323, "fps": FPS, "coups": coups})
    assert cli.main(["demo", "--fast"]) == 0
    printed = capsys.readouterr().out
    assert "mosquitto_sub -p 1883 " not in printed
    assert "password " in printed
    assert "1 read as dealt, 1 openly held, 0 wrong" in printed


def test_demo_in_a_terminal_deals_shoe_after_shoe_until_ctrl_c(
    start: TableConfig,
    film: tuple[Path, Eye],
    eyes: ModelSet,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It says first what there is to try, and goes on by itself; its reports are there."""
    shutil.copy(film[0] / "table.toml", tmp_path)
    (tmp_path / "frames").symlink_to(start.camera.source)
    rounds, looked = [], []
    deal = demo._round

    def deal_and_press_ctrl_c(*given: Any) -> None:
        deal(*given)
        rounds.append(given)
        if len(rounds) == 2:
            printed = capsys.readouterr().out
            assert printed.lstrip().startswith("Three things to try:")
            url = re.findall(r"the reports: (http\S+)", printed)[-1]
            looked.append(httpx.get(url, follow_redirects=True).text)
            raise KeyboardInterrupt

    shown(monkeypatch, tmp_path, {"frames": 45, "fps": FPS, "coups": []})
    monkeypatch.setattr(demo, "_round", deal_and_press_ctrl_c)
    assert cli.main(["demo", "--fast", "--loop"]) == 0
    assert "Log in" in looked[0]
    assert len(rounds) == 2


def test_film_waits_at_a_mis_deal_until_it_is_closed(
    film: tuple[Path, Eye], eyes: ModelSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The picture stands, its time goes on, and once the alert is closed the next one comes."""
    monkeypatch.setattr(demo, "STEP_MS", 1)
    waits = iter([False, True, True, False, False])
    onlooker = patient()
    monkeypatch.setattr(onlooker, "waits", lambda: next(waits))
    still = np.zeros((4, 4, 3), np.uint8)
    shots = (Shot(Frame(still, 1000 + 40 * n, n), 0.0) for n in range(3))
    played = [one.frame for one in demo._played(shots, 0.0, onlooker) if isinstance(one, Shot)]
    assert [frame.index for frame in played] == [0, 1, 1, 1, 2]
    assert [frame.at for frame in played] == [1000, 1040, 1041, 1042, 1082]


def test_film_waits_for_a_minute_after_the_last_thing_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An alert that asks for a person stops the film; closing it, or nobody, lets it go on."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    onlooker = patient()
    steps = [
        step
        for step in _steps(PLAYS["overdraw"]().events)
        if any(isinstance(output, AlertChanged) for output in step.outputs)
    ]
    onlooker.take(steps[0])
    assert onlooker.waits()
    now[0] += demo.WAIT_S - 1
    onlooker.take(steps[1])
    now[0] += demo.WAIT_S - 1
    assert onlooker.waits()
    now[0] += 2
    assert not onlooker.waits()
    assert "the film goes on" in capsys.readouterr().out
    onlooker = patient()
    for step in steps:
        onlooker.take(step)
    assert not onlooker.waits()


def patient() -> demo._Onlooker:
    """Return who follows the demo for somebody at a terminal."""
    onlooker = demo._Onlooker()
    onlooker.patient = True
    return onlooker


def _steps(events: Iterable[Event]) -> Iterator[Step]:
    desk = session_of(header())
    for event in events:
        step = advance(desk, event)
        desk = step.session
        yield step


def test_journal_log_of_another_table_is_refused(config: TableConfig, tmp_path: Path) -> None:
    """Two tables never write into one log."""
    Journal(config, Destinations(tmp_path / "a.sqlite", publish=False)).close()
    other = config.model_copy(update={"table": "8"})
    with pytest.raises(ConfigurationError, match="another table"):
        Journal(other, Destinations(tmp_path / "a.sqlite", publish=False))


def test_end_that_comes_while_the_log_is_written_loses_nothing(
    config: TableConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal between the disk and the memory of it: the run ends in order, all is in the log."""
    written = Store.append

    def append(store: Store, entries: Sequence[Entry], *confirm: None) -> None:
        written(store, entries, *confirm)
        signal.raise_signal(signal.SIGINT)

    path = tmp_path / "a.sqlite"
    with Journal(config, Destinations(path, publish=False)) as journal:
        journal.start(1000, "boot", ())
        with monkeypatch.context() as patch:
            patch.setattr(Store, "append", append)
            with pytest.raises(KeyboardInterrupt):
                journal.take([ShoeStarted(2000, "a")])
        journal.stop(3000)
        assert journal.table.shoe.name == "a"
        header = journal._store.header
    with Store(path, header) as store:
        kinds = [type(event) for event in events_of(store)]
    assert [kind for kind in kinds if kind is not Recorded] == [Started, ShoeStarted, Stopped]


def test_run_reports_to_systemd_that_it_is_ready_alive_and_stopping(
    start: TableConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A unit of `Type=notify` with a watchdog hears what it waits for."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        monkeypatch.setenv("NOTIFY_SOCKET", manager.getsockname())
        heard: list[bytes] = []
        listener = threading.Thread(target=_hear, args=(manager, heard), daemon=True)
        listener.start()
        run(start, tmp_path)
        listener.join(10)
    assert heard[0] == b"READY=1"
    assert heard[-1] == b"STOPPING=1"
    assert {*heard[1:-1]} == {b"WATCHDOG=1"}


def _hear(manager: socket.socket, heard: list[bytes]) -> None:
    """Take reports until the last: the system keeps ten, and a slow run sends more."""
    while not heard or heard[-1] != b"STOPPING=1":
        heard.append(manager.recv(100))


def test_manager_that_reads_nothing_holds_up_no_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Reports that nobody takes are dropped once the queue is full, and that is said."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        monkeypatch.setenv("NOTIFY_SOCKET", manager.getsockname())
        for _ in range(1000):
            notify("WATCHDOG=1")
        assert manager.recv(100) == b"WATCHDOG=1"
    assert "systemd does not receive" in caplog.text


def test_run_whose_manager_is_gone_goes_on(
    start: TableConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody listens, the table is read all the same."""
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "gone"))
    assert of(run(start, tmp_path), "status")[-1]["state"] == "stopped"
