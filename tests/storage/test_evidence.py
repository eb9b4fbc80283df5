"""Pictures are kept before what they prove is said, stay what they were, and are bounded."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from tests.schemas import check
from tests.table_log import NOON, PLAYS, Play, header, overdraw, session_of
from vision.app.evidence import EvidenceRecorder, wanted_names
from vision.app.journal import event_of
from vision.audit.export import Sources, audit_archive, write_archive
from vision.audit.selection import Part
from vision.audit.verify import Trust
from vision.cli import main
from vision.config.table import Evidence, View
from vision.errors import ConfigurationError, OutsideError
from vision.game.commands import CloseAlert, HoldResult
from vision.game.events import Event, Noticed, Role, ShoeStarted, Slot
from vision.record.proofs import STILLS_REMEMBERED, EvidenceKept, Medium
from vision.sight.geometry.frame import Frame, Image
from vision.storage.avi import pace_of, pictures_of, write_film
from vision.storage.avi_play import as_webm
from vision.storage.clip_buffer import Crop, Ring
from vision.storage.evidence import EvidenceStore, Limits, file_name, folder_of
from vision.storage.log import Entry, Store
from vision.wire.commands import again
from vision.wire.messages import Message
from vision.wire.session import TableSession, advance

SIZE = (320, 240)
FRAME_MS = 100
DAY_MS = 86_400_000
VIEW = View(
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

    def __init__(self, folder: Path, settings: Evidence | None = None) -> None:
        self.log = folder / "t.sqlite"
        self.recorder = EvidenceRecorder(settings or Evidence(), VIEW, SIZE, self.log)
        self.desk = session_of(header())
        self.messages: list[Message] = []
        self.events: list[Event] = []
        self._next_at = NOON

    def play(self, events: Sequence[Event]) -> Table:
        """Let events happen while the camera runs, and write the log."""
        with Store(self.log, header()) as store:
            for event in events:
                self.look_until(event.at, store)
                self._take(self.recorder.testify(self.desk, [event], event.at), store)
            self._take(self.recorder.finish(self._next_at), store)
        return self

    def look_until(self, at: int, store: Store) -> None:
        """Take the pictures up to a moment."""
        while self._next_at <= at:
            number = (self._next_at - NOON) // FRAME_MS
            self.recorder.look(Frame(picture(number), self._next_at, number))
            self._take(self.recorder.testify(self.desk, [], self._next_at), store)
            self._next_at += FRAME_MS

    def _take(self, inputs: Sequence[object], store: Store) -> None:
        for item in inputs:
            event = event_of(item)  # type: ignore[arg-type]
            step = advance(self.desk, event)
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
    said: set[str] = set()
    loud = 0
    for message in dealt.messages:
        name = level(message)
        content = json.loads(message.payload or b"{}")
        if name.split("/")[0] == "alert" and content:
            assert set(content["evidence"]) <= said
            if name == "alert" and content["severity"] in ("warning", "critical"):
                loud += 1
                kinds = {topic.split("/")[0] for topic in content["evidence"]}
                assert kinds == {"evidence", "clip"}
        said.add(name)
    assert loud >= 1


def test_every_card_read_has_its_still_before_it_is_told(dealt: Table) -> None:
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
    names = {file_name(kept) for kept in dealt.kept()}
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*.*")} == names
    for kept in dealt.kept():
        content = (folder / file_name(kept)).read_bytes()
        assert hashlib.sha256(content).hexdigest() == kept.sha256
        assert len(content) == kept.size


def test_clip_begins_before_its_alert_and_is_completed_after(dealt: Table) -> None:
    """The clip named in the alert ends with it; the whole follows under the same id."""
    first, whole = [kept for kept in dealt.kept() if kept.medium is Medium.CLIP][:2]
    assert (first.id, first.complete, whole.id, whole.complete) == (whole.id, False, first.id, True)
    assert 2900 <= whole.at - first.at <= 3100
    films = [(folder_of(dealt.log) / file_name(kept)).read_bytes() for kept in (first, whole)]
    before, both = (pictures_of(film) for film in films)
    assert both[: len(before)] == before
    assert len(before) / pace_of(films[0]) == pytest.approx(3.0, abs=0.3)
    assert len(both) / pace_of(films[1]) == pytest.approx(6.0, abs=0.3)


def test_replay_says_the_same_without_the_pictures(
    dealt: Table, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log alone replays byte for byte, evidence and all."""
    assert main(["replay", str(dealt.log), "--check"]) == 0
    again = Table(tmp_path).play(overdraw().events)
    assert [kept.id for kept in again.kept()] == [kept.id for kept in dealt.kept()]
    assert again.messages == dealt.messages


def test_same_plays_without_evidence_say_the_same_as_ever(tmp_path: Path) -> None:
    """A reader that keeps no pictures says what it always said."""
    table = Table(tmp_path, Evidence(keep=False)).play(PLAYS["clean"]().events)
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


