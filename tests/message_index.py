"""The messages of the program, read from its source, and the causes and cures of some.

`python -m tests.message_index` writes `deploy/messages.md`. A message in the house's form,
`what is wrong; how to correct it`, explains itself; the others are explained in EXPLAINED, and
stand on the page.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "deploy" / "messages.md"
ERRORS = {"ConfigurationError": "exit 2", "OutsideError": "exit 3", "WriteError": "exit 3"}
LEVELS = ("debug", "info", "warning", "error", "critical", "exception")
VARIABLE = re.compile(r"%[sdr]|…[.…]*")
OWN_WORDS = 2  # fewer words of its own, and a message only passes on those of another

HEAD = """# Messages

Most messages of the program say what is wrong and, after a semicolon, what to do; an `info` of the
log needs nothing to be done. These are the others; `…` stands for names and numbers. `exit 2`:
wrong usage or configuration; `exit 3`: an outside thing failed; the others are levels of the log,
and the program continues. What a table publishes is in [mqtt.md](mqtt.md), its faults are in
[faults.md](faults.md).
This page is made from the program: `python -m tests.message_index` writes it.

| message | | cause | cure |
|---|---|---|---|
"""


class Said(NamedTuple):
    """One message: its text with `…` for what is filled in, how grave, and its module."""

    text: str
    gravity: str
    module: str


def messages() -> list[Said]:
    """Return every message with words of its own, once, in the order of its text."""
    found = {
        reported.text: reported
        for path in sorted((ROOT / "vision").rglob("*.py"))
        for reported in _in_module(path)
        if len(re.findall(r"[A-Za-z]{2,}", reported.text)) >= OWN_WORDS
    }
    return [found[text] for text in sorted(found, key=lambda text: text.lstrip("….:'-[ ").lower())]


def _in_module(path: Path) -> Iterator[Said]:
    module = path.relative_to(ROOT).as_posix()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        gravity = _gravity(node)
        if gravity and isinstance(node, ast.Call) and node.args:
            text = VARIABLE.sub("…", _text(node.args[0])).replace("\n", " ").strip()
            yield Said(text, gravity, module)


def _gravity(node: ast.AST) -> str:
    """Say what a call is that tells something, "" where it tells nothing."""
    match node:
        case ast.Call(func=ast.Name(id=name)) if name in ERRORS:
            return ERRORS[name]
        case ast.Call(func=ast.Attribute(value=ast.Name(id="log"), attr=name)) if name in LEVELS:
            return name
    return ""


def _text(node: ast.AST) -> str:
    """Return the text that an expression gives, with `…` for what is not written there."""
    match node:
        case ast.Constant(value=str(value)):
            return value
        case ast.JoinedStr(values=parts):
            return "".join(_text(part) if isinstance(part, ast.Constant) else "…" for part in parts)
        case ast.BinOp(left=left, right=right):
            return _text(left) + _text(right)
    return "…"


def explains_itself(reported: Said) -> bool:
    """Whether a message says what is wrong and what to do, or that something went as it should."""
    cause, _, cure = reported.text.rpartition("; ")
    return reported.gravity == "info" or bool(cause and re.search("[a-z]{2}", cure))


def explained(reported: Said) -> tuple[str, str] | None:
    """Return cause and cure of a message by EXPLAINED, `None` where it has none there."""
    return next((both for passage, both in EXPLAINED.items() if passage in reported.text), None)


def page() -> str:
    """Return the page: the messages that do not explain themselves."""
    rows = []
    for published in messages():
        both = explained(published)
        if explains_itself(published) or both is None:
            continue
        text, cause, cure = (cell.replace("|", "\\|") for cell in (published.text, *both))
        text = text.replace("`", "'")
        rows.append(f"| `{text}` | {published.gravity} | {cause} | {cure} |\n")
    return HEAD + "".join(rows)


_FILE = "its folder is missing or not accessible to this user, or the disk is full or faulty"

# By a passage of the message, the first that fits: what causes it, and what to do.
EXPLAINED: dict[str, tuple[str, str]] = {
    "passwords would cross the network unencrypted": (
        "a board with a log-in is served on the network without TLS",
        "set [board] certificate and key, or serve on 127.0.0.1 behind a proxy that speaks TLS",
    ),
    "give a probability from 0 up to 1": (
        "the bound is not a probability",
        "give one, for example --bound 1e-5",
    ),
    "give pictures of the laid cards or --source, not both": (
        "two ways to measure were asked for",
        "give one of them",
    ),
    "cannot be read as a profile": (
        "the profile file is missing, not text, or not readable by this user",
        "correct the path, or the file's rights",
    ),
    "cannot be read as text": (
        "the table file is not text, or not readable by this user",
        "give the table file, in UTF-8; correct its rights",
    ),
    "cannot read the anchors": (
        _FILE,
        "correct --anchors or [log] anchors, or the file's rights",
    ),
    "cannot read the model card": (
        "the card beside the model is damaged or cannot be read",
        "copy model and card again from the release",
    ),
    "cannot read …: …": (
        _FILE,
        "correct the path, or the file's rights",
    ),
    "cannot … the log …": (
        "the disk is full, read-only or faulty, or the file was damaged",
        "free space or repair the disk; if it is damaged, keep a copy and run shoe-reader audit",
    ),
    "the deck is refused at an error of": (
        "faces of this deck look too much alike under this light",
        "improve the lamp, the focus or the deck, and enrol again",
    ),
    "others waited": (
        "somebody sends orders faster than the reader takes them",
        "find the sender in the broker's log, and withdraw its right to publish",
    ),
    "give at least 1": (
        "a number below 1",
        "give a number from 1",
    ),
    "[desk] key is set": (
        "a board that signs orders does not know who may log in",
        "name the users file in [orders] users",
    ),
    "cannot be kept: …": (
        "a picture that proves an alert could not be written",
        "free space for [evidence], or correct its folder's rights",
    ),
    "cannot be read: …": (
        "a kept picture cannot be read any more",
        "test the disk; the log still has its hash",
    ),
    "does not match its hash in the log": (
        "a kept picture or clip was changed",
        "keep it as it is, and find out who had access to the folder",
    ),
    "was changed: it is not sent": (
        "a kept picture is not the one that the log names",
        "keep it as it is, and find out who had access to the folder",
    ),
    "contains no anchor": (
        "the file of anchors is a different one, or was emptied",
        "give the right file; compare with anchors kept elsewhere",
    ),
    "ports run from 0": (
        "no such port",
        "give one from 1 to 65535, or 0 for a free one",
    ),
    "is not a passwords file": (
        "the file of passwords is damaged or another",
        "give the one that shoe-reader users made, or make it again",
    ),
    "not a key file": (
        "the file holds no secret key",
        "give a file that shoe-reader users add has made",
    ),
    "is too large to be evidence": (
        "the file in the export is not evidence of the reader",
        "give what shoe-reader log export wrote",
    ),
    "is not an anchor: torn": (
        "the machine lost power while an anchor was written, or the file was changed",
        "run shoe-reader audit: the log has the anchors too",
    ),
    "log-in refused": (
        "a wrong name or password at a board",
        "if nobody of the house did it, find out who can reach the board",
    ),
    "no anchor by the given key": (
        "another key, or the anchors were removed and the chain was computed again",
        "try the right public key; if it is the right one, treat the log as forged",
    ),
    "not a usable ONNX model": (
        "the model file is damaged or of another kind",
        "copy it again from the release, or leave the key empty",
    ),
    "message on … dropped": (
        "a reader of another version, or another program, publishes there",
        "nothing is lost; check who may publish in the broker's access list",
    ),
    "is not recorded": (
        "the board's folder is full or not writable",
        "correct [desk] folder, or free space",
    ),
    "old evidence cannot be deleted": (
        _FILE,
        "correct the rights of the [evidence] folder",
    ),
    "but the log ends before it": (
        "records were cut off the end of the log",
        "keep it as evidence, and restore a backup",
    ),
    "is not what was signed …: the chain was computed again": (
        "somebody changed records and computed the chain again",
        "keep it as evidence, and compare with a backup",
    ),
    "the signature of record": (
        "an anchor was made with another key",
        "try the right public key; if it is the right one, treat the log as forged",
    ),
    "the chain is broken at": (
        "a record was changed, removed, inserted or moved",
        "keep the file as evidence, compare it with a backup or an export",
    ),
    "did not start within": (
        "the machine is overloaded",
        "close other programs, and restart",
    ),
    "the file of anchors holds none of this log": (
        "the first record was changed, or log, anchors or key are others",
        "give the anchors and the key of this log",
    ),
    "the order was refused": (
        "the reader does not take the order, for the reason given",
        "do what the reason says; `users list` shows who may give which order",
    ),
    "but [camera] width and height say": (
        "the camera sends pictures of another size than was calibrated",
        "set the camera to that size, or calibrate again",
    ),
    "the test picture is damaged": (
        "the installation is damaged",
        "install the program and its models again",
    ),
    "there is no profile": (
        "a profile's name is misspelt",
        "choose one of those named, or give the path of a .toml file",
    ),
    "belongs to another user, who may change it": (
        "another user owns a key or the users file",
        "chown it to the user that runs the program",
    ),
    "is in a folder in which others may replace it": (
        "others may write to the folder of a key or of the users file",
        "chown the folder and forbid others to write (chmod go-w)",
    ),
    "cannot begin a log at": (
        "the folder of the log cannot be written",
        "correct its rights, or free space",
    ),
    "cannot put the evidence back to": (
        "the folder of the evidence cannot be written",
        "correct its rights, or free space",
    ),
    "cannot read the ring": (
        "the file of the ring is missing or not readable by this user",
        "give a file that shoe-reader log keys add has made",
    ),
    "not a ring of keys": (
        "the file is another, or was damaged",
        "give a file that shoe-reader log keys add has made",
    ),
    "lists no files: it was changed": (
        "the receipt of an export was changed",
        "ask for the export again; keep this one as evidence",
    ),
    "does not match the receipt": (
        "a file of the export was changed",
        "ask for the export again; keep this one as evidence",
    ),
    "but the export has": (
        "the receipt of an export was changed",
        "ask for the export again; keep this one as evidence",
    ),
    "stands twice in the export": (
        "somebody inserted a second file of the same name in the .zip",
        "ask for the export again; keep this one as evidence",
    ),
    "was inserted: the receipt does not list it": (
        "a file was inserted into the export",
        "ask for the export again; keep this one as evidence",
    ),
    "was removed: the receipt lists it": (
        "a file was removed from the export",
        "ask for the export again; keep this one as evidence",
    ),
    "the table file of": (
        "the backup is of another table",
        "give the table file of the table that the backup is of",
    ),
    "is there: move it away first": (
        "there is a log where the backup is to go",
        "move it away, and keep it as evidence",
    ),
    "is already in the ring": (
        "the key was added before",
        "shoe-reader log keys list shows the ring",
    ),
    "[log] path: there is no": (
        "the table has no log yet, or the path is another",
        "start the reader, or correct [log] path",
    ),
    "are not sent: start the": (
        "the broker has not had all messages of the old log",
        "run the reader with its broker until it has, or give --lose-unsent",
    ),
    "old evidence cannot be looked through": (
        "the folder of the evidence cannot be read",
        "correct the rights of the [evidence] folder",
    ),
    "had taken over before": (
        "the log was signed with an old key after a new one was in use",
        "treat what follows as forged, unless the house itself went back to the old key",
    ),
    "says that records were pruned, but no signature": (
        "records were removed without the key",
        "keep it as evidence, compare with a backup, and continue with shoe-reader log begin",
    ),
    "…: the order …": (
        "an order of the log was not signed so by that person",
        "keep the log as evidence, and compare with a backup",
    ),
    "is empty: move it away to begin": (
        "the file holds no log",
        "move it away, and start the reader",
    ),
    "the log … was changed: …": (
        "a record or a message beside the log was changed",
        "keep it as evidence, run shoe-reader audit on it, and continue with shoe-reader log begin",
    ),
    "write FIELD=VALUE": (
        "a word of the order has no `=`",
        "write it as coup=12",
    ),
}


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
