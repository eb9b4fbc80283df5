"""Pictures are kept before the message of what they prove, and clips hold the last seconds."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from tests.app.films import pace_of, pictures_of
from tests.chaos.table import config_of, filmed
from tests.schemas import check
from tests.table_log import NOON, PLAYS, Play, header, overdraw, session_of
from vision.app.evidence import (
    FILM_BYTES,
    ClipBuffer,
    Crop,
    EvidenceRecorder,
    wanted_names,
    write_film,
)
from vision.app.run_log import event_of, fold
from vision.cli import main
from vision.config.table import EvidenceSection, ViewSection
from vision.files import WriteError
from vision.game.commands import CloseAlert, HoldResult
from vision.game.coup import state as game
from vision.game.events import Event, Noticed, Role, ShoeStarted, Slot
from vision.game.fold.step import step as fold_step
from vision.game.outputs import Output
from vision.record.facts import EvidenceKept, Medium
from vision.sight.geometry.plane import Frame, Image
from vision.storage.evidence import EvidenceStore, Why, file_name, folder_of
from vision.storage.log import Entry, Store
from vision.wire import messages, session
from vision.wire.messages import Message, MessageStream
from vision.wire.session import STILLS_REMEMBERED, TableSession, advance

SIZE = (320, 240)
MOST_BYTES = 4_000_000
FRAME_MS = 100
VIEW = ViewSection(
    image_px=((20, 20), (300, 20), (300, 220), (20, 220)),
    table_mm=((0, 0), (1400, 0), (1400, 1000), (0, 1000)),
    slots_mm={slot.name: ((600, 400), (700, 400), (700, 500)) for slot in Slot},  # type: ignore[misc]
    mouth_mm=((1200, 100), (1300, 100), (1300, 200)),
)
KEPT = EvidenceKept(NOON, "s1-2-a1", Medium.STILL, "s1", 2, "", 0, None, "a1")


def picture(number: int) -> Image:
    """Draw a picture that differs from the one before."""
    image = np.full((SIZE[1], SIZE[0], 3), 90, np.uint8)
    cv2.putText(image, str(number), (90, 130), cv2.FONT_HERSHEY_SIMPLEX, 2, (255, 255, 255), 3)
    return image


class Table:
    """A table whose camera takes ten pictures a second, and whose reader keeps evidence."""

    def __init__(self, folder: Path, settings: EvidenceSection | None = None) -> None:
        self.log = folder / "t.sqlite"
        config = filmed(config_of(1), SIZE, settings or EvidenceSection())
        self.recorder = EvidenceRecorder(config.model_copy(update={"view": VIEW}), self.log)
        self.desk = session_of(header())
        self.messages: list[Message] = []
        self.events: list[Event] = []
        self._next_at = NOON

    def play(self, events: Sequence[Event]) -> Table:
        """Let events happen while the camera runs, and write the log."""
        with Store(self.log, header()) as store:
            for event in events:
                self.look_until(event.at, store)
                self._take([event, *self.recorder.reports(event.at)], store)
            self._take(self.recorder.finish(self._next_at), store)
        return self

    def look_until(self, at: int, store: Store) -> None:
        """Take the pictures up to a moment."""
        while self._next_at <= at:
            number = (self._next_at - NOON) // FRAME_MS
            self.recorder.look(Frame(picture(number), self._next_at, number))
            self._take(self.recorder.ended(self._next_at), store)
            self._next_at += FRAME_MS

    def _take(self, events: Sequence[Event], store: Store) -> None:
        for item, step in fold(self.desk, events, self.recorder):
            event = event_of(item)
            self.desk = step.session
            self.events.append(event)
            self.messages += step.messages
            store.append([Entry(event, step.messages)])

    def kept(self) -> list[EvidenceKept]:
        """Return the evidence in the order in which it was kept."""
        return [event for event in self.events if isinstance(event, EvidenceKept)]


@pytest.fixture(scope="module")
def dealt(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Give a table at which Banco was given a card that was not due."""
    return Table(tmp_path_factory.mktemp("dealt")).play(overdraw().events)


def level(message: Message) -> str:
    """Return a topic without the table's prefix."""
    return message.topic.split("/", 4)[4]


