"""Facts that the log keeps for whoever has to answer for it later, and that change no result.

Who looked at what, who changed which setting, what was deleted and why: inputs of the log like any
other, so the chain covers them and signatures vouch for them. The rules never see them, and they
give no message.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from vision.game.events import Event


class Fact(StrEnum):
    """What a fact is about."""

    # What a desk or a board reports, by the order `record`.
    SIGN_IN_REFUSED = "sign_in_refused"
    SIGN_IN_LOCKED = "sign_in_locked"
    SESSION_ENDED = "session_ended"
    PASSWORD_CHANGED = "password_changed"  # noqa: S105  a word, no password
    SECOND_FACTOR_CHANGED = "second_factor_changed"
    PICTURE_SEEN = "picture_seen"
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
    UNSIGNED_KEPT = "unsigned_kept"


REPORTED_BY_DESKS = frozenset(
    (
        Fact.SIGN_IN_REFUSED,
        Fact.SIGN_IN_LOCKED,
        Fact.SESSION_ENDED,
        Fact.PASSWORD_CHANGED,
        Fact.SECOND_FACTOR_CHANGED,
        Fact.PICTURE_SEEN,
        Fact.LIVE_VIEW_SEEN,
        Fact.EXPORT_TAKEN,
        Fact.TABLE_FILE_CHANGED,
        Fact.JOB_RUN,
        Fact.ACCEPTANCE_SET,
        Fact.COUP_KEYED,
        Fact.BUNDLE_ALLOWED,
    )
)


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
