"""The bundle for those who improve the reader: films and stills with what people say was dealt.

It is written only if an inspector has let it leave the house, which stands in the log. Of the
pictures the layout is shown, all beyond it is black; the table file has where things lie and
nothing else. Films are in the form of the simulator's, stills in that of labelled photographs.
Times are the reader's, for people say what was dealt and not when.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import av
import cv2
import numpy as np
import tomlkit

from vision.acceptance.answers import CUT_CARD, CUT_FIRST, Answer, Dealt
from vision.acceptance.coups import LogBook, ReadCoup
from vision.acceptance.pictures import CRF, Film, Pictures
from vision.acceptance.tasks import judged
from vision.config.table import TableConfig
from vision.errors import ConfigurationError, OutsideError
from vision.files import make_folder, refuse_existing, write_json, write_whole
from vision.game.cards import Card
from vision.game.events import Life, SeenCard, Slot
from vision.sight.geometry.frame import Image
from vision.sight.geometry.plane import Pose
from vision.version import VERSION

# Milliseconds from one card to the next, and from its leaving the shoe to its rest, where the
# reader did not see it and so has no times: what a dealer takes at an even pace.
NEXT_MS, REST_MS = 1500, 800
THIRD = 4  # from this slot on cards lie crosswise

Row = dict[str, Any]
Told = tuple[ReadCoup, Answer]


def write_bundle(
    out: Path, config: TableConfig, book: LogBook, pictures: Pictures
) -> Iterator[str]:
    """Write the bundle into a new folder, and say what is in it; ConfigurationError, OutsideError.

    ConfigurationError where the house has not let it.
    """
    if book.allowed is None:
        raise ConfigurationError(
            f"{book.path}: no inspector has let a bundle leave the house; the page of "
            "shoe-reader accept open asks for it once every coup has its answers"
        )
    refuse_existing(out)
    told = _told(book)
    for film in pictures.films:
        folder = out / "films" / film.path.stem
        make_folder(folder)
        coups = [each for each in told if film.began <= each[0].shown <= film.ended]
        _write_film(folder / "deal.mp4", film, pictures)
        write_whole(folder / "truth.json", json.dumps(_truth(film, coups), indent=1).encode())
        write_whole(folder / "table.toml", _table_file(config, film).encode())
        yield f"{folder}: {len(coups)} coups"
    source = out / "photographs" / "measure" / f"{config.site}-{config.table}"
    yield f"{source}: {_write_stills(source, config, told, pictures)} pictures"
    write_json(
        out / "bundle.json",
        {
            "program": f"shoe-reader {VERSION}",
            "log": book.log_id,
            "last_record": book.last.number,
            "last_hash": book.last.hash,
            "allowed_by": book.allowed.by,
            "allowed_at": book.allowed.at,
            "films": {film.path.stem: film.sha256 for film in pictures.films},
        },
    )


def _told(book: LogBook) -> list[Told]:
    """Return the coups of which it is settled what was dealt, every card of it seen."""
    settled = [(coup.read, coup.answer) for coup in judged(book) if coup.counted and coup.answer]
    return [
        (read, answer)
        for read, answer in settled
        if not answer[-1].is_none and None not in (*answer[-1].punto, *answer[-1].banco)
    ]


# --- films ----------------------------------------------------------------------------------------


def _write_film(path: Path, film: Film, pictures: Pictures) -> None:
    """Write a film again, all black beyond the layout; OutsideError."""
    with av.open(str(film.path)) as source, av.open(str(path), "w") as out:
        rate = source.streams.video[0].average_rate or Fraction(1000, 33)
        stream = None
        for _, image in film.frames(film.began, film.ended):
            if stream is None:
                options = {"crf": CRF, "preset": "veryfast"}
                stream = out.add_stream("libx264", rate=rate, options=options)
                stream.height, stream.width = image.shape[:2]
                stream.pix_fmt = "yuv420p"
            frame = av.VideoFrame.from_ndarray(pictures.crop.covered(image), format="bgr24")
            out.mux(stream.encode(frame))
        if stream is None:
            raise OutsideError(f"{film.path}: the film contains no picture; give a recording")
        out.mux(stream.encode())


def _truth(film: Film, told: Sequence[Told]) -> Row:
    """Return the truth of a film as the simulator writes it; times in ms from its start."""
    cards: list[Row] = []
    coups: list[Row] = []
    faults: list[Row] = []
    cut: int | None = None
    for number, (read, answer) in enumerate(told, start=1):
        rows = _cards(read, answer[-1], film.began, number)
        cards += rows
        begin, end = rows[0]["began_ms"], read.until - film.began
        coups.append({"coup": number, "start_ms": begin, "end_ms": end})
        codes = answer[-1].incidents
        faults += [{"coup": number, "code": code} for code in codes]
        cut = begin if {CUT_CARD, CUT_FIRST} & {*codes} else cut
    return {"cards": cards, "coups": coups, "faults": faults, "cut_ms": cut}


def _cards(read: ReadCoup, dealt: Dealt, began: int, number: int) -> list[Row]:
    """Return the cards of a coup in the order of leaving; of those the reader missed, the last."""
    seen = {card.slot: card for card in read.cards if card.life is not Life.RETURNED}
    hands = zip((dealt.punto, dealt.banco), (Slot.PUNTO_1, Slot.BANCO_1), strict=True)
    placed = [
        (Slot(first + 2 * i), card)
        for hand, first in hands
        for i, card in enumerate(hand[:3])
        if card is not None
    ]
    after = max((card.out_at for card in read.cards), default=read.since)
    rows = []
    for slot, card in sorted(placed):
        known = seen.get(slot)
        if known is None:
            after += NEXT_MS
        rows.append(_row(read, slot, card, known or SeenCard(-1, after, Life.LYING, slot)))
    rows.sort(key=lambda row: row["out_ms"])
    times = [name for name in rows[0] if name.endswith("_ms")]
    return [{**row, "coup": number, **{name: row[name] - began for name in times}} for row in rows]


def _row(read: ReadCoup, slot: Slot, card: Card, seen: SeenCard) -> Row:
    times = read.times.get(seen.order, {})
    placed = times.get(Life.LYING, seen.out_at + REST_MS)
    return {
        "card": str(card),
        "slot": slot.name,
        "began_ms": seen.out_at,
        "out_ms": seen.out_at,
        "placed_ms": placed,
        "face_ms": read.faced.get(seen.order, placed),
        "removed_ms": times.get(Life.REMOVED, read.until),
    }


def _table_file(config: TableConfig, film: Film) -> str:
    """Return where things lie at the table, and nothing else of its file."""
    view = config.view.model_dump(mode="json", exclude_none=True, exclude={"layout", "slots_mm"})
    view["slots_mm"] = {
        slot.name: np.asarray(area).tolist() for slot, area in config.view.slots_mm.items()
    }
    size = {"width": config.camera.width, "height": config.camera.height}
    return tomlkit.dumps(
        {
            "site": "acceptance",
            "table": film.path.stem,
            "dealing": config.dealing,
            "camera": {"source": "deal.mp4", **size},
            "view": view,
            "broker": {"kind": "none"},
        }
    )


# --- stills ---------------------------------------------------------------------------------------


def _write_stills(
    folder: Path, config: TableConfig, told: Sequence[Told], pictures: Pictures
) -> int:
    """Write a still of each coup, and the cards with the boxes of their slots; return how many.

    A box is that of a card which lies in the middle of its slot: good enough to tell which card is
    meant, not to learn outlines from.
    """
    view = config.view.table_view()
    for name in ("images", "labels"):
        make_folder(folder / name)
    count = 0
    for read, answer in told:
        if not pictures.count(read):
            continue
        picture = pictures.picture(read, 0)
        shape = np.shape(
            cast(Image, cv2.imdecode(np.frombuffer(picture, np.uint8), cv2.IMREAD_COLOR))
        )
        lines = []
        for hand, first in ((answer[-1].punto, 0), (answer[-1].banco, 1)):
            for i, card in enumerate(hand[:3]):
                slot = Slot(first + 2 * i)
                x, y = view.slots[slot].mean(axis=0)
                pose = Pose(float(x), float(y), 90.0 if slot >= THIRD else 0.0)
                box = view.homography.to_px(view.rectangle(pose)) - pictures.crop.corner
                lines.append(_label(card, box, shape))
        name = read.key.replace("/", "-")
        write_whole(folder / "images" / f"{name}.jpg", picture)
        write_whole(folder / "labels" / f"{name}.txt", ("\n".join(lines) + "\n").encode())
        count += 1
    return count


def _label(card: Card | None, quad: np.ndarray, shape: tuple[int, ...]) -> str:
    """Return a line of YOLO: class, middle, width and height, as shares of the picture."""
    low, high = quad.min(axis=0) / shape[1::-1], quad.max(axis=0) / shape[1::-1]
    middle, size = (low + high) / 2, high - low
    return " ".join([str(card.index if card else 0), *(f"{v:.5f}" for v in (*middle, *size))])
