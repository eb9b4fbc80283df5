"""What evidence costs the reader: milliseconds a picture, and megabytes of memory and disk.

`python -m models.evaluate.evidence DIR/table.toml` with a film of `shoe-reader simulate DIR`. Times
are of the processor, so that other work does not count; the film is shown over and over.
"""

from __future__ import annotations

import argparse
import io
import itertools
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import av
import cv2

from vision.app.evidence import ClipBuffer, Crop
from vision.config.table import TableConfig, load
from vision.errors import OutsideError
from vision.record.facts import EvidenceKept, Medium
from vision.sight.geometry.plane import Frame, Image
from vision.storage.evidence import EvidenceStore

# Pictures of the film that are used; looks and stills that are timed.
SHOWN = 60
LOOKS = 900
STILLS = 50


def pictures(config: TableConfig, count: int) -> list[Image]:
    """Return so many pictures of the film, spread over it; OutsideError when there are none."""
    film = cv2.VideoCapture(config.camera.source)
    step = max(1, int(film.get(cv2.CAP_PROP_FRAME_COUNT)) // count)
    images = (film.read() for _ in itertools.count())
    shown = itertools.takewhile(lambda read: read[0], images)
    found = [cast(Image, image) for _, image in itertools.islice(shown, 0, step * count, step)]
    if not found:
        raise OutsideError(f"{config.camera.source}: no film; make one with shoe-reader simulate")
    return found


def took_ms(job: Callable[[], object], times: int) -> float:
    """Return the milliseconds of processor time that the job takes once."""
    began = time.process_time()
    for _ in range(times):
        job()
    return (time.process_time() - began) / times * 1000


def measured(config: TableConfig) -> Iterator[str]:
    """Yield what evidence costs, a line each."""
    camera, settings = config.camera, config.evidence
    crop = Crop(config.view.outline_px(), (camera.width, camera.height))
    length_s = settings.before_s + settings.after_s + 1
    ring = ClipBuffer(crop, length_s=length_s, fps=settings.clip_fps)
    images, most_bytes = pictures(config, SHOWN), config.broker.max_message
    frames = (Frame(images[n % len(images)], round(n * 1000 / 15), n) for n in itertools.count())
    each = took_ms(lambda: ring.add(next(frames)), LOOKS)
    yield f"{camera.width} x {camera.height} at 15 a second: {each:.2f} ms a picture for the ring"
    yield f"the ring holds {length_s:g} s in {ring.size / 1e6:.1f} MB"
    still = crop.still(images[0], most_bytes)
    still_ms = took_ms(lambda: crop.still(images[0], most_bytes), STILLS)
    yield f"a still: {still_ms:.1f} ms, {len(still) / 1e3:.0f} kB"
    film = ring.film(0, 10**9, most_bytes)
    film_ms = took_ms(lambda: ring.film(0, 10**9, most_bytes), 10)
    with av.open(io.BytesIO(film)) as container:
        length = container.streams.video[0].frames
    yield f"a clip of {length} pictures: {film_ms:.1f} ms, {len(film) / 1e6:.1f} MB"
    yield f"a still on the disk, synced: {_written_ms(still):.1f} ms (of the clock)"


def _written_ms(content: bytes) -> float:
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        evidence_store = EvidenceStore(Path(folder))
        began = time.perf_counter()
        for number in range(STILLS):
            evidence_store.keep(
                EvidenceKept(0, f"s-1-c{number}", Medium.STILL, "s", 1, "", 0), content
            )
        return (time.perf_counter() - began) / STILLS * 1000


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", type=Path, metavar="TABLE.toml")
    for line in measured(load(parser.parse_args().table)):
        print(line)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