def test_everything_named_in_an_alert_was_published_before_it(dealt: Table) -> None:
    """An alert at warning or above names a still and a clip that have gone before it."""
    reported: set[str] = set()
    loud = 0
    for message in dealt.messages:
        name = level(message)
        content = json.loads(message.payload or b"{}")
        if name.split("/")[0] == "alert" and content:
            assert set(content["evidence"]) <= reported
            if name == "alert" and content["severity"] in ("warning", "critical"):
                loud += 1
                kinds = {topic.split("/")[0] for topic in content["evidence"]}
                assert kinds == {"evidence", "clip"}
        reported.add(name)
    assert loud >= 1


def test_doubt_about_the_reader_has_its_picture_and_clip(tmp_path: Path) -> None:
    """`REVIEW` is only advisory, and is judged by its pictures."""
    play = Play().begin().card("P1:9c")
    table = Table(tmp_path).play(play.then(*play.sight.doubt(play.at, "why")).events)
    assert {stored.medium for stored in table.kept() if stored.alert} == {Medium.STILL, Medium.CLIP}


def test_every_card_read_has_its_still_before_it_is_reported(dealt: Table) -> None:
    """The picture of a reading is on the disk and numbered before the reading."""
    orders = [json.loads(m.payload) for m in dealt.messages if level(m) in ("card", "evidence")]
    shown: set[int] = set()
    for content in orders:
        if content.get("kind") == "still" and content["alert"] is None:
            shown.add(content["order"])
        elif content.get("event") == "read":
            assert content["order"] in shown
    assert len(shown) == 10


def test_messages_of_evidence_keep_to_the_contract(dealt: Table) -> None:
    """Numbers rise by one, also over pictures, and each announcement follows its picture."""
    assert [m.seq for m in dealt.messages] == list(range(1, len(dealt.messages) + 1))
    for before, message in itertools.pairwise(dealt.messages):
        check(message)
        if level(message) == "evidence":
            assert level(before) == json.loads(message.payload)["topic"]


def test_files_are_what_the_log_says(dealt: Table) -> None:
    """Each piece lies under its name with its hash; nothing half written is left."""
    folder = folder_of(dealt.log)
    names = {file_name(stored) for stored in dealt.kept()}
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*.*")} == names
    for stored in dealt.kept():
        content = (folder / file_name(stored)).read_bytes()
        assert hashlib.sha256(content).hexdigest() == stored.sha256
        assert len(content) == stored.size


def test_clip_begins_before_its_alert_and_is_completed_after(dealt: Table) -> None:
    """The clip named in the alert ends with it; the whole follows under the same id."""
    first, whole = [stored for stored in dealt.kept() if stored.medium is Medium.CLIP][:2]
    assert (first.id, first.complete, whole.id, whole.complete) == (whole.id, False, first.id, True)
    assert 2900 <= whole.at - first.at <= 3100
    films = [(folder_of(dealt.log) / file_name(stored)).read_bytes() for stored in (first, whole)]
    before, both = (pictures_of(film) for film in films)
    assert both[: len(before)] == before
    assert len(before) / pace_of(films[0]) == pytest.approx(3.0, abs=0.3)
    assert len(both) / pace_of(films[1]) == pytest.approx(6.0, abs=0.3)


def clips(table: Table) -> list[EvidenceKept]:
    """Return the two clips of the first alert: up to it, and whole."""
    return [stored for stored in table.kept() if stored.medium is Medium.CLIP][:2]


def test_clip_up_to_its_alert_goes_once_the_whole_is_there(tmp_path: Path) -> None:
    """Nothing is on the disk twice, but for as long as it may still have to be sent."""
    table = Table(tmp_path).play(overdraw().events)
    first, whole = clips(table)
    day = file_name(first)[:10]
    assert table.recorder.doomed(NOON, wanted=(), before_day=day) == ()
    doomed = table.recorder.doomed(NOON, wanted=("s1-2-",), before_day="9999")
    assert {piece.why for piece in doomed} == {Why.REPLACED}
    assert [piece.name for piece in doomed] == [file_name(first)]
    table.recorder.delete(doomed)
    there = [(folder_of(table.log) / file_name(kept)).exists() for kept in (first, whole)]
    assert there == [False, True]
    assert table.recorder.doomed(NOON, wanted=(), before_day="9999") == ()


