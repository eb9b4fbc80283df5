"""Write a file whole or not at all, so that a power cut never leaves half of it.

The content goes to a draft beside the file and to the disk, the draft takes the file's name, and
the folder goes to the disk too: a reader sees the file before or the file after.
"""

from __future__ import annotations

import codecs
import csv
import fcntl
import io
import itertools
import json
import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import IO, Generic, TypeVar

from vision.errors import ConfigurationError, OutsideError

T = TypeVar("T")

log = logging.getLogger(__name__)

ROOT = 0  # the user id of root
OTHERS_WRITE, STICKY = 0o022, 0o1000  # bits of a folder's mode: as POSIX has them
PRIVATE, PRIVATE_FOLDER = 0o600, 0o700  # modes: for the user of the program alone
# Bytes of a file of secrets that are read: the passwords of thousands of people, 1 kB each.
SECRET_BYTES = 8 * 1024 * 1024
DRAFT = ".new"  # ends the names of drafts: after a power cut such a file may be left over
# File names that are taken as pictures of a folder, and videos of the ISO container (MP4).
PICTURES = frozenset({".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"})
TIME = re.compile(r"(?<!\d)\d{8}-\d{6}(?!\d)")  # in the name of a recording: when it began
OTHER_PICTURES = frozenset({".avif", ".heic", ".heif"})


# What begins a formula in a spreadsheet: a text of a message there would be carried out.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_text(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV; what a spreadsheet would take for a formula has a `'` before it."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    for row in rows:
        writer.writerow(f"'{c}" if isinstance(c, str) and c.startswith(FORMULA) else c for c in row)
    return text.getvalue()


