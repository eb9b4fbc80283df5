"""The report of an acceptance as a page to be printed and signed, with what it shows beside it.

`report.html` of this folder is the page; here is what it needs besides the report itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from vision.acceptance.answers import MOST_PEOPLE, answer_words, read_answer, title_of
from vision.acceptance.pictures import Pictures
from vision.acceptance.report import SHARES, Report, shares
from vision.acceptance.tasks import Judged
from vision.errors import OutsideError
from vision.files import make_folder, refuse_existing, write_whole
from vision.metrics.intervals import Share


def write_report(out: Path, report: Report, pictures: Pictures) -> None:
    """Write `report.html`, `report.json` and `pictures/` into a new folder; OutsideError."""
    refuse_existing(out / "report.html", out / "report.json")
    make_folder(out / "pictures")
    kept = {coup.read.key: _kept(out, coup, pictures) for coup in report.differences}
    write_whole(out / "report.json", (report.json() + "\n").encode())
    write_whole(out / "report.html", page_of(report, kept).encode())


def _kept(out: Path, coup: Judged, pictures: Pictures) -> list[str]:
    """Write the picture and the clip of a coup; return their names."""
    kept, name = [], coup.read.key.replace("/", "-")
    for suffix in ("jpg", "avi"):
        content = b""
        with suppress(OutsideError):  # evidence that is not kept any more
            content = (
                pictures.picture(coup.read, 0) if suffix == "jpg" else pictures.clip(coup.read)
            )
        if content:
            write_whole(out / "pictures" / f"{name}.{suffix}", content)
            kept.append(f"pictures/{name}.{suffix}")
    return kept


def page_of(report: Report, pictures: Mapping[str, list[str]]) -> str:
    """Return the page; `pictures` are the files of each coup that differs, by its key."""
    page = Environment(autoescape=True, undefined=StrictUndefined)
    page.filters |= {
        "shares": shares,
        "share": lambda fields: str(Share(**fields)),
        "words": answer_words,
        "read": read_answer,
        "title_of": title_of,
        "hand": _hand,
        "plain": _plain,
        "ms": lambda ms: f"{ms} ms",
        "of_them": lambda part: f"{part:.0%} of them",
    }
    text = files("vision.acceptance").joinpath("report.html").read_text("utf-8")
    given = {"report": report, "pictures": pictures, "shares_of": SHARES}
    return page.from_string(text).render(**given, most_people=MOST_PEOPLE)


def _hand(cards: Iterable[object]) -> str:
    return " ".join("?" if card is None else str(card) for card in cards)


def _plain(value: object) -> str:
    if isinstance(value, list):
        return " | ".join(map(_plain, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain(each)}" for name, each in value.items())
    return "–" if value is None else str(value)
