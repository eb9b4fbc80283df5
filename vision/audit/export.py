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
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from pathlib import Path

from vision import __version__
from vision.audit.selection import Part, Selection
from vision.audit.verify import Auditor, Found, Trust, audit, demand_signature, evidence_words
from vision.errors import ConfigurationError, OutsideError
from vision.record.chain import GENESIS, Record, record_from_line, record_line, verified
from vision.storage.anchors import anchor_line, fingerprint, public_pem
from vision.storage.evidence import file_name
from vision.storage.log_reader import read_log

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
    if out.exists():
        raise ConfigurationError(f"{out} is there already and is not overwritten; give a new name")
    stretch = _audited(sources, part)
    try:
        with tempfile.TemporaryDirectory(dir=out.absolute().parent, prefix=".export-") as scratch:
            folder = Path(scratch) / "archive"
            folder.mkdir()
            receipt = _fill(folder, sources, stretch)
            _move(folder, out)
    except OSError as error:
        raise OutsideError(
            f"cannot write the export {out}: {error.strerror}; give a path in a folder that "
            "exists, is writable and has room"
        ) from error
    return receipt


def _move(folder: Path, out: Path) -> None:
    if out.suffix != ".zip":
        folder.rename(out)
        return
    packed = folder.with_suffix(".zip")
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder).as_posix())
    packed.rename(out)


def _audited(sources: Sources, part: Part | None) -> tuple[int, int, str]:
    """Verify the log; return the first and last record of the part, and the hash before it."""
    auditor = Auditor(sources.trust)
    selection = None if part is None else Selection(part)
    for record, content in verified(read_log(sources.log)):
        auditor.take(record, content)
        if selection is not None:
            selection.take(record, content)
    found = auditor.found()
    if sources.trust.keys:
        demand_signature(found)
    return (0, found.last.number, GENESIS) if selection is None else selection.stretch(sources.log)


def _fill(folder: Path, sources: Sources, stretch: tuple[int, int, str]) -> dict[str, object]:
    """Write everything but the receipt, verify it, and write the receipt."""
    first, last, previous = stretch
    with (folder / RECORDS).open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(
            record_line(record) + "\n"
            for record in read_log(sources.log)
            if record.number == 0 or first <= record.number <= last
        )
    anchors = [anchor_line(*line) for line in sources.trust.anchors]
    (folder / ANCHORS).write_text("".join(anchors), "utf-8")
    for key in sources.trust.keys:
        (folder / f"{fingerprint(key)}.pub").write_bytes(public_pem(key))
    found = _audit_records(folder, sources.trust, first, previous)
    for kept in found.kept:
        place = sources.evidence / file_name(kept)
        if place.is_file():
            target = folder / EVIDENCE / file_name(kept)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(place, target)
    receipt = _receipt(folder, found, previous)
    (folder / RECEIPT).write_text(json.dumps(receipt, indent=2, sort_keys=True) + "\n", "utf-8")
    return receipt


def _receipt(folder: Path, found: Found, previous: str) -> dict[str, object]:
    digests = evidence_digests(folder / EVIDENCE)
    return {
        "format": FORMAT,
        "program": f"shoe-reader {__version__}",
        "site": found.site,
        "table": found.table,
        "log": found.log_id,
        "first": found.first,
        "last": found.last.number,
        "before": previous,
        "hash": found.last.hash,
        "signed_up_to": None if found.signed is None else found.signed.number,
        "key": None if found.signed is None else found.signed.key,
        "evidence": evidence_words(found.kept, digests),
        "files": {
            path.relative_to(folder).as_posix(): _digest(path)
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        },
    }


# --- reading an export ---------------------------------------------------------------------------


def is_archive(path: Path) -> bool:
    """Whether the path is an export that `write_archive` made."""
    return path.is_dir() or (path.suffix == ".zip" and zipfile.is_zipfile(path))


def audit_archive(path: Path, trust: Trust) -> tuple[Found, str]:
    """Verify an export; return what was found, and in words how its evidence stands.

    Only the keys given are trusted, not those that the export brings. BrokenChainError or
    OutsideError.
    """
    root: Traversable = path if path.is_dir() else zipfile.Path(path)
    receipt = _read_receipt(root, path)
    first, previous = receipt["first"], receipt["before"]
    found = _audit_records(root, trust, int(str(first)), str(previous))
    return found, evidence_words(found.kept, evidence_digests(root / EVIDENCE))


def _read_receipt(root: Traversable, path: Path) -> dict[str, object]:
    try:
        receipt = json.loads(_read(root / RECEIPT))
        int(receipt["first"]), str(receipt["before"])
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise OutsideError(
            f"{path} is no export of a log: its {RECEIPT} is missing or was changed; give what "
            "shoe-reader export wrote"
        ) from error
    found: dict[str, object] = receipt
    return found


def _audit_records(root: Traversable, trust: Trust, first: int, previous: str) -> Found:
    return audit(_records(root / RECORDS), trust, first=first, previous=previous)


def _records(place: Traversable) -> Iterator[Record]:
    try:
        with place.open("rb") as file:
            for index, line in enumerate(file):
                yield record_from_line(line.decode("utf-8", "replace"), index)
    except OSError as error:
        raise OutsideError(f"cannot read {place}: {error.strerror}") from error


def evidence_digests(folder: Traversable) -> dict[str, str]:
    """Return the SHA-256 of every file of evidence, under its name with its day."""
    if not folder.is_dir():
        return {}
    return {
        f"{day.name}/{file.name}": hashlib.sha256(_read(file)).hexdigest()
        for day in folder.iterdir()
        if day.is_dir()
        for file in day.iterdir()
    }


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