class WriteError(OutsideError):
    """A file could not be written; `reason` is what the system says, without path and cure."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


def refuse_others_file(path: Path, what: str) -> None:
    """Refuse a file that another user than this one or root owns, or may put another in place of.

    ConfigurationError with the cure; `what` names the file's role for people.
    """
    stat, folder = path.stat(), path.resolve().parent.stat()
    trusted = (os.geteuid(), ROOT)
    if stat.st_uid not in trusted:
        raise ConfigurationError(
            f"{what}: {path} belongs to another user, who may change it: chown it to this one"
        )
    is_open = folder.st_mode & OTHERS_WRITE and not folder.st_mode & STICKY
    if is_open or folder.st_uid not in trusted:
        raise ConfigurationError(
            f"{what}: {path} is in a folder in which others may replace it: chown "
            f"it and chmod go-w {path.resolve().parent}"
        )


def secret_in(path: Path, what: str, cure: str) -> bytes:
    """Return what is in a file that no other user may read, or replace, up to SECRET_BYTES.

    ConfigurationError where they may, or where it cannot be read; `what` is the file's role for
    people, `cure` what helps where there is none.
    """
    try:
        if not is_private(path):
            raise ConfigurationError(
                f"{what}: {path} can be read by others: chmod 600 {path}; if others may have read "
                "it, make another"
            )
        refuse_others_file(path, what)
        with path.open("rb") as file:
            return file.read(SECRET_BYTES)
    except OSError as error:
        raise ConfigurationError(f"{what}: cannot read {path}: {error.strerror}; {cure}") from error


def write_whole(path: Path, content: bytes, *, mode: int | None = None) -> None:
    """Replace a file in one step, with the permissions `mode` if given; WriteError."""
    with replacing(path, mode=mode) as file:
        file.write(content)


def write_json(path: Path, content: Mapping[str, object], *, mode: int | None = None) -> None:
    """Replace a file by a JSON object, one key a line, as `write_whole` does; WriteError."""
    write_whole(path, (json.dumps(content, indent=1, sort_keys=True) + "\n").encode(), mode=mode)


def refuse_existing(*paths: Path) -> None:
    """Refuse to write where something is already: ConfigurationError with the cure."""
    for path in paths:
        if not _is_free(path):
            raise taken(path)


def taken(path: Path) -> ConfigurationError:
    """Return the error of a file that would be overwritten."""
    return ConfigurationError(
        f"{path} is there already and is not overwritten; give another name, or move it away"
    )


def free_name(path: Path) -> Path:
    """Return the path, or where something is there already the first like it that is free."""
    others = (path.with_stem(f"{path.stem}-{number}") for number in itertools.count(2))
    return next(each for each in itertools.chain((path,), others) if _is_free(each))


def _is_free(path: Path) -> bool:
    return not (path.exists() or path.is_symlink())


def in_order(paths: Iterable[Path]) -> list[Path]:
    """Sort files by their names as people do: 2 before 10, and small letters like capitals."""

    def natural(path: Path) -> tuple[list[tuple[int, str]], str]:
        parts = enumerate(re.split(r"([0-9]+)", path.name))  # every second one is a number
        key = [(int(part), "") if odd % 2 else (-1, part.casefold()) for odd, part in parts]
        return key, path.name

    return sorted(paths, key=natural)


def picture_files(folder: Path) -> list[Path]:
    """Return the pictures of a folder in the order of their names; ConfigurationError without any.

    Numbers in names count as numbers; where names have none, the order is a guess, and called one.
    """
    names = in_order(p for p in folder.iterdir() if p.suffix.lower() in PICTURES)
    others = [p.name for p in folder.iterdir() if p.suffix.lower() in OTHER_PICTURES]
    if not names:
        found = f" but {others[0]}, which is not read: save it as JPEG" if others else ""
        raise ConfigurationError(
            f"{folder}: holds no pictures{found}; give a folder of {', '.join(sorted(PICTURES))} "
            "files"
        )
    if others:
        log.warning(
            "%s: %s and the like (%d) are not read; save them as JPEG",
            folder,
            others[0],
            len(others),
        )
    forms = {re.sub("[0-9]+", "0", path.stem.casefold()) for path in names}
    if len(names) > 1 and (len(forms) > 1 or "0" not in min(forms)):
        log.warning(
            "%s: the names of the pictures do not give their order, which is guessed: from %s to "
            "%s; number them if that is wrong",
            folder,
            names[0].name,
            names[-1].name,
        )
    return names


def time_in_name(path: Path) -> int | None:
    """Return the moment (UTC, as Unix ms) that a file is named after, None where it is after none.

    As `20261121-180000`.
    """
    found = TIME.search(path.stem)
    if found is None:
        return None
    return round(1000 * datetime.strptime(f"{found[0]}+0000", "%Y%m%d-%H%M%S%z").timestamp())


def text_of(path: Path) -> str:
    """Return the text of a file that people write; OSError, ConfigurationError if it is no UTF-8.

    Editors and shells of Windows put a byte order mark before it.
    """
    content = path.read_bytes()
    is_wide = content[:3].count(0) == 1 or content[:4].count(0) > 1
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or is_wide:
        raise ConfigurationError(
            f"{path}: is text in UTF-16 or UTF-32; save it as UTF-8 (in PowerShell with "
            "Out-File -Encoding utf8, in Notepad under Save as)"
        )
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f"{path}: is not text in UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8"
        ) from error


def write_new(path: Path, content: bytes, *, mode: int | None = None) -> None:
    """Write a file that must not be there yet: ConfigurationError when it is; WriteError."""
    with _writing(path):
        try:
            with open(path, "xb", opener=opener(mode)) as file:
                file.write(content)
                _sync(file)
        except FileExistsError:
            raise taken(path) from None
        sync_folder(path.parent)


class WatchedFile(Generic[T]):
    """What a file contains, read again whenever the file has become another."""

    def __init__(self, path: Path, load: Callable[[Path], T]) -> None:
        """Read it for the first time; whatever `load` raises."""
        self._path = path
        self._load = load
        self._stamp = stamp(path)
        self._content = load(path)

    def now(self) -> T:
        """Return the content now; whatever `load` raises, again until the file can be used."""
        found = stamp(self._path)
        if not found or found != self._stamp:
            self._stamp = ()
            self._content = self._load(self._path)
            self._stamp = found
        return self._content


def stamp(path: Path) -> tuple[int, ...]:
    """Return what tells one state of a file from another; nothing where there is no file."""
    try:
        stat = path.stat()
    except OSError:
        return ()
    return stat.st_mtime_ns, stat.st_size, stat.st_ino, stat.st_mode


@contextmanager
def replacing(path: Path, *, mode: int | None = None) -> Iterator[IO[bytes]]:
    """Give the draft of a file to write to, which replaces the file at the end of the block.

    The draft's path is its `name`. When the block raises, the file stays as it was. WriteError for
    an OSError in the block too.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}{DRAFT}")
    try:
        with _writing(path):
            with open(draft, "wb", opener=opener(mode)) as file:
                if mode is not None:
                    os.fchmod(file.fileno(), mode)  # also where the umask is narrower
                yield file
                _sync(file)
            draft.replace(path)
            sync_folder(path.parent)
    finally:
        with suppress(OSError):  # what made the writing fail, and is reported, may make this fail
            draft.unlink(missing_ok=True)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock of a file from reading to writing it: two programs lose nothing; WriteError."""
    with _writing(path):
        handle = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def is_private(path: Path) -> bool:
    """Whether no other user may read or write a file; OSError when it cannot be looked at.

    What systemd hands to a service as a credential is guarded by its folder, whatever its own mode.
    """
    credentials = os.environ.get("CREDENTIALS_DIRECTORY")
    if credentials and path.absolute().parent == Path(credentials):
        return not path.stat().st_mode & 0o027
    return not path.stat().st_mode & 0o077


def make_folder(folder: Path, mode: int = 0o777) -> None:
    """Make a folder and those above it, where it is not there yet, on the disk too; WriteError.

    `mode` are its own permissions, within the umask.
    """
    if folder.is_dir():
        return
    with _writing(folder):
        folder.mkdir(mode, parents=True, exist_ok=True)
        sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on the disk; OSError."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def opener(mode: int | None) -> Callable[[str, int], int]:
    """Return what opens a file, and makes it with those permissions where it is not there."""
    return lambda name, flags: os.open(name, flags, 0o666 if mode is None else mode)


def _sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Give an OSError of the block the form of a WriteError."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise WriteError(
            f"cannot write {path}: {reason}; give a path in a folder that exists, is writable and "
            "has room",
            reason,
        ) from error
