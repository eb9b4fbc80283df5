"""What a log keeps beside the game: facts and proofs. They change no result, and no rule sees them.

They are inputs of the log like any other, so the chain covers them and signatures vouch for them.
*Facts* are for whoever has to answer for the log later: who looked at what, who changed which
setting, what was deleted and why; they give no message. *Proofs* are kept pictures and signed
anchors, which a replay publishes again. A picture is its hash here: the sender of the messages puts
the picture in its place.

The register is what the records of a log come to: whose keys counted when, and what is under legal
hold. It is a part of the session, so a checkpoint carries it past what was pruned, and an audit
holds each order against the key that its giver had at that moment.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from vision.game.commands import KeepEvidence, ReleaseEvidence
from vision.game.events import Event
from vision.game.outputs import Output, Replied


class Medium(StrEnum):
    """What a piece of evidence is: one JPEG, or a film of them (AVI)."""

    STILL = "still"
    CLIP = "clip"


@dataclass(frozen=True, slots=True)
class EvidenceKept(Event):
    """A picture or film of the table is on the disk; `at` is when its last picture was taken.

    `id` and `medium` name it. It shows the card `order` being read, or the table when `alert` was
    raised (`order` is then the card that gave rise to it). `sha256` (64 hex digits) and `size`
    (bytes) are of the file. A clip that is not `complete` ends with the alert; the same clip with
    what came after follows under the same id.
    """

    id: str
    medium: Medium
    shoe: str
    coup: int
    sha256: str
    size: int
    order: int | None = None
    alert: str = ""
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Anchored(Event):
    """The log up to record `number`, whose hash is `hash`, was signed.

    `log` is the hash of record 0, whose `id` tells the logs of a table apart; `why` is `shoe`,
    `day`, `time`, `stop`, or `prune` where record `number` says what was pruned. `shoe` is the one
    in use; `key` begins the SHA-256 of the public key;
    `signature` is Ed25519 in hex, over `signed_text`.
    """

    log: str
    number: int
    hash: str
    shoe: str
    why: str
    key: str
    signature: str = ""


def anchor_content(anchor: Anchored) -> dict[str, object]:
    """Return the content of `anchor`."""
    names = ("log", "hash", "shoe", "why", "key", "signature")
    return {"record": anchor.number, **{name: getattr(anchor, name) for name in names}}


class Fact(StrEnum):
    """What a fact is about."""

    # What a desk or a board reports, by the order `record`.
    SIGN_IN_REFUSED = "sign_in_refused"
    SIGN_IN_LOCKED = "sign_in_locked"
    SESSION_ENDED = "session_ended"
    PASSWORD_CHANGED = "password_changed"  # noqa: S105  a word, no password
    SECOND_FACTOR_CHANGED = "second_factor_changed"
    PICTURE_SEEN = "picture_seen"
    RESULTS_SEEN = "results_seen"
    LIVE_VIEW_SEEN = "live_view_seen"
    EXPORT_TAKEN = "export_taken"
    TABLE_FILE_CHANGED = "table_file_changed"
    JOB_RUN = "job_run"
    ACCEPTANCE_SET = "acceptance_set"
    COUP_KEYED = "coup_keyed"
    BUNDLE_ALLOWED = "bundle_allowed"
    # What the reader itself knows.
    USER = "user"
    KEY = "key"
    EVIDENCE_DELETED = "evidence_deleted"
    RETENTION_WAITS = "retention_waits"
    CLOCK_CONFIRMED = "clock_confirmed"
    TAKEN_OVER = "taken_over"
    UNSIGNED_STORED = "unsigned_kept"


# Signed as they are written: who can only write the file gives nobody a key, and makes no time.
OF_THE_READER = frozenset(
    (
        Fact.USER, Fact.KEY, Fact.EVIDENCE_DELETED, Fact.RETENTION_WAITS, Fact.CLOCK_CONFIRMED,
        Fact.TAKEN_OVER, Fact.UNSIGNED_STORED,
    )
)  # fmt: skip
REPORTED_BY_DESKS = frozenset(Fact) - OF_THE_READER
# In which roles people may do what a desk reports of them, where not whoever is logged in may.
IN_A_ROLE = {
    Fact.ACCEPTANCE_SET: frozenset(("inspector", "surveillance")),
    Fact.COUP_KEYED: frozenset(("inspector", "surveillance")),
    Fact.BUNDLE_ALLOWED: frozenset(("inspector",)),
}


@dataclass(frozen=True, slots=True)
class Recorded(Event):
    """A fact: `kind` says what it is about, `subject` names the thing, `detail` says the rest.

    `subject` is a file, a picture's topic, a user's name, a key; `detail` is words for people, or
    canonical JSON where a program reads it. `by` and `role` are the person's, empty where it was
    nobody who is known (a refused log-in) or the reader itself.
    """

    kind: Fact
    subject: str = ""
    detail: str = ""
    by: str = ""
    role: str = ""


def is_of_the_reader(event: Event) -> bool:
    """Whether an event is a fact that the reader itself knows."""
    return isinstance(event, Recorded) and event.kind in OF_THE_READER


class Hold(NamedTuple):
    """The evidence of a coup is kept beyond every limit; `coup` 0 is the whole shoe."""

    shoe: str
    coup: int


class Person(NamedTuple):
    """A user as the users file had them: `entry` is canonical JSON of roles and public key."""

    name: str
    entry: str


class Nonce(NamedTuple):
    """An order that was given, by which it is not taken twice: its key, its nonce, its time."""

    key: str
    nonce: str
    time: str


class Register(NamedTuple):
    """Users, holds and the key that signs, as they stand; the rest stands in the log alone.

    `time` is how far time was confirmed (Unix ms, 0: not yet), by which things grow old, and
    `allowance` what may be made up for (ms).
    """

    users: tuple[Person, ...] = ()
    holds: tuple[Hold, ...] = ()
    key: str = ""
    time: int = 0
    allowance: int = 0

    def after(self, event: Event, outputs: tuple[Output, ...] = ()) -> Register:
        """Return the register after an event; an order counts only where it was accepted."""
        match event:
            case Recorded(kind=Fact.USER):
                others = tuple(person for person in self.users if person.name != event.subject)
                entry = (Person(event.subject, event.detail),) if event.detail else ()
                return self._replace(users=tuple(sorted((*others, *entry))))
            case Recorded(kind=Fact.KEY):
                return self._replace(key=event.subject)
            case Recorded(kind=Fact.CLOCK_CONFIRMED):
                time, allowance = map(int, json.loads(event.detail))
                return self._replace(time=time, allowance=allowance)
            case KeepEvidence() if accepted(outputs):
                held = {*self.holds, Hold(event.shoe, event.coup)}
                return self._replace(holds=tuple(sorted(held)))
            case ReleaseEvidence() if accepted(outputs):
                held = {*self.holds} - {Hold(event.shoe, event.coup)}
                return self._replace(holds=tuple(sorted(held)))
        return self


NOTHING = Register()


@dataclass(frozen=True, slots=True)
class LogBegun(Event):
    """The log goes on where another ended: the first event of a log that `log begin` made.

    `boot` names the act in its messages. `log` is the hash of record 0 of the other log, `number`
    and `hash` are of its last record, and `seq` is the number after which messages go on. `alerts`
    are those that stood open, as they were published (JSON): they are closed. `register` is the
    other log's, with a hold on the evidence of what was open; `nonces` are of its last orders.
    """

    boot: str
    log: str
    number: int
    hash: str
    seq: int
    alerts: tuple[str, ...] = ()
    register: Register = NOTHING
    nonces: tuple[Nonce, ...] = ()


def accepted(outputs: tuple[Output, ...]) -> bool:
    """Whether an order was accepted, by what came of it."""
    return any(isinstance(output, Replied) and output.accepted for output in outputs)
