"""Proof d: a thousand random tamperings with a signed log, half by who makes the chain anew."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

from tests.access.signing import forged, is_found, sign_log, tampered, without_anchors_elsewhere
from tests.table_log import PLAYS
from vision.storage.log_reader import read_log


def run(count: int, seed: int = 1) -> str:
    """Tamper so often; return what was found. AssertionError at the first that is not."""
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as scratch:
        trust = sign_log(Path(scratch), PLAYS["clean"]().events)
        records = list(read_log(Path(scratch) / "t.sqlite"))
    key_only = without_anchors_elsewhere(trust)
    for number in range(count // 2):
        changed, first_bad = tampered(records, draw)
        assert f"record {first_bad}" in is_found(changed, key_only), (seed, number)
    for number in range(count - count // 2):
        changed, done = forged(records, draw)
        assert is_found(changed, key_only), (seed, number, done)
    return (
        f"{count // 2} of {count // 2} tamperings found at their record, "
        f"{count - count // 2} of {count - count // 2} found with the chain made anew"
    )
