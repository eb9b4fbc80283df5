"""The authentication of orders: who signed one, in which role, how fresh, and never twice.

An MQTT broker does not name the publisher to a subscriber, so the order itself must: it is signed
with a key of the users file. What a role may order is for the rules (`vision.game.fold.commands`).

What one person alone cannot order, a second vouches for: the very same topic and fields, which name
both, signed with a key of their own or, where they gave their password at a desk, by that desk.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from vision.access.users import User, Users, load_users
from vision.clock import CLOCK
from vision.errors import ConfigurationError
from vision.files import WatchedFile
from vision.game.commands import Command
from vision.game.events import Event
from vision.game.fold.commands import MAY_VOUCH
from vision.record.codec import EVENTS, event_from_json
from vision.record.facts import IN_A_ROLE, REPORTED_BY_DESKS, Person, Recorded
from vision.wire.commands import (
    COMMANDS,
    HOUSE_INPUTS,
    RECORD,
    SECOND,
    Fields,
    RefusedError,
    read_command,
    ref_of,
    signed_text,
)
from vision.wire.messages import unix_ms
from vision.wire.session import TableSession

log = logging.getLogger(__name__)

# Orders remembered so that none is taken twice; a reader given more than that within a minute takes
# no more until the oldest are stale. Some 2 MB; a house gives a few orders a minute.
MEMORY = 10_000
NONCE = re.compile(r"[A-Za-z0-9_-]{16,64}")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
SIGNATURE = re.compile(r"[0-9a-f]{128}")
HOUSE = "house"
STRANGER = "the signature is not that of somebody who may give orders here"


@dataclass(frozen=True, slots=True)
class Signed:
    """An order whose signature was verified, and the user whose key signed it."""

    name: str
    fields: Fields
    user: User

    @property
    def key(self) -> str:
        """The name of the user whose key signed it."""
        return str(self.fields["key"])


@dataclass(frozen=True, slots=True)
class Ordered:
    """An event that a person ordered, with name and fields of the order as it was signed.

    The log keeps both: the order is the proof of the event.
    """

    event: Event
    name: str
    fields: Fields

    def record(self) -> Mapping[str, object]:
        """Return the order as it stands in the log."""
        return {"name": self.name, "fields": self.fields}


class Gate:
    """Admits orders to one table."""

    def __init__(
        self,
        prefix: str,
        users: Path | None,
        fresh_ms: int,
        moments: Callable[[], tuple[int, ...]] = CLOCK.moments,
    ) -> None:
        """Guard the topics under `prefix` (`.../cmd/`) with a users file; without one, shut.

        An order is good for `fresh_ms` before and after a moment that may be now (Unix time, ms);
        the first is by the clock of the run. ConfigurationError when the users file cannot be used.
        """
        self._prefix = prefix
        self._fresh_ms = fresh_ms
        self._moments = moments
        self._file = None if users is None else WatchedFile(users, load_users)
        # Everybody who may give orders, as last read; another object after a change.
        self.users = Users() if self._file is None else self._file.now()
        self._nonces: dict[tuple[str, str], int] = {}
        self._newest = 0
        self.refused = 0

    def remember(self, orders: Iterable[Fields], until: int) -> None:
        """Take note of the fields of orders of an earlier run: they are not taken again.

        `until` is the last time of the log (Unix ms).
        """
        for fields in orders:
            with suppress(RefusedError):  # a time that is none was never admitted
                self._note(fields, until)

    def verify(self, name: str, fields: Fields) -> Signed:
        """Return an order with the user who signed it; RefusedError where nobody did.

        Nothing is noted: what an order says of itself is believed from here on, and not before.
        """
        signed = Signed(name, fields, self._signer_of(name, fields))
        self._check_fresh(fields)
        return signed

    def take(self, signed: Signed) -> None:
        """Take what changes nothing, once; RefusedError with the reason."""
        with self._counting(signed.name):
            self._check_still(signed)
            self._check_new(signed.fields)

    def admit(self, signed: Signed) -> None:
        """Admit an order of somebody who may speak as it says; RefusedError with the reason."""
        with self._counting(signed.name):
            self._check_still(signed)
            check_speaker(self.users.users, signed)
            check_second(self.users.users, signed, self._prefix)
            self._check_new(signed.fields)

    @contextmanager
    def _counting(self, name: str) -> Iterator[None]:
        try:
            yield
        except RefusedError as error:
            self.note_refusal(name, error)
            raise

    def note_refusal(self, name: str, error: RefusedError) -> None:
        """Count it, and log the first, second, fourth, eighth: a flood must not fill the log."""
        self.refused += 1
        if self.refused & (self.refused - 1) == 0:
            log.warning(
                "order %s refused at the gate, %d so far: %s; if nobody of the house gave it, "
                "check in the broker's access list who may publish orders",
                ascii(name[:64]),
                self.refused,
                error,
            )

    def _read_users(self) -> None:
        if self._file is None:
            raise RefusedError(
                "this reader takes no orders, because no users file is set up; make one with "
                "shoe-reader users add, and name it in [orders] users"
            )
        try:
            self.users = self._file.now()
        except ConfigurationError as error:
            self.users = Users()
            raise RefusedError("this reader takes no orders: its users file is faulty") from error

    def _check_still(self, signed: Signed) -> None:
        """Check that the signer is the user that it was when the signature was verified."""
        self._read_users()
        if self.users.users.get(signed.key) != signed.user:
            raise RefusedError(STRANGER)

    def _signer_of(self, name: str, fields: Fields) -> User:
        self._read_users()
        for field, form in (("nonce", NONCE), ("time", MOMENT), ("sig", SIGNATURE)):
            if not form.fullmatch(_text(fields, field)):
                raise RefusedError(
                    f"{field}: not what a signed order has there; see deploy/mqtt.md"
                )
        user = self.users.users.get(_text(fields, "key"))
        text = signed_text(self._prefix + name, fields)
        if user is None or not user.signed(text, _text(fields, "sig")):
            raise RefusedError(STRANGER)
        return user

    def _check_fresh(self, fields: Fields) -> None:
        time, fresh = _moment(fields), self._fresh_ms
        now = min(self._moments(), key=lambda moment: abs(time - moment))
        # Set back, a clock would make old orders good again: none is older than the newest but
        # for the time that two clocks may differ.
        if abs(time - now) > fresh or time < self._newest - 2 * fresh:
            raise RefusedError(
                f"signed {abs(time - now) / 1000:.0f} s {'ago' if time < now else 'ahead'}, and "
                f"good for {fresh / 1000:.0f} s; compare the clocks, and give it again"
            )
        if (_text(fields, "key"), _text(fields, "nonce")) in self._nonces:
            raise RefusedError("this order has been given already; the first counts")

    def _check_new(self, fields: Fields) -> None:
        self._check_fresh(fields)
        now = self._moments()[0]
        if len(self._nonces) >= MEMORY:
            oldest = max(self._newest, min(_moment(fields), now)) - 2 * self._fresh_ms
            self._nonces = {which: at for which, at in self._nonces.items() if at >= oldest}
        if len(self._nonces) >= MEMORY:
            raise RefusedError("too many orders within a minute; give it again later")
        self._note(fields, now)

    def _note(self, fields: Fields, now: int) -> None:
        """Remember an order; one signed by a clock that is ahead makes no later one too old."""
        time = _moment(fields)
        self._nonces[_text(fields, "key"), _text(fields, "nonce")] = time
        self._newest = max(self._newest, min(time, now))


def _text(fields: Fields, key: str, default: str = "") -> str:
    value = fields.get(key, default)
    if not isinstance(value, str):
        raise RefusedError(f"{key}: not a text")
    return value


def _moment(fields: Fields) -> int:
    try:
        return unix_ms(_text(fields, "time"))
    except (ValueError, OverflowError) as error:
        raise RefusedError("time: no moment of the calendar") from error


def check_speaker(users: Mapping[str, User], signed: Signed) -> None:
    """Check that the signer may speak for the named person, in the named role; RefusedError."""
    name, fields, signer = signed.name, signed.fields, signed.user
    key, by, role = _text(fields, "key"), _text(fields, "by"), _text(fields, "role")
    if COMMANDS.get(name) in HOUSE_INPUTS:
        by, role = key, HOUSE
    speaker = users.get(by or key)
    if speaker is None:
        raise RefusedError(f"by: there is no user '{by}'")
    if name == RECORD and not signer.may_act_for:
        raise RefusedError(f"record: {key} is no desk; only a desk reports what people did")
    if by not in ("", key) and not signer.may_act_for:
        raise RefusedError(f"by: {key} may not speak for others")
    if by == key and signer.may_act_for and role != HOUSE:
        raise RefusedError(f"by: {key} speaks only for people; name one")
    for who, user in ((key, signer), (by, speaker)):
        if role and role not in user.roles:
            raise RefusedError(f"role: {who} may not speak as {role}")
    if name == RECORD and (fault := _role_fault(fields, signer, speaker)):
        raise RefusedError(f"role: {fault}")


def check_second(users: Mapping[str, User], signed: Signed, prefix: str) -> None:
    """Check, where a second person is named, that it is another, who may and did sign."""
    name, fields = signed.name, signed.fields
    if not any(field in fields for field in SECOND):
        return
    second, role, key = (_text(fields, f"second{part}") for part in ("", "_role", "_key"))
    person, signer = users.get(second), users.get(key)
    if person is None or second == _text(fields, "by", _text(fields, "key")):
        raise RefusedError("second: name another person, who is a user")
    if role not in MAY_VOUCH or role not in person.roles:
        raise RefusedError("second_role: for an inspector or surveillance to vouch")
    text = signed_text(prefix + name, fields)
    if signer is None or not signer.signed(text, _text(fields, "second_sig")):
        raise RefusedError("second_sig: the signature is not that of second_key")
    if (key != second and not signer.may_act_for) or role not in signer.roles:
        raise RefusedError(f"second_key: {key} may not speak for {second} as {role}")


def _role_fault(fields: Fields, signer: User, speaker: User) -> str:
    """Return why a desk may not report that of a person, "" where it may.

    Where nobody did it who is logged in, the desk speaks for itself.
    """
    allowed = next((roles for kind, roles in IN_A_ROLE.items() if kind == fields.get("kind")), None)
    spoken = {fields.get("role")} if "by" in fields else {*signer.roles}
    spoken &= {*signer.roles} if signer.may_act_for else set()
    if allowed is None or allowed & spoken & {*speaker.roles}:
        return ""
    who = " or ".join(sorted(allowed))
    return f"{fields['kind']} is for {who}, and needs the role; the desk must have it too"


def is_ordered(content: Mapping[str, Any]) -> bool:
    """Whether a record holds an order, or an event to which only an order can have given rise.

    The latter are the deeds of people, and what desks report of them.
    """
    event = content.get("event", {})
    kind = EVENTS.get(str(event.get("is")))
    reported = kind is Recorded and event.get("kind") in REPORTED_BY_DESKS
    return "order" in content or reported or (kind is not None and issubclass(kind, Command))


def order_fault(session: TableSession, content: Mapping[str, Any]) -> str:
    """Return what is wrong with the order of a record, "" where it is as it was signed.

    `session` is the one before it, with the users as they were at that moment.
    """
    if "order" not in content:
        return "was signed by nobody"
    try:
        name, fields = str(content["order"]["name"]), content["order"]["fields"]
        users, prefix = _users_of(session.register.users), f"{session.stream.prefix}cmd/"
        user = users.get(fields["key"])
        if user is None:
            return f"was signed by {fields['key']!r}, who was no user then"
        if not user.signed(signed_text(prefix + name, fields), fields["sig"]):
            return "does not bear the signature of the key that counted then"
        event = event_from_json(content["event"])
        ordered, signed = read_command(name, fields, event.at), Signed(name, fields, user)
        check_speaker(users, signed)
        check_second(users, signed, prefix)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return f"is not one that can be signed so ({error})"
    return "" if ordered == event else "is not what was done"


@lru_cache(maxsize=2)  # orders come one after another under the same users
def _users_of(people: tuple[Person, ...]) -> dict[str, User]:
    return {person.name: User.model_validate_json(person.entry) for person in people}


# "always" and "never" speak for themselves; "auto" is where two people could.
Policy = Literal["auto", "always", "never"]
NEEDED = (
    "this cannot be undone by one person: a second, an inspector or surveillance, must vouch for it"
)


def check_vouched(ordered: Ordered, policy: Policy, users: Users) -> None:
    """Check an order that needs a second person; RefusedError where the house has one to ask.

    Whether one who is named did vouch was checked when the order was admitted.
    """
    if not ordered.fields.get("second") and asks_for_seconds(policy, users):
        raise RefusedError(NEEDED, ref_of(ordered.fields))


def asks_for_seconds(policy: Policy, users: Users) -> bool:
    """Whether the house asks for second persons: where it says so, or has two who may vouch."""
    people = [user for user in users.users.values() if not user.may_act_for]
    able = [user for user in people if not MAY_VOUCH.isdisjoint(user.roles)]
    return policy == "always" or (policy == "auto" and len(able) > 1)
