"""`shoe-reader check`: is a table ready to be watched, and if not, what is to be done.

Each part is tried by itself, so that one fault does not hide another.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from time import perf_counter

from vision.access.users import load_users
from vision.app.pipeline import models_of
from vision.app.service import BOARD, ETC, as_root_sees, installation, instance, not_active
from vision.camera.source import first_frame
from vision.clock import time_sync
from vision.commands import needs_floor
from vision.config.errors import implausible
from vision.config.identity import identify
from vision.config.profiles import load_profile, sheet_findings
from vision.config.table import TableConfig, load
from vision.errors import ConfigurationError, OutsideError, ShoeReaderError
from vision.files import is_private
from vision.metrics.counters import ask
from vision.mqtt.embedded_broker import EmbeddedBroker
from vision.mqtt.endpoint import endpoint_of, probe
from vision.record.codec import rules_hash
from vision.secrets import masked, shown
from vision.sight.quality.view import blind_reason, gauges
from vision.storage.anchors import anchors_of, load_key
from vision.storage.evidence import folder_of

STALE_S = 10.0  # seconds; `health` comes each second, so a reader that is late by ten hangs

Part = Callable[[TableConfig], Iterator[str]]  # yields what is well, then what is to be noted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("table", type=Path, metavar="TABLE.toml", help="the table file")
    add("--health", action="store_true", help="only report the health of the running reader")
    words = "only print one signature of program, models, rules and settings, and of each part"
    add("--identify", action="store_true", help=words)


def run(args: argparse.Namespace) -> int:
    """Try every part and print a line for each; the exit code is that of the first fault."""
    config = load(args.table)
    if args.identify:
        return _identify(config)
    print(f"ok     config: {args.table}")

    def view(config: TableConfig) -> Iterator[str]:
        wrong = list(implausible(config.view.table_view()))
        if wrong:
            cure = f"; measure the table again: shoe-reader setup {args.table}"
            raise ConfigurationError("; ".join(" ".join(one) for one in wrong) + cure)
        yield "the areas are in place"

    parts: list[Part] = [_profile, _models, view, _camera, _log, _broker]
    parts += [_store] if config.standby.servers else []
    parts += [_orders, _clock, _health]
    if args.table.resolve().parent == Path("/", ETC):
        config, parts = as_root_sees(config), [*parts, _service]
    codes = [_try(part, config) for part in ([_health] if args.health else parts)]
    return next(filter(None, codes), 0)


def _identify(config: TableConfig) -> int:
    found = identify(config, models_of(config).hashes)
    print(f"{found.signature}  {config.site}, table {config.table}")
    for name, digest in found.parts:
        print(f"{digest}  {name}")
    return 0


def _try(part: Part, config: TableConfig) -> int:
    """Print what a part, called as its function, says; return 0, or the exit code of its fault."""
    name = part.__name__.strip("_")
    try:
        first, *notes = part(config)
    except ShoeReaderError as error:
        print(f"FAULT  {name}: {masked(str(error))}")
        return error.exit_code
    print(f"ok     {name}: {first}")
    for note in notes:
        print(f"note   {name}: {note}")
    return 0


def _profile(config: TableConfig) -> Iterator[str]:
    profile = load_profile(config.profile)
    yield f"{profile.title} ({profile.rules.decks} decks), sha256 {rules_hash(profile)[:16]}"
    yield from () if profile.sheet is None else sheet_findings(profile.sheet)


def _models(config: TableConfig) -> Iterator[str]:
    models = models_of(config)
    hashes = ", ".join(f"{name} sha256 {digest[:16]}" for name, digest in models.hashes.items())
    if models.self_test is None:
        yield hashes
        return
    complaint = models.self_test.complaint()
    if complaint:
        raise ConfigurationError(complaint)
    began_s = perf_counter()
    models.self_test.complaint()  # the first one also warmed the models up
    per_s = 1 / (perf_counter() - began_s)
    yield f"{hashes}; the test picture is read, {per_s:.0f} such pictures a second"


def _camera(config: TableConfig) -> Iterator[str]:
    source, frame = shown(config.camera.source), first_frame(config.camera)
    config.camera.check_size(frame)
    reason = blind_reason(frame.image)
    if reason:
        raise OutsideError(f"{source}: {reason}; improve the light, refocus, or move the camera")
    yield f"{source}: {config.camera.width} x {config.camera.height} px"
    for gauge in gauges(frame.image, config.view.table_view()):
        if not gauge.good:
            yield str(gauge)


def _log(config: TableConfig) -> Iterator[str]:
    path = Path(config.log.path)
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise OutsideError(
            f"{path}: the folder {path.parent} does not exist or is not writable; make it, or "
            "give another [log] path"
        )
    yield f"{path} ({'goes on' if path.exists() else 'will be new'})"
    folder = folder_of(path, config.evidence.folder)
    for stored in (path, anchors_of(path, config.log.anchors), folder):
        if stored.exists() and not is_private(stored):
            yield (
                f"OPEN TO OTHERS: other users of this machine may read {stored}: chmod go= {stored}"
            )
    if config.log.signing_key:
        load_key(Path(config.log.signing_key))
        # Whoever puts an older log back takes along anchors that lie on its disk.
        anchors = config.log.anchors
        folder = Path(anchors).absolute().parent if anchors else path.absolute().parent
        if not folder.is_dir() or folder.stat().st_dev == path.absolute().parent.stat().st_dev:
            yield (
                f"ANCHORS ON THE LOG'S DISK ({anchors or 'beside the log'}): an older copy of both "
                "put back is not noticed; name a file on another machine's share in [log] anchors"
            )
    else:
        yield (
            "NOT SIGNED: whoever can write the file can make the whole log again; make a key with "
            "shoe-reader log keys make, and name it in [log] signing_key"
        )


def _broker(config: TableConfig) -> Iterator[str]:
    broker = config.broker
    match broker.kind:
        case "none":
            yield "none: messages go nowhere"
        case "embedded":
            if _figures(config):
                yield f"embedded, run by the reader that runs now, port {broker.port}"
                return
            with EmbeddedBroker(broker.port):
                yield f"embedded, port {broker.port} is free"
                yield (
                    "it is for a demo: whatever runs on this machine may publish as the reader, "
                    'and hear all; a house has a broker with accounts ([broker] kind = "external")'
                )
        case "external":
            endpoint = endpoint_of(broker)
            if _figures(config):
                yield f"external, {endpoint} is in use by the reader that runs now"
                return
            for node in endpoint.each():
                probe(node)
                yield f"external, {node} accepts us"


def _store(config: TableConfig) -> Iterator[str]:
    """Yield that the nats-servers of the house's store let us in."""
    with needs_floor("[standby] servers"):
        from vision.floor.pair.house_store import reachable  # noqa: PLC0415
        from vision.floor.pair.reader import account_of  # noqa: PLC0415
    yield f"{', '.join(reachable(account_of(config)))} let us in"