def test_disk_that_fails_is_said_once_and_when_it_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without room for pictures the table goes on, and says that it has no proof."""
    table = Table(tmp_path)
    keep = table.recorder.evidence_store.keep
    failing = iter([True] * 4 + [False] * 1000)

    def sometimes(kept: EvidenceKept, content: bytes) -> EvidenceKept:
        if next(failing):
            raise OSError(28, "No space left on device")
        return keep(kept, content)

    monkeypatch.setattr(table.recorder.evidence_store, "keep", sometimes)
    table.play(PLAYS["clean"]().events)
    noticed = [event for event in table.events if isinstance(event, Noticed)]
    assert [(event.code, event.over) for event in noticed] == [
        ("EVIDENCE", False), ("EVIDENCE", True)
    ]  # fmt: skip
    alerts = [json.loads(m.payload) for m in table.messages if level(m) == "alert"]
    assert "No space left" in next(a["text"] for a in alerts if a["code"] == "EVIDENCE")


# --- the album -----------------------------------------------------------------------------------


def standing_for(kept: EvidenceKept) -> Message:
    """Return the message that stands for a picture."""
    return advance(session_of(header()), kept).messages[0]


def test_picture_takes_the_place_of_its_message(tmp_path: Path) -> None:
    """What is sent on evidence/{id} is the picture; other messages pass."""
    evidence_store = EvidenceStore(tmp_path)
    kept = evidence_store.keep(KEPT, b"picture")
    picture = evidence_store.filled(standing_for(kept))
    assert picture.payload == b"picture"
    prefix = picture.topic.removesuffix(level(picture))
    asked_for = evidence_store.filled(again(standing_for(kept), prefix))
    assert asked_for.payload == b"picture", "said again on request, it is the same"
    said = advance(session_of(header()), kept).messages[1]
    assert evidence_store.filled(said) == said


def test_changed_or_lost_picture_is_never_sent(tmp_path: Path) -> None:
    """A picture that is not what its hash says, or is gone, goes out empty."""
    evidence_store = EvidenceStore(tmp_path)
    kept = evidence_store.keep(KEPT, b"picture")
    (tmp_path / file_name(kept)).write_bytes(b"another")
    assert evidence_store.filled(standing_for(kept)).payload == b""
    (tmp_path / file_name(kept)).unlink()
    assert evidence_store.filled(standing_for(kept)).payload == b""


def test_picture_half_written_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fails in the middle leaves neither a file nor a part of one."""

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("vision.storage.evidence.os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        EvidenceStore(tmp_path).keep(KEPT, b"picture")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def filled_album(folder: Path) -> EvidenceStore:
    """Keep ten megabytes of evidence on each of four days, half of it of coup 2."""
    evidence_store = EvidenceStore(folder)
    for day in range(4):
        for piece in range(10):
            kept = replace(KEPT, at=NOON + day * DAY_MS, id=f"s{day}-{1 + piece % 2}-c{piece}")
            evidence_store.keep(kept, bytes([piece]) * 1_000_000)
    return evidence_store


def left(folder: Path) -> list[int]:
    """Return how many pieces are left of each day."""
    return [len(list(day.iterdir())) for day in sorted(folder.iterdir())]


def test_old_evidence_goes_but_never_what_is_wanted(tmp_path: Path) -> None:
    """Age counts by the day; an open alert's coup and what is unsent stay."""
    evidence_store = filled_album(tmp_path)
    now = NOON + 4 * DAY_MS
    limits = Limits(keep_days=2, max_mb=1000)
    assert (
        evidence_store.prune(limits, now, before_day="2023-11-14", is_wanted=lambda _: False) == 0
    )
    wanted = "s0-2-"
    gone = evidence_store.prune(
        limits, now, before_day="9999", is_wanted=lambda n: n.startswith(wanted)
    )
    assert gone == 15
    assert left(tmp_path) == [5, 10, 10]


def test_too_much_evidence_goes_oldest_first(tmp_path: Path) -> None:
    """The size is kept to, a few files at a time, beginning with the oldest."""
    evidence_store = filled_album(tmp_path)
    evidence_store.prune(Limits(31, 25), NOON, before_day="9999", is_wanted=lambda _: False)
    assert left(tmp_path) == [5, 10, 10]
    evidence_store.keep(replace(KEPT, at=NOON + 3 * DAY_MS, id="s3-1-x"), b"x" * 2_000_000)
    evidence_store.prune(Limits(31, 25), NOON, before_day="9999", is_wanted=lambda _: False)
    assert left(tmp_path) == [3, 10, 11]


# --- pictures ------------------------------------------------------------------------------------


def test_ring_is_bounded_and_drops_the_oldest() -> None:
    """Only the last seconds are held, at most so many a second, whatever the camera sends."""
    ring = Ring(Crop(((0, 0), (320, 0), (320, 240), (0, 240)), SIZE), length_s=2.0, fps=5)
    for number in range(300):
        ring.add(Frame(picture(number), NOON + number * 33, number))
    film = ring.film(0, NOON * 2)
    assert len(pictures_of(film)) in (10, 11)
    assert pace_of(film) == pytest.approx(5.0, abs=0.2)
    assert ring.size < 200_000
    ring.add(Frame(picture(1), NOON - DAY_MS, 1))
    assert len(pictures_of(ring.film(0, NOON * 2))) == 1


def test_nothing_beyond_the_layout_is_kept() -> None:
    """Guests at the table are not in the evidence: outside the outline all is black."""
    image = np.full((SIZE[1], SIZE[0], 3), 200, np.uint8)
    crop = Crop(((100, 50), (220, 50), (280, 200), (40, 200)), SIZE)
    still = cv2.imdecode(np.frombuffer(crop.still(image), np.uint8), cv2.IMREAD_COLOR)
    assert still.shape[:2] == (150, 240)
    assert still[75, 120].min() > 190
    assert still[3, 3].max() < 10
    assert still[3, -4].max() < 10


def test_film_is_one_that_others_play(tmp_path: Path) -> None:
    """Another program reads the size, the pace and every picture of a film, as AVI and as WebM."""
    pictures = [bytes(cv2.imencode(".jpg", picture(n))[1].data) for n in range(12)]
    film = write_film(pictures, SIZE, 8.0)
    assert pictures_of(film) == tuple(pictures)
    for name, content in (("f.avi", film), ("f.webm", as_webm(film))):
        (tmp_path / name).write_bytes(content)
        video = cv2.VideoCapture(str(tmp_path / name))
        assert video.get(cv2.CAP_PROP_FPS) == pytest.approx(8.0, abs=0.1)
        images = [video.read() for _ in range(13)]
        video.release()
        assert [found for found, _ in images] == [True] * 12 + [False]
        assert images[0][1].shape[:2] == (SIZE[1], SIZE[0])
        assert np.abs(images[5][1].astype(int) - picture(5)).mean() < 6


@pytest.mark.parametrize("content", [b"", b"RIFF", b"RIFF1234AVI ", b"\xff" * 300])
def test_file_that_is_no_film_is_refused(content: bytes) -> None:
    """Whatever the bytes are, the answer is an error in words."""
    with pytest.raises(ValueError, match=r"film|AVI"):
        as_webm(content)


# --- the archive ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["out", "out.zip"])
def test_archive_of_a_coup_proves_itself(dealt: Table, tmp_path: Path, name: str) -> None:
    """A coup's records, pictures and receipt can be verified from the folder or the .zip alone."""
    out = tmp_path / name
    sources = Sources(dealt.log, folder_of(dealt.log))
    receipt = write_archive(sources, out, Part(coup=2))
    found, evidence = audit_archive(out, Trust())
    assert (found.first, found.last.number) == (receipt["first"], receipt["last"])
    assert found.first > 1
    assert {kept.coup for kept in found.kept} == {2}
    assert "0 are not kept here" in evidence
    with pytest.raises(ConfigurationError, match="not overwritten"):
        write_archive(sources, out)


def test_archive_that_was_touched_is_found(dealt: Table, tmp_path: Path) -> None:
    """A changed record, picture or receipt of an export is told."""
    sources = Sources(dealt.log, folder_of(dealt.log))
    out = tmp_path / "out"
    write_archive(sources, out)
    still = next(out.glob("evidence/*/*.jpg"))
    before = still.read_bytes()
    still.write_bytes(before[:-1] + b"x")
    with pytest.raises(OutsideError, match="is not what the log says"):
        audit_archive(out, Trust())
    still.unlink()
    assert "1 are not kept here" in audit_archive(out, Trust())[1]
    records = out / "records.jsonl"
    records.write_text(records.read_text("utf-8").replace("9c", "8c", 1), "utf-8")
    assert main(["audit", str(out)]) == 3
    (out / "receipt.json").write_text("{}", "utf-8")
    with pytest.raises(OutsideError, match="no export"):
        audit_archive(out, Trust())


def test_part_that_is_not_there_is_explained(dealt: Table, tmp_path: Path) -> None:
    """Asking for another shoe or coup makes nothing and says so."""
    log = str(dealt.log)
    assert main(["export", log, str(tmp_path / "a"), "--coup", "99"]) == 2
    assert main(["export", log, str(tmp_path / "a"), "--shoe", "none"]) == 2
    assert main(["export", log, str(tmp_path / "a"), "--seq", "1", "2", "--coup", "1"]) == 2
    assert main(["export", str(tmp_path / "none"), str(tmp_path / "a")]) == 3
    assert list(tmp_path.iterdir()) == []
    assert main(["export", log, str(tmp_path / "b"), "--seq", "5", "9"]) == 0
