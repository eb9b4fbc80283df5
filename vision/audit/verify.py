"""Verify a log, whole or in part: its chain, its signatures, its orders.

An audit needs no network and trusts only the public keys it is given. A fault is an OutsideError
that names the first bad record.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from vision.access.command_gate import is_ordered, order_fault
from vision.clock import DAY_MS
from vision.errors import OutsideError
from vision.game.events import Started, Stopped
from vision.record.chain import BrokenChainError, of_record
from vision.record.codec import Record, event_from_json
from vision.record.facts import OF_THE_READER, Anchored, EvidenceKept, Fact, LogBegun, Recorded
from vision.storage.anchors import RingKey, fingerprint, is_signed
from vision.storage.log_reader import WHOLE, CheckpointMark, Taken, Walk, opened
from vision.storage.retention import LogLimits, Went
from vision.wire.messages import iso

NAMED = 20  # records that a line names; more would hide what else is wrong
PROOFS = frozenset(kind.__name__ for kind in (Anchored, EvidenceKept, LogBegun))
# Signed as they are written, as checkpoints and what the reader itself knows.
LIMITS_OF_A_RUN = (Started.__name__, Stopped.__name__)


@dataclass(frozen=True, slots=True)
class Trust:
    """What a log is held against: public keys, and anchors kept elsewhere, each with its table.

    `ring` says when a key counts; one that is not there counts always.
    """

    keys: tuple[Ed25519PublicKey, ...] = ()
    anchors: tuple[tuple[str, str, Anchored], ...] = ()
    ring: Mapping[str, RingKey] = field(default_factory=dict)

    def counts(self, anchor: Anchored) -> bool:
        """Whether a signature by the key that the anchor names counts at its moment."""
        key = self.ring.get(anchor.key)
        return key is None or key.counts(anchor.at)


@dataclass(slots=True)
class Found:
    """What an audit has found so far.

    `signed` is the last good anchor, `unproved` counts those whose key was not given, `unsigned` is
    the first later record of a kind that is signed as it is written. `gaps` are what was pruned,
    `unsealed` the records of prunings that nobody signed at once. `signers` are the keys that
    signed, in their order, `lapsed` counts signatures of keys that did not count then. `begun`
    names the log that this one goes on from. `gone` counts anchors kept elsewhere that lie in a
    gap, `orders` are key and nonce of those that were verified, `orders_unproved` counts those of
    a time at which the log does not name the keys, `unordered` are records of a desk's facts
    without an order, `adopted` records that say which (first, last) were taken over unsigned.
    `stored` is the evidence that the log names, `deleted` its files that it says were deleted.
    `installed` has each installation that read (`Started.identity`) with when it first ran.
    """

    site: str
    table: str
    log_id: str
    last: Record
    first: int = 0
    events: int = 0
    began: int | None = None
    ended: int | None = None
    anchors: int = 0
    unproved: dict[str, int] = field(default_factory=dict)
    signed: Anchored | None = None
    unsigned: int | None = None
    elsewhere: int = 0
    gaps: list[tuple[int, int]] = field(default_factory=list)
    unsealed: list[int] = field(default_factory=list)
    gone: int = 0
    signers: list[str] = field(default_factory=list)
    lapsed: dict[str, int] = field(default_factory=dict)
    begun: LogBegun | None = None
    orders: set[tuple[object, object]] = field(default_factory=set)
    orders_unproved: int = 0
    unordered: list[int] = field(default_factory=list)
    adopted: list[tuple[int, int, int]] = field(default_factory=list)
    stored: list[EvidenceKept] = field(default_factory=list)
    deleted: set[str] = field(default_factory=set)
    installed: dict[str, int] = field(default_factory=dict)


def audit(
    records: Iterable[Record], trust: Trust, begin: CheckpointMark = WHOLE, walk: Walk | None = None
) -> Found:
    """Verify a log, or record 0 and the part of one from `begin` on.

    BrokenChainError or OutsideError.
    """
    auditor = Auditor(trust, begin, walk)
    for record, content in opened(records, begin):
        auditor.take(record, content)
    return auditor.found()


class Auditor:
    """Holds records whose chain is verified, one after another, against what is trusted."""

    def __init__(
        self, trust: Trust, begin: CheckpointMark = WHOLE, walk: Walk | None = None
    ) -> None:
        """Begin with record 0, then with that of `begin`; `walk` folds the records, if given."""
        self._trust = trust
        self._first, self._before = begin.number, begin.before
        self._walk = walk or Walk(begin.number)
        self._found: Found | None = None
        # Those kept elsewhere that are worth anything; without a key, each is taken at its word. A
        # line that is not signed was put in by anybody, and proves nothing against the log.
        self._elsewhere = [
            anchor
            for site, table, anchor in trust.anchors
            if (not trust.keys or any(is_signed(anchor, site, table, key) for key in trust.keys))
            and trust.counts(anchor)
        ]
        self._wanted = {anchor.number for anchor in self._elsewhere}
        self._hashes: dict[int, str] = {}  # of the records that an anchor kept elsewhere names
        self._anchored: set[int] = set()  # those of them that an anchor in the log signs
        self._pruning: int | None = None  # the record of a pruning that is not yet signed
        self._signs = False  # whether the log was signed before that pruning
        self._went: list[tuple[int, Went]] = []
        self._checkpoints: dict[int, int] = {}  # the time of each, by its record
        self._lapsed = 0  # the last record of a pruning signed by a key that does not count

    def take(self, record: Record, content: Mapping[str, Any]) -> Taken:
        """Take the next record; BrokenChainError or OutsideError when it is not what was signed.

        Whatever a record holds, its number is in the words.
        """
        with of_record(record.number):
            return self._take(record, content)

    def _take(self, record: Record, content: Mapping[str, Any]) -> Taken:
        taken = self._walk.take(record, content)
        found = self._found
        if found is None:
            site, table = str(content["log"].get("site")), str(content["log"].get("table"))
            self._found = Found(site, table, record.hash, record, self._first)
            self._hashes[0] = record.hash
            self._before = self._before if self._first else record.hash
            return taken
        if record.number in self._wanted:
            self._hashes[record.number] = record.hash
        self._take_pruning(found, taken)
        if "desk" in content:
            found.unsigned = found.unsigned or record.number
        if isinstance(content.get("event"), dict):
            self._take_event(found, record, content["event"])
        _take_order(found, taken)
        found.last, self._before = record, record.hash
        return taken

    def _take_pruning(self, found: Found, taken: Taken) -> None:
        number = taken.record.number
        if self._pruning is not None and number > self._pruning + 1:
            self._doubt_pruning(found, self._pruning)
        before = taken.before
        if "desk" in taken.content and taken.after is not None:
            self._checkpoints[number] = taken.after.table.clock
        if "pruned" in taken.content:
            self._pruning = number
            self._signs = found.signed is not None or (
                before is not None and bool(before.register.key)
            )
            found.gaps = [(first, last) for first, last, _ in taken.content["pruned"]]
        if "went" in taken.content and before is not None:
            went = Went(**taken.content["went"])
            _refuse_early(number, went, before.table.clock, found.gaps)
            self._went.append((number, went))

    @property
    def signed_up_to(self) -> int:
        """The last record that a good signature by a given key covers, -1 where there is none."""
        signed = None if self._found is None else self._found.signed
        return -1 if signed is None else signed.number

    def found(self) -> Found:
        """Return what was found, once all records were taken and the trusted anchors fit them."""
        if self._found is None:
            raise BrokenChainError(0, "is not the header of a log")
        signed = self._found.signed
        covered = signed is not None and self._lapsed < signed.number
        if self._pruning is None and self._lapsed and not covered:
            self._pruning = self._lapsed  # nobody but a key that does not count vouches for it
        if self._pruning is not None:
            self._doubt_pruning(self._found, self._pruning)
        anchors = [each for each in self._elsewhere if each.log == self._found.log_id]
        for number, went in self._went:
            self._date(number, went, anchors)
        self._compare(self._found, anchors)
        self._walk.end()
        return self._found

    def _doubt_pruning(self, found: Found, number: int) -> None:
        """Take note of a pruning that nobody signed; refuse it where this log signs them."""
        self._pruning = None
        if self._trust.keys and self._signs:
            raise OutsideError(
                f"record {number} says that records were pruned, but no signature by a given key "
                "follows it at once: they were removed without the key; "
                f"{_stretch(found, number)}"
            )
        found.unsealed.append(number)

    def _take_event(self, found: Found, record: Record, event: Mapping[str, Any]) -> None:
        found.events += 1
        found.ended = event["at"]
        iso(found.ended)  # or it is no time
        found.began = found.ended if found.began is None else found.began
        if event.get("is") in LIMITS_OF_A_RUN or event.get("kind") in OF_THE_READER:
            found.unsigned = found.unsigned or record.number
        if event.get("is") == Started.__name__ and event.get("identity"):
            found.installed.setdefault(str(event["identity"]), found.ended)
        if event.get("kind") == Fact.UNSIGNED_STORED:
            stored = json.loads(event["detail"])
            found.adopted.append((record.number, int(stored["first"]), int(stored["last"])))
        if event.get("kind") == Fact.EVIDENCE_DELETED:
            found.deleted |= {str(name) for name in json.loads(event["detail"])}
        if event.get("is") not in PROOFS:
            return
        proof = event_from_json(event)
        if isinstance(proof, LogBegun):
            found.begun = proof
        if isinstance(proof, EvidenceKept):
            found.stored.append(proof)
        elif isinstance(proof, Anchored):
            self._verify(found, record.number, proof)

    def _verify(self, found: Found, number: int, anchor: Anchored) -> None:
        """Hold an anchor of the log against the record before it and the keys."""
        if (anchor.number, anchor.hash, anchor.log) != (number - 1, self._before, found.log_id):
            raise _forged(found, anchor, number - 1)
        found.anchors += 1
        self._anchored |= {anchor.number} & self._wanted
        key = next((key for key in self._trust.keys if fingerprint(key) == anchor.key), None)
        if key is None:
            found.unproved[anchor.key] = found.unproved.get(anchor.key, 0) + 1
            found.unsigned = found.unsigned or number
            return
        if not is_signed(anchor, found.site, found.table, key):
            raise OutsideError(
                f"record {number}: the signature of record {number - 1} is not by key "
                f"{anchor.key}; {_stretch(found, number)}"
            )
        if not self._trust.counts(anchor):
            found.lapsed[anchor.key] = found.lapsed.get(anchor.key, 0) + 1
            if anchor.why == "prune" and anchor.number == self._pruning:
                self._lapsed, self._pruning = self._pruning, None
            return
        if anchor.key in found.signers[:-1]:
            raise OutsideError(
                f"record {number} is signed by key {anchor.key}, though key {found.signers[-1]} "
                f"had taken over before; {_stretch(found, number)}"
            )
        if anchor.key not in found.signers:
            found.signers.append(anchor.key)
        found.signed, found.unsigned = anchor, None
        if anchor.why == "prune" and anchor.number == self._pruning:
            self._pruning = None

    def _date(self, number: int, went: Went, anchors: Sequence[Anchored]) -> None:
        """Hold the time of what went against what was signed of it, and the checkpoint behind."""
        moments = [(n, at) for n, at in self._checkpoints.items() if n == went.last + 1]
        moments += [(a.number, a.at) for a in anchors if went.first <= a.number <= went.last]
        for record, at in moments:
            if at > went.until:
                raise OutsideError(
                    f"record {number} says that records {went.first} to {went.last} were of before "
                    f"{iso(went.until)}, but record {record} is of {iso(at)}: they were pruned "
                    "before their time; keep the log, and compare it with a backup"
                )

    def _compare(self, found: Found, anchors: Sequence[Anchored]) -> None:
        """Hold the log against the anchors kept elsewhere."""
        if self._trust.anchors and not anchors:
            raise OutsideError(
                "the file of anchors holds none of this log: its first record was changed, the "
                "log is another, or --anchors or --public-key is"
            )
        for anchor in sorted(anchors, key=lambda anchor: anchor.number):
            if anchor.number < max(found.first, 1):
                continue
            if anchor.number > found.last.number and found.first:
                continue  # of what comes after the part
            if anchor.number > found.last.number:
                raise OutsideError(
                    f"record {found.last.number + 1} is missing: record {anchor.number} was "
                    f"signed {iso(anchor.at)}, but the log ends before it"
                )
            if any(first <= anchor.number <= last for first, last in found.gaps):
                found.gone += 1
                continue
            if self._hashes.get(anchor.number) != anchor.hash:
                raise _forged(found, anchor, anchor.number)
            if anchor.number < found.last.number and anchor.number not in self._anchored:
                raise OutsideError(
                    f"record {anchor.number + 1} is not the signature that was made of the record "
                    "before it: signatures were removed; keep the log as evidence, and compare "
                    "it with a backup"
                )
            found.elsewhere += 1
            if self._trust.keys and (found.signed is None or found.signed.number < anchor.number):
                found.signed = anchor


def _refuse_early(number: int, went: Went, now: int, gaps: Iterable[tuple[int, int]]) -> None:
    """Refuse a pruning of what was not to go yet at the time of its record; OutsideError."""
    stored = number - sum(last - first + 1 for first, last in gaps) + went.last - went.first + 1
    limits = LogLimits(went.keep_days, went.keep_days, went.max_mb)
    is_due = (
        now - went.until >= went.keep_days * DAY_MS if went.why == "age" else limits.is_full(stored)
    )
    if not is_due:
        raise OutsideError(
            f"record {number} says that records {went.first} to {went.last} went by {went.why}, "
            f"but {went.keep_days:g} days had not passed, nor were {stored} records too many: they "
            "were pruned before their time; keep the log, and compare it with a backup"
        )


def _take_order(found: Found, taken: Taken) -> None:
    """Hold an order against the key of its giver; an order without a signature is a forgery."""
    if not is_ordered(taken.content):
        return
    if taken.before is None or not taken.before.register.users:
        found.orders_unproved += 1
        if "order" not in taken.content and taken.content["event"]["is"] == Recorded.__name__:
            found.unordered.append(taken.record.number)
        return
    fault = order_fault(taken.before, taken.content)
    fields = {} if fault else taken.content["order"]["fields"]
    if fault or (fields.get("key"), fields.get("nonce")) in found.orders:
        fault = fault or "had been given already: it stands in an earlier record"
        raise OutsideError(f"record {taken.record.number}: the order {fault}")
    found.orders.add((fields.get("key"), fields.get("nonce")))


def _forged(found: Found, anchor: Anchored, number: int) -> OutsideError:
    return OutsideError(
        f"record {number} is not what was signed {iso(anchor.at)}: the chain was computed again; "
        f"{_stretch(found, number)}"
    )


def _stretch(found: Found, number: int) -> str:
    since = found.first if found.signed is None else found.signed.number + 1
    return f"the first bad record lies in {since} to {number}"


def demand_signature(found: Found) -> None:
    """Refuse a log that is held against a public key and is not signed, or no longer."""
    if found.signed is None:
        others = f" (it is signed by {', '.join(found.unproved)})" if found.unproved else ""
        raise OutsideError(
            f"no anchor by the given key covers this log{others}: it is another key, or the "
            "anchors were removed and the chain was computed again"
        )
    if found.unsigned is not None:
        raise OutsideError(
            f"record {found.unsigned} begins or ends a run or a shoe and was not signed, though "
            f"the log was up to record {found.signed.number}: it was inserted, or signatures were "
            "removed; compare with the anchors kept elsewhere (--anchors)"
        )


def words(found: Found, trust: Trust) -> Iterator[str]:
    """Yield what was found, a line each, for people."""
    if not found.anchors and not found.elsewhere:
        yield (
            "UNSIGNED: whoever can write this file could make the whole chain again; set [log] "
            "signing_key (shoe-reader log keys make)"
        )
    elif not trust.keys:
        named = ", ".join(sorted(found.unproved)) or "unknown"
        yield (
            f"{found.anchors} signatures by key {named} fit the chain, but were NOT verified: give "
            "--public-key"
        )
    elif found.signed is not None:
        yield (
            f"signed up to record {found.signed.number}, {iso(found.signed.at)}, by key "
            f"{found.signed.key}: {found.anchors - sum(found.unproved.values())} anchors in the "
            f"log, {found.elsewhere} kept elsewhere, every one good"
        )
        if found.last.number > found.signed.number + 1:
            yield (
                f"NOT YET SIGNED: records {found.signed.number + 1} to {found.last.number}; they "
                "are sure only once the next anchor stands"
            )
    for key, many in found.lapsed.items():
        yield f"{many} signatures by key {key} do NOT count: by the ring it was not good then"
    yield from _gap_words(found, trust)
    yield from _order_words(found)
    for number, first, last in found.adopted:
        yield f"records {first} to {last} were signed afterwards: nobody had, says record {number}"
    for identity, at in found.installed.items():
        yield f"from {iso(at)} read by installation {identity}: compare it with the approved one"
    yield f"hash of the last record: {found.last.hash}"


def _order_words(found: Found) -> Iterator[str]:
    if found.orders:
        yield f"{len(found.orders)} orders are signed by the key that their giver had then"
    if found.orders_unproved:
        yield (
            f"{found.orders_unproved} orders were NOT verified: the log did not name the keys of "
            "people then"
        )
    if found.unordered:
        yield (
            f"NOT PROVEN: no order stands behind what a desk reported, in {len(found.unordered)} "
            f"records: {', '.join(map(str, found.unordered[:NAMED]))}"
        )


def is_proven(found: Found, trust: Trust) -> bool:
    """Whether all that the log has to prove it was verified; an unsigned log has nothing."""
    return not (found.unsealed or found.unordered or (found.anchors and not trust.keys))


def _gap_words(found: Found, trust: Trust) -> Iterator[str]:
    for first, last in found.gaps:
        yield f"PRUNED: records {first} to {last} are not here any more"
    if found.gone:
        yield f"{found.gone} anchors kept elsewhere are of pruned records"
    if found.unsealed:
        yield (
            f"NOT PROVEN: the prunings of records {', '.join(map(str, found.unsealed))} were not "
            "signed at once: the log was not signed then; compare with a backup or an export made "
            "before them"
        )
    elif found.gaps and not trust.keys:
        yield "who took them out was NOT verified: give --public-key"
