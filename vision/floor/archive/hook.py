"""Send every message of the archive to a web address, signed, in order, until it takes them.

The signature is that of Standard Webhooks (standardwebhooks.com): HMAC-SHA256 over identity, time
and body. The archive does not wait for it: how far the address has been served stands in the
database, and what is behind is sent when it answers again.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import Engine, func, select

from vision.errors import ConfigurationError, OutsideError
from vision.floor.archive.database import explained, joining, once
from vision.floor.archive.tables import apart, hook, message
from vision.wire.form import message_of
from vision.wire.messages import PREFIX, iso

log = logging.getLogger(__name__)

# Messages read at a time; how far they were taken is noted after each, so more only takes memory.
AT_ONCE = 100
# Seconds that the address may take to answer; longer holds up those behind, which nobody waits for.
ANSWER_S = 10.0
# Seconds before the next try, at first and at most: an address that is restarted is served within
# seconds, one that is away for a day is asked 288 times.
FIRST_RETRY_S = 1.0
LAST_RETRY_S = 300.0
# Seconds between two looks for new messages where the archive did not wake us.
LOOK_S = 1.0
# Fewest bytes of a secret: what Standard Webhooks asks for. Shorter ones can be guessed.
SECRET_BYTES = 24
# Answers that are about the message and not about the address; all others are of an address that is
# away, or is not the right one, and hold up nothing that another try would not send.
OF_THE_MESSAGE = (400, 413, 415, 422)
# Tries of a message after which it is set aside, where the fault is its own. Fewer lose one to an
# address that is being changed, more hold up those behind it for longer (a minute and a half here).
TRIES = 7
JOIN_S = 3.0  # seconds that the end of the thread is waited for
SECRET_PREFIX = "whsec_"  # noqa: S105  # how Standard Webhooks marks one


@dataclass(frozen=True, slots=True)
class HookTarget:
    """Where messages are sent; `as_cloudevents` puts each into an envelope of CloudEvents 1.0."""

    url: str
    secret: bytes = field(repr=False)
    as_cloudevents: bool = False


def hook_target(url: str, secret: str, *, as_cloudevents: bool) -> HookTarget:
    """Return the target; ConfigurationError where address or secret cannot be used."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError(
            f"[archive] hook '{url}': not a valid URL; write https://HOST/PATH"
        )
    if parts.username or parts.password:
        raise ConfigurationError(
            "[archive] hook: contains a password; leave it out, every request is signed"
        )
    is_base64 = secret.startswith(SECRET_PREFIX)
    try:
        encoded = secret.removeprefix(SECRET_PREFIX)
        key = base64.b64decode(encoded, validate=True) if is_base64 else secret.encode()
    except ValueError as error:
        raise ConfigurationError(
            "[archive] hook_secret_env: the secret is not base64 after whsec_; make one with: "
            "echo whsec_$(openssl rand -base64 32)"
        ) from error
    if len(key) < SECRET_BYTES:
        raise ConfigurationError(
            f"[archive] hook_secret_env: the secret has {len(key)} bytes, and {SECRET_BYTES} are "
            "needed; make one with: echo whsec_$(openssl rand -base64 32)"
        )
    return HookTarget(url, key, as_cloudevents)


def signature(secret: bytes, identity: str, moment: int, body: bytes) -> str:
    """Return the header `webhook-signature` of a message; `moment` is Unix time in seconds."""
    signed = f"{identity}.{moment}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(secret, signed, hashlib.sha256)).decode()


def envelope(row: Mapping[str, Any], *, as_cloudevents: bool) -> dict[str, Any]:
    """Return a message of the archive as it is sent: CloudEvents, or topic and payload.

    ValueError where the row is no message of the contract: somebody else wrote it.
    """
    content = message_of(row["table_name"], row["topic"], row["payload"].encode())
    prefix = PREFIX.format(site=row["site"], table=row["table_name"])
    if not as_cloudevents:
        return {"topic": prefix + row["topic"], "payload": content}
    kind = "alert" if row["topic"].startswith("alert/") else row["topic"].replace("/", "-")
    return {
        "specversion": "1.0",
        "id": identity_of(row),
        "source": "/" + prefix.rstrip("/"),
        "type": f"shoe-reader.{kind}.v{content.get('schema', 1)}",
        "subject": row["topic"],
        "time": iso(row["at"]),
        "datacontenttype": "application/json",
        "data": content,
    }


def identity_of(row: Mapping[str, Any]) -> str:
    """Return the identity of a message: the same however often it is sent."""
    parts = (row["site"], row["table_name"], row["boot"], str(row["seq"]), row["mark"])
    return ".".join(part for part in parts if part)


