"""Find the table files of a house, and what two of its tables may not share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from vision.config.table import TableConfig
from vision.errors import ConfigurationError
from vision.storage.evidence import folder_of


def table_files(given: Sequence[Path]) -> list[Path]:
    """Return the table files: those given, and of a folder each `.toml` by name.

    ConfigurationError where a folder has none, or a file is given twice.
    """
    found: list[Path] = []
    for path in given:
        files = sorted(path.glob("*.toml")) if path.is_dir() else [path]
        if not files:
            raise ConfigurationError(f"{path}: holds no table file (*.toml); give another folder")
        found += files
    twice = {path for path in found if found.count(path) > 1}
    if twice:
        raise ConfigurationError(f"{min(twice)}: is given twice; give each table file once")
    return found


def conflicts(configs: Mapping[Path, TableConfig]) -> list[str]:
    """Return in words what two of these tables share that each must have for itself."""
    users: defaultdict[tuple[str, object], list[Path]] = defaultdict(list)
    for path, config in configs.items():
        for own in _own(config):
            users[own].append(path)
    return [
        f"{', '.join(map(str, paths))}: {what.format(value)}"
        for (what, value), paths in users.items()
        if len(paths) > 1
    ]


def _own(config: TableConfig) -> Iterator[tuple[str, object]]:
    """Yield what a table must have for itself, with the cure where another has it too."""
    log_path, evidence = Path(config.log.path), config.evidence
    same = "; give each table file its own"
    yield f"site, table: both are table '{{}}'{same} name", f"{config.site}/{config.table}"
    yield f"log.path: both write the log {{}}{same}", log_path.resolve()
    if evidence.keep:
        folder = Path(evidence.folder) if evidence.folder else folder_of(log_path)
        yield f"evidence.folder: both keep pictures in {{}}{same}", folder.resolve()
    if evidence.keep and evidence.copy_to:
        yield f"evidence.copy_to: both copy to {{}}{same}", Path(evidence.copy_to).resolve()
    if config.metrics.port is not None:
        yield f"metrics.port: both serve on port {{}}{same}", config.metrics.port


def brokers_of(configs: Iterable[TableConfig]) -> set[tuple[int, int]]:
    """Return the ports (MQTT, WebSocket) of the embedded brokers that these tables ask for."""
    brokers = (config.broker for config in configs if config.broker.kind == "embedded")
    return {(broker.port, broker.websocket_port) for broker in brokers}