def test_clip_stays_where_the_whole_has_not_every_picture_of_it(tmp_path: Path) -> None:
    """A whole clip that had to be made smaller replaces nothing."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, whole = clips(Table(tmp_path / "a").play(overdraw().events))
    table = Table(tmp_path / "b")
    table.recorder._most_bytes = (first.size + whole.size) // 2 + FILM_BYTES
    table.play(overdraw().events)
    assert clips(table)[0].sha256 == first.sha256
    assert clips(table)[1].sha256 != whole.sha256
    assert table.recorder.doomed(NOON, wanted=(), before_day="9999") == ()


def test_replay_says_the_same_without_the_pictures(
    dealt: Table, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log alone replays byte for byte, evidence and all."""
    assert main(["replay", str(dealt.log), "--check"]) == 0
    again = Table(tmp_path).play(overdraw().events)
    assert [stored.id for stored in again.kept()] == [stored.id for stored in dealt.kept()]
    assert again.messages == dealt.messages


def test_every_event_is_folded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Evidence is kept between the outputs of an event and its messages: nothing is done twice."""
    stepped: list[Event] = []
    encoded: list[Output] = []
    given: list[Output] = []
    step, messages_of = fold_step, messages.messages_of

    def stepping(table: game.Table, event: Event) -> tuple[game.Table, tuple[Output, ...]]:
        stepped.append(event)
        after, outputs = step(table, event)
        given.extend(outputs)
        return after, outputs

    def encoding(
        stream: MessageStream, output: Output, *rest: Any
    ) -> tuple[MessageStream, tuple[Message, ...]]:
        encoded.append(output)
        return messages_of(stream, output, *rest)

    monkeypatch.setattr(session, "step", stepping)
    monkeypatch.setattr(session, "messages_of", encoding)
    table = Table(tmp_path).play(overdraw().events)
    assert len(table.kept()) > 10
    assert stepped == [e for e in table.events if not isinstance(e, EvidenceKept)]
    assert encoded == given


def test_same_plays_without_evidence_say_the_same_as_ever(tmp_path: Path) -> None:
    """A reader that keeps no pictures says what it always said."""
    table = Table(tmp_path, EvidenceSection(keep=False)).play(PLAYS["clean"]().events)
    assert table.kept() == []
    assert not folder_of(table.log).exists()


def test_proof_of_a_closed_alert_is_let_go(dealt: Table) -> None:
    """What was kept for an alert is protected until somebody has closed it."""
    desk = session_of(header())
    wanted: list[bool] = []
    for event in dealt.events:
        desk = advance(desk, event).session
        wanted.append("s1-2-" in wanted_names(desk))
    assert True in wanted
    assert desk.shelf.of_alert("a1") == ()


def test_pictures_of_a_held_coup_outlast_its_shoe_until_its_alert_is_closed(
    tmp_path: Path,
) -> None:
    """What a dispute may need is kept until somebody closes what the end of the shoe raised."""
    play = Play().begin().coup("P1:4h B1:3d P2:4c B2:3c")
    play.then(HoldResult(play.at, "Eva", Role.SURVEILLANCE, 1))
    play.then(ShoeStarted(play.at, "s2"))
    table = Table(tmp_path).play(play.events)
    assert wanted_names(table.desk) == ("s1-1-",)
    closing = CloseAlert(play.at, "Eva", Role.SURVEILLANCE, "a1", reason="settled at the desk")
    assert wanted_names(advance(table.desk, closing).session) == ()


def test_shelf_stays_small() -> None:
    """However long the shoe, only the last cards are remembered."""
    desk: TableSession = session_of(header())
    for order in range(1, 3 * STILLS_REMEMBERED):
        card = replace(KEPT, id=f"s1-1-c{order}", order=order, alert="")
        desk = advance(desk, card).session
    assert len(desk.shelf.shown) == STILLS_REMEMBERED
    assert desk.shelf.of_card("s1", order) == (f"evidence/s1-1-c{order}",)


def test_disk_that_fails_is_reported_once_and_when_it_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without room for pictures the table goes on, and says that it has no proof."""
    table = Table(tmp_path)
    keep = EvidenceStore.keep
    failing = iter([True] * 4 + [False] * 1000)

    def sometimes(store: EvidenceStore, stored: EvidenceKept, content: bytes) -> EvidenceKept:
        if next(failing):
            raise WriteError("cannot write it", "No space left on device")
        return keep(store, stored, content)

    monkeypatch.setattr(EvidenceStore, "keep", sometimes)
    table.play(PLAYS["clean"]().events)
    noticed = [event for event in table.events if isinstance(event, Noticed)]
    assert [(event.code, event.over) for event in noticed] == [
        ("EVIDENCE", False), ("EVIDENCE", True)
    ]  # fmt: skip
    alerts = [json.loads(m.payload) for m in table.messages if level(m) == "alert"]
    assert "No space left" in next(a["text"] for a in alerts if a["code"] == "EVIDENCE")


