"""Proof d: random tamperings with a signed log: of a record, of the chain, with the key."""

from __future__ import annotations

import math
import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.access.signing import forged, is_found, sign_log, tampered, without_anchors_elsewhere
from tests.chaos.outcome import Done, LimitBrokenError, rounds
from tests.table_log import PLAYS
from vision.audit.verify import Trust
from vision.record.codec import Record
from vision.storage.anchors import LogSigner
from vision.storage.log_reader import read_log


@dataclass(frozen=True, slots=True)
class Signed:
    """A signed log, what proves it, and its key."""

    records: list[Record]
    trust: Trust
    signer: LogSigner


# Tampers once; returns what was done, and whether the audit found it.
Deed = Callable[[Signed, random.Random], tuple[str, bool]]


def one_record(log: Signed, draw: random.Random) -> tuple[str, bool]:
    """Change one record and nothing else: found at that record."""
    changed, first_bad = tampered(log.records, draw)
    reported = is_found(changed, without_anchors_elsewhere(log.trust))
    return f"record {first_bad}", f"record {first_bad}" in reported


def chain_anew(log: Signed, draw: random.Random) -> tuple[str, bool]:
    """Tamper without the key and make the chain anew: found by the signatures."""
    changed, done = forged(log.records, draw)
    return done, bool(is_found(changed, without_anchors_elsewhere(log.trust)))


def with_the_key(log: Signed, draw: random.Random) -> tuple[str, bool]:
    """Tamper with the key and sign anew: found by the anchors that are kept elsewhere."""
    changed, done = forged(log.records, draw, log.signer)
    return done, bool(is_found(changed, log.trust))


def run(deed: Deed, count: int, seconds: float = math.inf, seed: int = 1) -> Done:
    """Tamper so often, or until the time is over; LimitBrokenError where one is not found."""
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trust = sign_log(folder, PLAYS["clean"]().events)
        signer = LogSigner(folder / "key", folder / "unused", "house", "7", every_s=20)
        log = Signed(list(read_log(folder / "t.sqlite")), trust, signer)
        assert not is_found(log.records, trust), "the log is not good to begin with"
        deeds = [deed(log, draw) for _ in rounds(count, seconds)]
    missed = [done for done, found in deeds if not found]
    if missed:
        words = f"{len(missed)} of {len(deeds)} not found: {missed[:9]}"
        raise LimitBrokenError(words, wrong=len(missed))
    return Done(len(deeds), f"{len(deeds)} of {len(deeds)} found")
