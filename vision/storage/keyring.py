"""The ring of public keys of a house: which key was good from when to when, and which is revoked.

Whoever audits keeps it, as they keep a .pub file; it holds no secret.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from vision.errors import ConfigurationError
from vision.files import write_json
from vision.storage.anchors import fingerprint, is_term_signed
from vision.wire.messages import iso, unix_ms
from vision.wire.term import Proves, unproven

FILE_LIMIT = 1024 * 1024  # bytes; some thousands of keys, beyond it is not a ring


@dataclass(frozen=True, slots=True)
class RingKey:
    """A key and when its signatures count, in Unix ms; `None`: no limit.

    One that is `revoked` vouches for nothing by itself, whatever time a signature claims: whoever
    has it can write any. Signatures by a good key behind them cover what it signed.
    """

    key: Ed25519PublicKey
    since: int | None = None
    until: int | None = None
    revoked: int | None = None
    why: str = ""

    def counts(self, at: int) -> bool:
        """Whether a signature of that moment counts."""
        after = self.since is None or self.since <= at
        before = self.until is None or at <= self.until
        return self.revoked is None and after and before


Ring = dict[str, RingKey]  # by fingerprint


def load_ring(path: Path) -> Ring:
    """Read a ring; ConfigurationError when it is none."""
    cure = "give a file that shoe-reader log keys add has made"
    try:
        content = json.loads(path.read_bytes()[:FILE_LIMIT])
        return {name: _key(entry) for name, entry in content["keys"].items()}
    except OSError as error:
        raise ConfigurationError(
            f"cannot read the ring {path}: {error.strerror}; {cure}"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigurationError(f"{path} is not a ring of keys ({error}); {cure}") from error


def _key(entry: dict[str, Any]) -> RingKey:
    public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(entry["public"]))
    since, until, revoked = (
        unix_ms(entry[name]) if entry.get(name) else None for name in ("from", "until", "revoked")
    )
    return RingKey(public, since, until, revoked, str(entry.get("why", "")))


def save_ring(path: Path, ring: Ring) -> None:
    """Replace the ring in one step; WriteError."""
    write_json(path, {"keys": {name: _entry(key) for name, key in ring.items()}}, mode=0o644)


def _entry(key: RingKey) -> dict[str, str]:
    moments = {"from": key.since, "until": key.until, "revoked": key.revoked}
    known = {name: iso(at) for name, at in moments.items() if at is not None}
    why = {"why": key.why} if key.why else {}
    return {"public": key.key.public_bytes_raw().hex(), **known, **why}


def term_check(ring: str, site: str, table: str) -> Proves:
    """Return what says whether a term of a table is signed by a key of the ring in that file.

    Each term counts where no ring is named. ConfigurationError.
    """
    if not ring:
        return unproven
    keys = load_ring(Path(ring))

    @lru_cache(maxsize=64)  # the proof is the same on all messages of a term
    def is_proven(term: int, proof: str) -> bool:
        named = keys.get(proof.partition(":")[0])
        if named is None or named.revoked is not None:
            return not term
        return is_term_signed(proof, site, table, term, named.key)

    return is_proven


def added(ring: Ring, key: RingKey) -> Ring:
    """Return the ring with a key more; ConfigurationError when it is there already."""
    name = fingerprint(key.key)
    if name in ring:
        raise ConfigurationError(f"key {name} is already in the ring")
    return {**ring, name: key}


def changed(ring: Ring, name: str, **values: object) -> Ring:
    """Return the ring with a key's limits changed; ConfigurationError when it is not there."""
    if name not in ring:
        raise ConfigurationError(
            f"key {name} is not in the ring; it has {', '.join(ring) or 'none'}"
        )
    return {**ring, name: replace(ring[name], **values)}  # type: ignore[arg-type]
