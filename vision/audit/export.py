"""Write a log, or a part of it, as a folder or .zip that proves itself, and verify such exports.

It holds the records with their hashes, the evidence they name, the anchors and the public key, and
a receipt of what was verified; `shoe-reader audit` verifies it anywhere.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from itertools import chain, groupby, takewhile
from pathlib import Path

from vision.audit.verify import Auditor, Found, Trust, audit, demand_signature
from vision.errors import ConfigurationError, OutsideError
from vision.files import refuse_existing
from vision.record.chain import record_line
from vision.record.codec import GENESIS, Record, event_from_json
from vision.record.facts import Anchored, EvidenceKept
from vision.storage.anchors import anchor_line, fingerprint, public_pem
from vision.storage.evidence import file_name
from vision.storage.log_reader import (
    WHOLE,
    CheckpointMark,
    Taken,
    checkpoints,
    exported,
    is_table,
    opened,
    read_log,
    read_part,
)
from vision.version import VERSION
from vision.wire.session import TableSession


@dataclass(frozen=True, slots=True)
class Part:
    """What is asked for: a shoe, or one coup (of the last shoe that has it)."""

    shoe: str = ""
    coup: int | None = None

    def __str__(self) -> str:
        shoe = [f"shoe {self.shoe}"] if self.shoe else []
        coup = [] if self.coup is None else [f"coup {self.coup}"]
        return ", ".join([*shoe, *coup])


class Selection:
    """Finds the records of a part among all records of a log, taken one after another.

    What a record came to counts, because it says little of the shoe and coup that it concerns.
    """

    def __init__(self, part: Part, begin: CheckpointMark = WHOLE) -> None:
        """Begin with record 0, then with that of `begin`."""
        self._part = part
        self._begin = begin.number - 1, begin.before
        self._session: TableSession | None = None
        # First and last record and the hash before them, by shoe, in the order found.
        self._found: dict[str, tuple[int, int, str]] = {}
        self._anchors: list[int] = []
        self._gaps: list[int] = []
        self._last = -1, GENESIS  # number and hash of the record taken last

    def take(self, taken: Taken) -> None:
        """Take the next record of a walk."""
        record = taken.record
        number, previous = self._last
        if record.number != number + 1:
            self._gaps.append(record.number)
        self._session = taken.after
        for shoe in _shoes_of(taken, self._part):
            first, _, before = self._found.get(shoe, (record.number, 0, previous))
            self._found[shoe] = first, record.number, before
        if taken.content.get("event", {}).get("is") == Anchored.__name__:
            self._anchors.append(record.number)
        self._last = max((record.number, record.hash), self._begin)

    @property
    def is_found(self) -> bool:
        """Whether some record belongs to the part."""
        return bool(self._found)

    @property
    def is_whole(self) -> bool:
        """Whether the part was found and no later record can belong to it.

        Its shoe is over, no alert of it is open, and its end is signed if the log is.
        """
        if not self._found or self._session is None:
            return False
        table = self._session.table
        of_it = [
            stored.alert for stored in table.earlier_alerts if stored.alert.shoe in self._found
        ]
        last = max(last for _, last, _ in self._found.values())
        signed = not self._anchors or self._anchors[-1] > last
        return table.shoe.name not in self._found and not of_it and signed

    def stretch(self, log: Path) -> tuple[int, int, str]:
        """Return the first and last record of the part, and the hash before the first.

        A part goes on to the next anchor, so that its end is signed. ConfigurationError when `log`
        has no such part, or records within it have been pruned.
        """
        part = self._part
        if not self._found:
            raise ConfigurationError(
                f"{log} has no {part}; shoe-reader replay {log} shows what it has"
            )
        first, last, previous = self._found[list(self._found)[-1]]
        last = next((anchor for anchor in self._anchors if anchor > last), last)
        if any(first < gap <= last for gap in self._gaps):
            raise ConfigurationError(f"{log}: part of {part} has been pruned; ask for a later part")
        return first, last, previous


def _shoes_of(taken: Taken, part: Part) -> set[str]:
    step = taken.step
    if step is None or taken.before is None:
        return set()
    if part.coup is None:
        named = {taken.before.table.shoe.name, step.session.table.shoe.name}
    else:
        event = event_from_json(taken.content["event"])
        facts = [event, *(getattr(output, "alert", output) for output in step.outputs)]
        named = {
            str(getattr(fact, "shoe", ""))
            for fact in facts
            if getattr(fact, "coup", 0) == part.coup
        }
    return {shoe for shoe in named if shoe and part.shoe in ("", shoe)}


RECORDS, ANCHORS, RECEIPT, EVIDENCE = "records.jsonl", "anchors.jsonl", "receipt.json", "evidence"
FORMAT = 1  # of the receipt; a reader of exports refuses what it does not know
LARGEST_FILE = 64 * 1024 * 1024  # bytes; a clip has about 4 MB, and more would fill the memory


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources of an export; `evidence` is the folder of an `EvidenceStore`."""

    log: Path
    evidence: Path
    trust: Trust = field(default_factory=Trust)


