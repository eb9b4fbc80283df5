"""The bundle for those who improve the reader: films and stills with what people say was dealt.

It is written only if an inspector has let it leave the house, which stands in the log. Of the
pictures the layout is shown, all beyond it is black; the table file has where things lie and
nothing else. `bundle.json` says of each coup what people say was dealt, and when the reader saw
it; `models.evaluate.bundle` makes of it what networks are measured with.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import tomlkit

from vision.acceptance.answers import Answer, Dealt
from vision.acceptance.coups import LogBook, ReadCoup
from vision.acceptance.pictures import Film, Pictures, encode
from vision.acceptance.tasks import judged
from vision.config.table import TableConfig
from vision.errors import ConfigurationError, OutsideError
from vision.files import make_folder, refuse_existing, write_json, write_whole
from vision.game.events import Life
from vision.version import VERSION


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
    answered = _answered(book)
    for film in pictures.films:
        folder = out / "films" / film.path.stem
        make_folder(folder)
        _write_film(folder / "deal.mp4", film, pictures)
        write_whole(folder / "table.toml", _table_file(config, film.path.stem, "deal.mp4").encode())
        count = sum(film.began <= read.shown <= film.ended for read, _ in answered)
        yield f"{folder}: {count} coups"
    stills = out / "stills"
    make_folder(stills)
    shown = [read for read, _ in answered if pictures.count(read)]
    for read in shown:
        write_whole(stills / f"{read.key.replace('/', '-')}.jpg", pictures.picture(read, 0))
    write_whole(out / "table.toml", _table_file(config, "stills", "stills").encode())
    yield f"{stills}: {len(shown)} pictures"
    films = [
        {"name": film.path.stem, "began": film.began, "ended": film.ended, "sha256": film.sha256}
        for film in pictures.films
    ]
    write_json(
        out / "bundle.json",
        {
            "program": f"shoe-reader {VERSION}",
            "log": book.log_id,
            "last_record": book.last.number,
            "last_hash": book.last.hash,
            "allowed_by": book.allowed.by,
            "allowed_at": book.allowed.at,
            "source": f"{config.site}-{config.table}",
            "corner": [int(value) for value in pictures.crop.corner],
            "films": films,
            "coups": [_coup(read, answer[-1]) for read, answer in answered],
        },
    )


def _answered(book: LogBook) -> list[tuple[ReadCoup, Answer]]:
    """Return the coups of which it is settled what was dealt, every card of it seen."""
    coups = judged(book, book.set)
    settled = ((coup.read, coup.answer) for coup in coups if coup.counted and coup.answer)
    return [
        (read, answer)
        for read, answer in settled
        if not answer[-1].is_none and None not in (*answer[-1].punto, *answer[-1].banco)
    ]


def _coup(read: ReadCoup, dealt: Dealt) -> dict[str, Any]:
    """Return what is known of a coup: what was dealt, and the reader's times (Unix ms)."""
    return {
        "coup": read.key,
        "since": read.since,
        "shown": read.shown,
        "until": read.until,
        "punto": [str(card) for card in dealt.punto],
        "banco": [str(card) for card in dealt.banco],
        "incidents": list(dealt.incidents),
        "cards": [
            {
                "slot": None if card.slot is None else card.slot.name,
                "life": str(card.life),
                "out": card.out_at,
                "placed": read.times.get(card.order, {}).get(Life.LYING),
                "face": read.faced.get(card.order),
                "removed": read.times.get(card.order, {}).get(Life.REMOVED),
            }
            for card in read.cards
        ],
    }


def _write_film(path: Path, film: Film, pictures: Pictures) -> None:
    """Write a film again, all black beyond the layout; OutsideError."""
    with av.open(str(film.path)) as source:
        rate = source.streams.video[0].average_rate or Fraction(1000, 33)
    images = (pictures.crop.covered(image) for _, image in film.frames(film.began, film.ended))
    frames = (av.VideoFrame.from_ndarray(image, format="bgr24") for image in images)
    if not encode(str(path), frames, rate):
        raise OutsideError(f"{film.path}: the film contains no picture; give a recording")


def _table_file(config: TableConfig, name: str, source: str) -> str:
    """Return where things lie at the table, and nothing else of its file."""
    view = config.view.model_dump(mode="json", exclude_none=True, exclude={"layout", "slots_mm"})
    view["slots_mm"] = {
        slot.name: np.asarray(area).tolist() for slot, area in config.view.slots_mm.items()
    }
    camera = {"source": source, "width": config.camera.width, "height": config.camera.height}
    table = {"site": "acceptance", "table": name, "dealing": config.dealing}
    return tomlkit.dumps({**table, "camera": camera, "view": view, "broker": {"kind": "none"}})
