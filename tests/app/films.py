"""Films of evidence, taken apart again by another program's reader."""

from __future__ import annotations

import io

import av


def pictures_of(film: bytes) -> tuple[bytes, ...]:
    """Return the JPEGs of a film, each as it was put in."""
    with av.open(io.BytesIO(film), "r") as container:
        return tuple(bytes(packet) for packet in container.demux(video=0) if packet.size)


def pace_of(film: bytes) -> float:
    """Return the pictures a second of a film."""
    with av.open(io.BytesIO(film)) as container:
        return float(container.streams.video[0].average_rate or 0)
