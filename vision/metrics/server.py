"""Serve the figures of a reader to Prometheus over HTTP, on loopback unless configured otherwise.

It serves the numbers of `health` and their age: a reader that hangs shows as figures that grow old.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Mapping
from http.client import HTTPException
from typing import Protocol, Self
from urllib.request import urlopen
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from vision.errors import OutsideError

log = logging.getLogger(__name__)

ASK_S = 3.0  # seconds until `check` gives up on a reader on the same machine
ANSWER_LIMIT = 1024 * 1024  # bytes; a longer answer is not a reader's
PREFIX = "shoe_reader_"
# What only ever rises; all else is a gauge.
COUNTERS = {
    "frames", "looked", "cards_out", "cards_read", "cards_unread", "outages", "orders_refused",
    "canary_failures",
}  # fmt: skip


class Reader(Protocol):
    """Holds the figures; both are replaced as a whole, never changed."""

    @property
    def health(self) -> Mapping[str, object]:
        """The figures last published as `health`."""

    @property
    def health_at_s(self) -> float:
        """When that was, by the monotonic clock."""


class MetricsServer:
    """Serves the figures of a reader; port 0 takes a free port, a taken port is logged."""

    def __init__(self, host: str, port: int | None, labels: Mapping[str, str]) -> None:
        self.port = port
        self._host = host
        self._labels = dict(labels)
        self._server: WSGIServer | None = None
        self._thread: threading.Thread | None = None

    def serve(self, reader: Reader) -> Self:
        """Begin to serve, if a port is given; the reader does its work whether or not it can."""
        if self.port is None:
            return self
        registry = CollectorRegistry()
        registry.register(_Figures(reader, self._labels))
        try:
            self._server, self._thread = start_http_server(self.port, self._host, registry)
            self.port = self._server.server_port
        except OSError as error:
            log.warning(
                "no figures for Prometheus: cannot listen on %s port %s: %s; choose another "
                "[metrics] port",
                self._host,
                self.port,
                error.strerror,
            )
        return self

    def close(self) -> None:
        """Stop serving."""
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
            self._server = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Figures(Collector):
    """Makes metric families of the figures of `health`."""

    def __init__(self, reader: Reader, labels: Mapping[str, str]) -> None:
        self._reader = reader
        self._labels = labels

    def collect(self) -> Iterator[GaugeMetricFamily | CounterMetricFamily]:
        """Yield every number; unknown values and texts are left out."""
        age_s = round(time.monotonic() - self._reader.health_at_s, 3)
        for name, value in flat({**self._reader.health, "health_age_s": age_s}):
            kind = CounterMetricFamily if name in COUNTERS else GaugeMetricFamily
            family = kind(PREFIX + name, name.replace("_", " "), labels=list(self._labels))
            family.add_metric(list(self._labels.values()), value)
            yield family


def flat(values: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, float]]:
    """Yield each number within, its name that of the way to it; true is 1, false is 0."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{key}_")
        elif isinstance(value, bool | int | float):
            yield prefix + key, float(value)


def ask(host: str, port: int) -> dict[str, float]:
    """Return the figures that a running reader serves, by name; OutsideError when none does."""
    try:
        with urlopen(f"http://{host}:{port}/metrics", timeout=ASK_S) as answer:
            text = answer.read(ANSWER_LIMIT).decode()
        families = list(text_string_to_metric_families(text))
    except (OSError, ValueError, HTTPException) as error:
        raise OutsideError(
            f"no figures from {host} port {port}: {error}; is the reader running, and is this its "
            "[metrics] host and port?"
        ) from error
    return {
        sample.name.removeprefix(PREFIX).removesuffix("_total"): sample.value
        for family in families
        for sample in family.samples
    }