class HookRefusedError(Exception):
    """The address does not take this message, whatever it does with others."""


class Hook:
    """Serves one address from an archive, in a thread of its own."""

    def __init__(self, engine: Engine, target: HookTarget) -> None:
        """Begin with the archive's next message, or where this address was last served."""
        self._engine = engine
        self._target = target
        self._failures = 0  # of the message that is due
        self._stopping, self._news = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="archive-hook", daemon=True)
        self._arrival = self._begin()

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def wake(self) -> None:
        """Announce that the archive has grown."""
        self._news.set()

    def stop(self) -> None:
        """Send no more; what was not taken is sent at the next start."""
        self._stopping.set()
        self._news.set()
        if self._thread.is_alive():
            self._thread.join(JOIN_S)

    def _begin(self) -> int:
        served = select(hook.c.arrival).where(hook.c.url == self._target.url)
        with explained(self._engine), self._engine.begin() as connection:
            arrival = connection.execute(served).scalar()
            if arrival is None:
                arrival = connection.execute(select(func.max(message.c.arrival))).scalar() or 0
                row = {"url": self._target.url, "arrival": arrival}
                connection.execute(joining(connection, hook), row)
        return int(arrival)

    def _run(self) -> None:
        delay, said = FIRST_RETRY_S, ""
        while not self._stopping.is_set():
            try:
                sent = self._send_some()
            except Exception as error:  # noqa: BLE001  # whatever it is, the thread goes on
                words = f"{type(error).__name__}: {error}"
                if words != said:
                    log.warning(
                        "%s: %s; trying again, nothing is lost", self._target.url, ascii(words)
                    )
                said = words
                self._stopping.wait(delay)
                delay = min(2 * delay, LAST_RETRY_S)
                continue
            delay, said = FIRST_RETRY_S, ""
            if not sent:
                self._news.wait(LOOK_S)
                self._news.clear()

    def _send_some(self) -> int:
        """Send what has come since; return how many. Whatever it raises: try again."""
        query = select(message).where(message.c.arrival > self._arrival)
        with explained(self._engine), self._engine.connect() as connection:
            found = connection.execute(query.order_by(message.c.arrival).limit(AT_ONCE))
            rows = [dict(row) for row in found.mappings()]
        for row in rows:
            if self._stopping.is_set():
                break
            try:
                self._send(row)
            except (OSError, http.client.HTTPException, OutsideError):
                raise  # the address is away
            except Exception as error:
                self._failures += 1
                if self._failures < TRIES:
                    raise
                self._pass(row, f"the web hook did not take it: {error}")
            else:
                self._pass(row)
        return len(rows)

    def _pass(self, row: Mapping[str, Any], why: str = "") -> None:
        """Note that a message was taken, or why it is set aside; OutsideError."""
        values = {"url": self._target.url, "arrival": row["arrival"]}
        with explained(self._engine), self._engine.begin() as connection:
            connection.execute(joining(connection, hook), values)
            if why:
                kept = {name: row[name] for name in row if name in apart.columns}
                kept |= {"mark": f"hook {row['arrival']}", "why": ascii(why)}
                connection.execute(once(connection, apart), kept)
        if why:
            log.error(
                "message %d on %s is kept apart, the web hook goes on without it: %s; check the "
                "program there",
                row["seq"],
                ascii(row["topic"]),
                ascii(why),
            )
        self._arrival, self._failures = row["arrival"], 0

    def _send(self, row: Mapping[str, Any]) -> None:
        """Send one message; OSError, OutsideError, or ValueError where it can be sent nowhere."""
        target = urlsplit(self._target.url)
        content = envelope(row, as_cloudevents=self._target.as_cloudevents)
        body = json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()
        moment, identity = int(time.time()), identity_of(row)
        kind = "cloudevents+json" if self._target.as_cloudevents else "json"
        headers = {
            "Content-Type": f"application/{kind}; charset=utf-8",
            "webhook-id": identity,
            "webhook-timestamp": str(moment),
            "webhook-signature": signature(self._target.secret, identity, moment, body),
        }
        is_tls = target.scheme == "https"
        make = http.client.HTTPSConnection if is_tls else http.client.HTTPConnection
        connection = make(str(target.hostname), target.port, timeout=ANSWER_S)
        path = (target.path or "/") + (f"?{target.query}" if target.query else "")
        try:
            connection.request("POST", path, body, headers)
            answer = connection.getresponse()
            answer.read()
        finally:
            connection.close()
        words = f"{answer.status} {answer.reason}"
        if answer.status in OF_THE_MESSAGE:
            raise HookRefusedError(f"the hook refused a message: {words}; check the program there")
        if answer.status // 100 != 2:
            raise OutsideError(f"the hook answered {words}; check the program there")