def write_archive(sources: Sources, out: Path, part: Part | None = None) -> dict[str, object]:
    """Verify the log and write it, or a part of it; return the receipt.

    `out` becomes a folder, or one file where it ends in .zip. ConfigurationError when it is there
    already; BrokenChainError or OutsideError when the log is not what it was, or the disk refuses.
    """
    refuse_existing(out)
    stretch = _audited(sources, part)
    try:
        with tempfile.TemporaryDirectory(dir=out.absolute().parent, prefix=".export-") as scratch:
            folder = Path(scratch) / "archive"
            folder.mkdir()
            receipt = _fill(folder, sources, stretch)
            if out.suffix == ".zip":
                folder = Path(shutil.make_archive(str(folder), "zip", folder))
            folder.rename(out)
    except OSError as error:
        raise OutsideError(
            f"cannot write the export {out}: {error.strerror}; give a path in a folder that "
            "exists, is writable and has room"
        ) from error
    return receipt


def _audited(sources: Sources, part: Part | None) -> tuple[int, int, str]:
    """Verify what is exported; return its first and last record, and the hash before it."""
    if part is None:
        found = audit(read_log(sources.log), sources.trust)
        if sources.trust.keys:
            demand_signature(found)
        return 0, found.last.number, GENESIS
    selection = Selection(part)
    for begin in _beginnings(sources.log, part):
        selection = _searched(sources, part, begin)
        if selection.is_found:
            break
    return selection.stretch(sources.log)


def _searched(sources: Sources, part: Part, begin: CheckpointMark) -> Selection:
    """Look for the part from a checkpoint on, verifying as far as that takes."""
    auditor = Auditor(sources.trust, begin)
    selection = Selection(part, begin)
    for record, content in opened(read_part(sources.log, begin.number), begin):
        selection.take(auditor.take(record, content))
        if selection.is_whole:
            break
    found = auditor.found()
    if sources.trust.keys and selection.is_found:
        demand_signature(found)
    return selection


def _beginnings(log: Path, part: Part) -> Iterator[CheckpointMark]:
    """Yield where to begin to look for a part, the likeliest first.

    A shoe begins with a checkpoint, so that of another shoe need not be read.
    """
    found = checkpoints(log) if log.exists() and is_table(log) else iter(())
    marks = chain([next(found, WHOLE)], found)
    for shoe, same in groupby(marks, lambda mark: mark.shoe):
        if part.shoe in ("", shoe) or not shoe:
            yield list(same)[-1]


def _fill(folder: Path, sources: Sources, stretch: tuple[int, int, str]) -> dict[str, object]:
    """Write everything but the receipt, verify it, and write the receipt."""
    first, last, previous = stretch
    part = takewhile(lambda record: record.number <= last, read_part(sources.log, first))
    with (folder / RECORDS).open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(record_line(record) + "\n" for record in part)
    anchors = [anchor_line(*line) for line in sources.trust.anchors]
    (folder / ANCHORS).write_text("".join(anchors), "utf-8")
    for key in sources.trust.keys:
        (folder / f"{fingerprint(key)}.pub").write_bytes(public_pem(key))
    begin = CheckpointMark(first, previous)
    found = audit(_records(folder / RECORDS), sources.trust, begin)
    for stored in found.stored:
        place = sources.evidence / file_name(stored)
        if place.is_file():
            target = folder / EVIDENCE / file_name(stored)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(place, target)
    receipt = _receipt(folder, found, previous)
    (folder / RECEIPT).write_text(json.dumps(receipt, indent=2, sort_keys=True) + "\n", "utf-8")
    return receipt


def _receipt(folder: Path, found: Found, previous: str) -> dict[str, object]:
    files = {name: _digest(folder / name) for name in sorted(_names(folder))}
    return {
        "format": FORMAT,
        "program": f"shoe-reader {VERSION}",
        **_facts(found, evidence_words(found.stored, _pieces(files))),
        "first": found.first,
        "before": previous,
        "key": None if found.signed is None else found.signed.key,
        "files": files,
    }


def _facts(found: Found, evidence: str) -> dict[str, object]:
    """Return what a receipt says that whoever reads the export can find too."""
    return {
        "site": found.site,
        "table": found.table,
        "log": found.log_id,
        "last": found.last.number,
        "hash": found.last.hash,
        "signed_up_to": None if found.signed is None else found.signed.number,
        "evidence": evidence,
    }


def is_archive(path: Path) -> bool:
    """Whether the path is an export that `write_archive` made."""
    return path.is_dir() or (path.suffix == ".zip" and zipfile.is_zipfile(path))


