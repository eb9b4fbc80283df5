"""`shoe-reader check`: is a table ready to be watched, and if not, what is to be done.

Each part is tried by itself, so that one fault does not hide another.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from vision.app import wanted
from vision.config import TableConfig, load
from vision.edge.broker import EmbeddedBroker
from vision.edge.camera import open_source
from vision.edge.mqtt_link import probe
from vision.edge.shots import Shot
from vision.errors import OutsideError, ShoeReaderError
from vision.eyes import open_eyes
from vision.game.lint import sheet_findings
from vision.journal import endpoint_of
from vision.profiles import load_profile
from vision.sight.blindness import blind_reason
from vision.watching import check_size

HELP = "check a table file, the rules, the models, the camera, the log and the broker"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("table", type=Path, metavar="TABLE.toml", help="the table file")


def run(args: argparse.Namespace) -> int:
    """Try every part and print a line for each; the exit code is that of the first fault."""
    config = load(args.table)
    print(f"ok     config: {args.table}")
    parts: dict[str, Callable[[TableConfig], Iterator[str]]] = {
        "profile": _profile,
        "models": _models,
        "camera": _camera,
        "log": _log,
        "broker": _broker,
    }
    codes = [_try(name, part, config) for name, part in parts.items()]
    return next((code for code in codes if code), 0)


def _try(name: str, part: Callable[[TableConfig], Iterator[str]], config: TableConfig) -> int:
    """Print what a part says of itself; return 0, or the exit code of its fault."""
    try:
        first, *notes = part(config)
    except ShoeReaderError as error:
        print(f"FAULT  {name}: {error}")
        return error.exit_code
    print(f"ok     {name}: {first}")
    for note in notes:
        print(f"note   {name}: {note}")
    return 0


def _profile(config: TableConfig) -> Iterator[str]:
    profile = load_profile(config.profile)
    yield f"{profile.title} ({profile.rules.decks} decks), sha256 {profile.hash[:16]}"
    for finding in sheet_findings(profile.sheet) if profile.sheet is not None else ():
        yield str(finding)


def _models(config: TableConfig) -> Iterator[str]:
    names = (config.models.detector, config.models.classifier)
    detector, classifier = (Path(name) if name else None for name in names)
    eyes = open_eyes(detector, classifier, threads=config.models.threads)
    yield ", ".join(f"{name} sha256 {digest[:16]}" for name, digest in eyes.hashes.items())


def _camera(config: TableConfig) -> Iterator[str]:
    source = config.camera.source
    shots = open_source(source, wanted(config), speed=0)
    shot = next(shots, None)
    if not isinstance(shot, Shot):
        raise OutsideError(f"{source}: no picture comes; check that the camera sends one")
    check_size(config.camera, shot.frame)
    reason = blind_reason(shot.frame.image)
    if reason:
        raise OutsideError(f"{source}: {reason}; mend light, lens or position")
    yield f"{source}: {config.camera.width} x {config.camera.height} px"


def _log(config: TableConfig) -> Iterator[str]:
    path = Path(config.log.path)
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise OutsideError(
            f"{path}: the folder {path.parent} does not exist or is not writable; make it, or "
            "give another [log] path"
        )
    yield f"{path} ({'goes on' if path.exists() else 'will be new'})"


def _broker(config: TableConfig) -> Iterator[str]:
    broker = config.broker
    match broker.kind:
        case "none":
            yield "none: nobody is told"
        case "embedded":
            with EmbeddedBroker(broker.port, broker.websocket_port):
                yield f"embedded, ports {broker.port} and {broker.websocket_port} are free"
        case "external":
            endpoint = endpoint_of(broker)
            probe(endpoint)
            yield f"external, {endpoint} accepts us"