def _orders(config: TableConfig) -> Iterator[str]:
    if not config.orders.users:
        yield "no users file: the reader takes no orders (shoe-reader users add makes one)"
        return
    users = load_users(Path(config.orders.users)).users
    desks = sum(user.may_act_for for user in users.values())
    yield f"{config.orders.users}: {len(users)} users, {desks} of them desks"


def _service(config: TableConfig) -> Iterator[str]:
    units = (instance(config.table), BOARD)
    if failed := [*not_active(units)]:
        raise OutsideError("\n       ".join(failed))
    yield f"{' and '.join(units)} are active"


def _clock(_config: TableConfig) -> Iterator[str]:
    state = time_sync()
    if state.synchronised:
        yield f"kept by a time service, {state.offset_ms:g} ms off, {state.error_ms:g} ms at most"
    elif state.synchronised is None:
        yield "the kernel does not tell whether a time service keeps it"
    else:
        yield "works"
        yield "no time service keeps it: orders and records need one (chrony, systemd-timesyncd)"


def _health(config: TableConfig) -> Iterator[str]:
    """Yield how the running reader is doing; the figures of a reader that hangs grow old."""
    if not config.metrics.port:
        yield "not asked: the table file gives no [metrics] port"
        return
    figures = _figures(config)
    if not figures:
        yield "no reader runs now"
        return
    if figures["health_age_s"] > STALE_S:
        raise OutsideError(
            f"the reader has published nothing for {figures['health_age_s']:.0f} s; read its log "
            "and restart it"
        )
    yield f"{figures.get('fps_in', 0):g} frames a second; [metrics] has the other figures"
    if figures.get("blind"):
        yield "it is blind now: results are held; look at the camera, the light and the lens"


def _figures(config: TableConfig) -> dict[str, float]:
    """Return the figures of the reader that runs; none where none runs, or none are served."""
    with suppress(OutsideError):
        return ask(config.metrics.host, config.metrics.port) if config.metrics.port else {}
    return {}


def add_install_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("table", type=Path, nargs="+", metavar="TABLE.toml", help="the table files of this machine")
    add("--root", type=Path, default=Path("/"), metavar="DIR",
        help="write below this folder, as for an image, and start nothing")  # fmt: skip
    add("--yes", action="store_true", help="do it without asking")


def install(args: argparse.Namespace) -> None:
    """Show what would be done, ask, and do it."""
    tables = {path: load(path) for path in args.table}
    root = args.root.resolve()
    steps = list(installation(tables, root))
    print(*(f"- {step.words}" for step in steps), sep="\n")
    if not args.yes and not (sys.stdin.isatty() and input("do all this? [y/N] ") in {"y", "yes"}):
        print("nothing done (--yes: without asking)")
        return
    if root == Path("/") and os.geteuid():
        raise ConfigurationError("install: services are made by root; run it with sudo")
    for step in steps:
        step.do()
    print("done")
    names = (config.table for config in tables.values())
    print(*(f"shoe-reader check /{ETC}/{name}.toml looks at it" for name in names), sep="\n")