# --- pictures ------------------------------------------------------------------------------------


def test_ring_is_bounded_and_drops_the_oldest() -> None:
    """Only the last seconds are held, at most so many a second, whatever the camera sends."""
    ring = ClipBuffer(Crop(((0, 0), (320, 0), (320, 240), (0, 240)), SIZE), length_s=2.0, fps=5)
    for number in range(300):
        ring.add(Frame(picture(number), NOON + number * 33, number))
    film = ring.film(0, NOON * 2, MOST_BYTES)
    assert len(pictures_of(film)) in (10, 11)
    assert pace_of(film) == pytest.approx(5.0, abs=0.2)
    assert ring.size < 200_000


def test_still_table_is_drawn_once_a_second_and_a_moving_one_every_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A clip has all its pictures; while nothing moves they are the same for a second."""
    drawn: list[int] = []
    crop = Crop(((0, 0), (320, 0), (320, 240), (0, 240)), SIZE)
    thumbnail = crop.thumbnail

    def counted(image: Image) -> bytes:
        drawn.append(1)
        return thumbnail(image)

    monkeypatch.setattr(crop, "thumbnail", counted)
    ring = ClipBuffer(crop, length_s=10.0, fps=8)
    for number in range(32):
        frame = Frame(picture(number), NOON + 125 * number, number)
        frame.still = number >= 16
        ring.add(frame)
    assert len(drawn) in (17, 18)
    assert len(pictures_of(ring.film(0, NOON * 2, MOST_BYTES))) == 32


@pytest.mark.parametrize("most", [300_000, 2_000_000])
def test_clip_and_still_are_made_to_fit_what_the_broker_takes(most: int) -> None:
    """A grainy table and a long clip give fewer pictures and coarser ones, never too many bytes."""
    crop = Crop(((0, 0), (320, 0), (320, 240), (0, 240)), SIZE)
    ring = ClipBuffer(crop, length_s=10.0, fps=8)
    grain = np.random.default_rng(1)
    for number in range(80):
        image = grain.integers(0, 256, (SIZE[1], SIZE[0], 3), np.uint8)
        ring.add(Frame(image, NOON + 125 * number, number))
    assert ring.size > 2_000_000
    film = ring.film(0, NOON * 2, most)
    assert 0 < len(film) <= most
    shown = pictures_of(film)
    assert len(shown) > 1
    assert 0 < len(crop.still(image, 60_000)) <= 60_000


def test_nothing_beyond_the_layout_is_kept() -> None:
    """Guests at the table are not in the evidence: outside the outline all is black."""
    image = np.full((SIZE[1], SIZE[0], 3), 200, np.uint8)
    crop = Crop(((100, 50), (220, 50), (280, 200), (40, 200)), SIZE)
    data = np.frombuffer(crop.still(image, MOST_BYTES), np.uint8)
    still: Any = cv2.imdecode(data, cv2.IMREAD_COLOR)
    assert still.shape[:2] == (150, 240)
    assert still[75, 120].min() > 190
    assert still[3, 3].max() < 10
    assert still[3, -4].max() < 10


def test_film_is_one_that_others_play(tmp_path: Path) -> None:
    """Another program reads the size, the pace and every picture of a film, to the last byte."""
    pictures = [bytes(cv2.imencode(".jpg", picture(n))[1].data) for n in range(12)]
    film = write_film(pictures, SIZE, 8.0)
    assert pictures_of(film) == tuple(pictures)
    assert write_film(pictures, SIZE, 8.0) == film
    (tmp_path / "f.avi").write_bytes(film)
    video = cv2.VideoCapture(str(tmp_path / "f.avi"))
    assert video.get(cv2.CAP_PROP_FPS) == pytest.approx(8.0, abs=0.1)
    images = [video.read() for _ in range(13)]
    video.release()
    assert [found for found, _ in images] == [True] * 12 + [False]
    assert images[0][1].shape[:2] == (SIZE[1], SIZE[0])
    assert np.abs(images[5][1].astype(int) - picture(5)).mean() < 6
