"""What a table deletes: by confirmed time only, said in the log first, never what is under hold."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.shoe import NOON, play
from tests.chaos.table import config_of, filmed
from vision.app.evidence import EvidenceRecorder
from vision.app.journal import Journal
from vision.app.retention import Retention
from vision.app.run_log import Destinations
from vision.audit.export import evidence_words
from vision.audit.verify import Trust, audit
from vision.clock import DAY_MS
from vision.game.commands import KeepEvidence, ReleaseEvidence
from vision.game.events import Event, Noticed, Role
from vision.record.facts import EvidenceKept, Fact, Medium, Recorded
from vision.storage.evidence import EvidenceStore, file_name, folder_of
from vision.storage.log_reader import read_log

SIZE = (640, 480)


class Machine:
    """A table's journal with its evidence, on a machine whose monotonic clock is set by hand."""

    def __init__(self, folder: Path, max_mb: float = 500) -> None:
        self.seconds = 1000.0
        self.path = folder / "t.sqlite"
        config = config_of(1, keep_days=60)
        evidence = config.evidence.model_copy(update={"keep_days": 30.0, "max_mb": max_mb})
        self.evidence = EvidenceRecorder(filmed(config, SIZE, evidence), self.path)
        self.journal = Journal(config, Destinations(self.path, publish=False), self.evidence)
        self.journal._retention = Retention(
            self.journal._store,
            self.evidence,
            config.log,
            self.journal.session,
            monotonic_s=lambda: self.seconds,
        )
        self.pictures = EvidenceStore(folder_of(self.path))

    def take_pictures(self, count: int, size: int = 1000) -> None:
        """Keep so many pictures of cards of one coup a day, as the log says too."""
        for number in range(count):
            at = NOON + number * DAY_MS
            stored = EvidenceKept(at, f"s1-{number}-c1", Medium.STILL, "s1", number, "", 0, 1)
            self.journal.take([self.pictures.keep(stored, bytes([number]) * size)])

    def live(self, at: int, days: float) -> None:
        """Let days go by on both clocks, an hour at a time, from `at` (Unix ms) of the wall."""
        for hour in range(round(days * 24)):
            self.seconds += 3600
            self.journal.tidy(at + hour * 3_600_000)

    def facts(self, kind: Fact) -> list[dict[str, str]]:
        """Return the facts of a kind that the log has."""
        bodies = (json.loads(record.body) for record in read_log(self.path) if record.body)
        events = (body.get("event", {}) for body in bodies)
        return [event for event in events if event.get("kind") == kind.value]

    @property
    def left(self) -> int:
        """How many pictures are there."""
        return sum(path.is_file() for path in folder_of(self.path).rglob("*"))


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Play two shoes at a table, once; return its folder."""
    folder = tmp_path_factory.mktemp("played")
    machine = Machine(folder)
    with machine.journal:
        machine.journal.start(NOON, "b1", ())
        machine.journal.take(list(play(75)))
        machine.journal.tidy(NOON)
    return folder


@pytest.fixture(name="machine")
def _machine(played: Path, tmp_path: Path) -> Iterator[Machine]:
    """Give a machine on which a table has run for two shoes."""
    shutil.copytree(played, tmp_path, dirs_exist_ok=True)
    machine = Machine(tmp_path)
    machine.journal.start(NOON, "b2", ())
    machine.journal.tidy(NOON)
    with machine.journal:
        yield machine


def test_clock_far_ahead_deletes_nothing(machine: Machine) -> None:
    """Forty days ahead for an hour, five hundred at a new shoe: pictures and log stay."""
    machine.take_pictures(8)
    records = len(list(read_log(machine.path)))
    for minute in range(60):
        machine.seconds += 60
        machine.journal.tidy(NOON + 40 * DAY_MS + minute * 60_000)
    assert machine.left == 8
    machine.journal.prune(NOON + 500 * DAY_MS)
    assert len(list(read_log(machine.path))) >= records
    (waits,) = machine.facts(Fact.RETENTION_WAITS)
    assert "nothing is deleted on its word" in waits["detail"]


def test_clock_far_ahead_is_not_believed_after_restarts_either(
    machine: Machine, tmp_path: Path
) -> None:
    """A reader that is started again and again beside a wrong clock makes no time of it."""
    machine.take_pictures(8)
    machine.journal.close()
    for _ in range(30):
        again = Machine(tmp_path)
        with again.journal:
            again.journal.tidy(NOON + 40 * DAY_MS)
            again.seconds += 60
            again.journal.tidy(NOON + 40 * DAY_MS)
    assert again.left == 8


def test_what_is_old_goes_as_days_go_by_and_the_log_says_so_first(machine: Machine) -> None:
    """Days that both clocks have seen make old; the record has day, name and hash of each."""
    machine.take_pictures(8)
    machine.live(NOON, 33)
    assert machine.left == 5
    deleted = machine.facts(Fact.EVIDENCE_DELETED)
    assert [fact["subject"] for fact in deleted] == ["age"] * len(deleted)
    names = [name for fact in deleted for name in json.loads(fact["detail"])]
    assert [name.split(".")[0] for name in names] == [
        "2023-11-14/s1-0-c1", "2023-11-15/s1-1-c1", "2023-11-16/s1-2-c1"
    ]  # fmt: skip


def test_table_that_rests_at_night_keeps_to_its_days(machine: Machine, tmp_path: Path) -> None:
    """Time that the machine was off is made up for: half of each day off does not double it."""
    machine.take_pictures(4)
    machine.journal.close()
    for day in range(33):
        machine = Machine(tmp_path)
        with machine.journal:
            machine.live(NOON + day * DAY_MS, 0.5)
    assert machine.left == 1


def test_legal_hold_outlasts_age_until_it_is_released(machine: Machine) -> None:
    """Held pictures stay whatever their age; released, they go."""
    machine.take_pictures(3)
    ada = ("Ada", Role.SURVEILLANCE, "s1", 1)
    machine.journal.take([KeepEvidence(NOON, *ada, reason="claim 17")])
    machine.live(NOON, 40)
    assert machine.left == 1
    machine.journal.take([ReleaseEvidence(NOON + 40 * DAY_MS, *ada, reason="settled")])
    machine.live(NOON + 40 * DAY_MS, 0.1)
    assert machine.left == 0


def test_pictures_deleted_before_their_time_raise_an_alert(machine: Machine) -> None:
    """Too much evidence: what goes early is recorded as such, and people are told."""
    machine.evidence._limits = machine.evidence._limits.__class__(30, 0.05, 30)
    machine.take_pictures(8, size=10_000)
    machine.live(NOON + 8 * DAY_MS, 0.05)
    assert machine.left == 5
    assert [fact["subject"] for fact in machine.facts(Fact.EVIDENCE_DELETED)] == ["size"]
    reports: tuple[Event, ...] = machine.evidence.reports(NOON)
    assert [event.code for event in reports if isinstance(event, Noticed)] == ["EVIDENCE_AT_RISK"]


def test_log_says_which_clips_were_replaced(machine: Machine) -> None:
    """A clip that goes for the whole one is recorded as such, and an audit finds it said."""
    clip = EvidenceKept(NOON, "s1-1-a1", Medium.CLIP, "s1", 1, "", 0, None, "a1", complete=False)
    clip = machine.pictures.keep(clip, b"clip")
    machine.journal.take([clip])
    machine.evidence._replaced.append(clip)
    machine.live(NOON, 0.05)
    assert machine.left == 0
    (fact,) = machine.facts(Fact.EVIDENCE_DELETED)
    assert (fact["subject"], json.loads(fact["detail"])) == ("replaced", [file_name(clip)])
    found = audit(read_log(machine.path), Trust())
    assert "NO RECORD" not in evidence_words(found.stored, {}, found.deleted)


def test_picture_that_went_without_a_word_is_reported_by_an_audit(machine: Machine) -> None:
    """What the log has the hash of is there, or the log says that it was deleted."""
    machine.take_pictures(2)
    found = audit(read_log(machine.path), Trust())
    reported = evidence_words(found.stored, {}, found.deleted)
    assert "2 are not kept here any more; NO RECORD says that 2 of these were deleted" in reported


def test_facts_are_in_the_log_before_the_files_go(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Power lost between the two leaves a picture that the log says is going, never the reverse."""
    machine.take_pictures(2)
    monkeypatch.setattr(EvidenceStore, "delete", lambda *_: None)
    machine.live(NOON, 33)
    assert machine.left == 2
    assert machine.facts(Fact.EVIDENCE_DELETED)


def test_fact_is_read_back(machine: Machine) -> None:
    """A fact comes from the log as the event that was written."""
    fact = Recorded(NOON, Fact.PICTURE_SEEN, "evidence/s1-1-c1", "", "Ann", "surveillance")
    machine.journal.take([fact])
    assert machine.facts(Fact.PICTURE_SEEN)[0]["by"] == "Ann"