def audit_archive(path: Path, trust: Trust) -> tuple[Found, str]:
    """Verify an export; return what was found, and in words how its evidence stands.

    Only the keys given are trusted, not those that the export brings. BrokenChainError or
    OutsideError.
    """
    names = _names(path)
    root: Traversable = path if path.is_dir() else zipfile.Path(path)
    receipt = _read_receipt(root, path)
    files = _compare_files(root, names, receipt)
    begin = CheckpointMark(int(str(receipt["first"])), str(receipt["before"]))
    found = audit(_records(root / RECORDS), trust, begin)
    evidence = evidence_words(found.stored, _pieces(files))
    _compare_facts(found, evidence, receipt, trust)
    return found, evidence


def _names(path: Path) -> list[str]:
    """Return the name of every file of an export; OutsideError where one stands there twice."""
    if path.is_dir():
        return [file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file()]
    with zipfile.ZipFile(path) as archive:
        names = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise OutsideError(f"{twice} stands twice in the export: programs may read different ones")
    return names


def _compare_files(
    root: Traversable, names: list[str], receipt: dict[str, object]
) -> dict[str, str]:
    """Hold the files against the receipt: none more, none less, none changed; return their sums."""
    listed = receipt.get("files")
    if not isinstance(listed, dict):
        raise OutsideError(f"{RECEIPT} lists no files: it was changed")
    more = sorted(set(names) - {RECEIPT, *listed})
    if more:
        raise OutsideError(f"{more[0]} was inserted: the receipt does not list it")
    gone = sorted(set(listed) - set(names))
    if gone:
        raise OutsideError(f"{gone[0]} was removed: the receipt lists it")
    for name, digest in sorted(listed.items()):
        if name == RECORDS:
            continue  # the chain says at which record it was changed
        if hashlib.sha256(_read(root.joinpath(name))).hexdigest() != digest:
            raise OutsideError(f"{name} does not match the receipt")
    return listed


def _compare_facts(found: Found, evidence: str, receipt: dict[str, object], trust: Trust) -> None:
    """Hold what the receipt says against what was found."""
    facts = _facts(found, evidence)
    if receipt.get("key") not in {fingerprint(key) for key in trust.keys}:
        del facts["signed_up_to"]
    for name, value in facts.items():
        if receipt.get(name) != value:
            raise OutsideError(
                f"{RECEIPT} says {name} {receipt.get(name)!r}, but the export has {value!r}: the "
                "receipt was changed"
            )


def _read_receipt(root: Traversable, path: Path) -> dict[str, object]:
    try:
        receipt = json.loads(_read(root / RECEIPT))
        int(receipt["first"]), str(receipt["before"])
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise OutsideError(
            f"{path} is not an export of a log: its {RECEIPT} is missing or was changed; give what "
            "shoe-reader log export wrote"
        ) from error
    found: dict[str, object] = receipt
    return found


def _records(place: Traversable) -> Iterator[Record]:
    try:
        with place.open("rb") as file:
            yield from exported(file)
    except OSError as error:
        raise OutsideError(f"cannot read {place}: {error.strerror}") from error


def digests_of(folder: Path, stored: Iterable[EvidenceKept]) -> dict[str, str]:
    """Return the SHA-256 of those pieces that are in the folder, by their file names."""
    names = (file_name(piece) for piece in stored)
    return {name: _digest(folder / name) for name in names if (folder / name).is_file()}


def _pieces(files: Mapping[str, str]) -> dict[str, str]:
    """Return the SHA-256 of those files of an export that are evidence, by day and name."""
    begin = f"{EVIDENCE}/"
    return {name.removeprefix(begin): files[name] for name in files if name.startswith(begin)}


def evidence_words(
    stored: Iterable[EvidenceKept], read: Mapping[str, str], deleted: Collection[str] | None = None
) -> str:
    """Return how the evidence stands; `read` gives the SHA-256 of each file that is there.

    `deleted` are the files that the log says were deleted, where all of it is known. OutsideError
    at the first piece that was changed.
    """
    there, gone = 0, []
    for piece in stored:
        name = file_name(piece)
        digest = read.get(name)
        if digest is None:
            gone.append(name)
        elif digest != piece.sha256:
            raise OutsideError(f"evidence {name} does not match its hash in the log")
        else:
            there += 1
    words = f"evidence: {there} pieces are what they were, {len(gone)} are not kept here any more"
    hidden = [] if deleted is None else [name for name in gone if name not in deleted]
    if hidden:
        words += f"; NO RECORD says that {len(hidden)} of these were deleted, {hidden[0]} the first"
    return words


def _read(place: Traversable) -> bytes:
    """Read a file of an export; refuse a file that is too large to be evidence."""
    with place.open("rb") as file:
        content = bytes(file.read(LARGEST_FILE + 1))
    if len(content) > LARGEST_FILE:
        raise OutsideError(f"{place.name}: is too large to be evidence")
    return content


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
