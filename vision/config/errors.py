"""The messages about faults in a table file: the file, the key, the fault and the cure.

`explain` puts the faults that pydantic reports into words; `view_faults` finds views that are
impossible, as areas outside the picture, `implausible` areas that cannot be what they are called.
"""

from __future__ import annotations

import difflib
import typing
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from vision.secrets import PLACE
from vision.sight.geometry.plane import Homography, Lens, TableView, shared_area

# Sections that nobody types: the set-up page adds and measures them.
MEASURED = ("view", "camera")
# Characters of a faulty value that a message shows.
SHOWN = 57
# Square millimetres below which an area counts as empty: the polygon crosses itself or is a line.
LEAST_AREA_MM2 = 1.0
# A triangle of three of the four points that is smaller than this share of their extent squared
# counts as a line: a plane fitted to it would be off by centimetres at a pixel of error.
FLAT = 1e-3

# Sides of an area over the card's, least and most. Slots as calibration makes them have 1.14 to
# 1.2, and a scale beyond 0.8 to 1.14 does not read; a larger mouth takes cards near the shoe for
# cards in it. A discard may be large, but not lie on others.
SIDES = {"SLOT": (0.95, 1.6), "MOUTH": (0.6, 2.3), "DISCARD": (0.8, 9.0)}
# Share of the smaller area that two may have in common: slots side by side share some millimetres.
SHARED = 0.2
# The point towards which cards leave lies so far from the middle of the mouth, mm: nearer, and the
# millimetres to which places are known turn the way.
LEAST_EXIT_MM = 20.0

Point = tuple[float, float]
Points = NDArray[np.float32]


# What is wrong with a variable in another key than the camera's address.
UNFILLED = (
    "${NAME} is filled in only in [camera] source; write the value itself, and name the variable "
    "of a password in password_env"
)


# The kind of a fault whose words have the cure already.
OWN = "own"


def refusal(words: str) -> PydanticCustomError:
    """Return what a check raises of a value; the words follow the key, and name the cure."""
    return PydanticCustomError(OWN, "{words}", {"words": words})


def explain(
    path: Path, error: ValidationError, model: type[BaseModel], page: str = "deploy/config.md"
) -> str:
    """Return one line a fault, in the order of the file's model; `page` explains its keys."""
    return "\n".join(f"{path}: {_line(fault, model, path, page)}" for fault in error.errors())


def _line(fault: ErrorDetails, model: type[BaseModel], path: Path, page: str) -> str:
    # Of a part that is a member of an enumeration, its name.
    parts = (str(getattr(part, "name", part)) for part in fault["loc"])
    key = ".".join(parts) or "(top level)"
    if fault["type"] == "extra_forbidden":
        return f"{key}: {_unknown(fault['loc'], model)}"
    if fault["type"] == "missing":
        return f"{key}: {_missing(fault['loc'], model, path, page)}"
    words = fault["msg"].replace("Input should be", "must be").removeprefix("Value error, ")
    if fault["type"] == OWN:
        return f"{key}: {words}"
    value = repr(fault["input"])
    value = value if len(value) <= SHOWN else f"{value[:SHOWN]}..."
    return f"{key}: is {value}, but {words[:1].lower()}{words[1:]}; correct the value"


def _unknown(loc: tuple[int | str, ...], model: type[BaseModel]) -> str:
    owner = _section(model, loc[:-1])
    known = sorted(owner.model_fields) if owner else []
    near = difflib.get_close_matches(str(loc[-1]), known, n=1, cutoff=0.5)
    cure = f"did you mean '{near[0]}'?" if near else f"known here: {', '.join(known)}"
    return f"unknown key; {cure}"


def _missing(loc: tuple[int | str, ...], model: type[BaseModel], path: Path, page: str) -> str:
    if loc[0] in MEASURED:
        return f"missing; the set-up page adds it: shoe-reader setup {path}"
    section = _section(model, loc)
    if section is None:
        return f"missing; add the key (see {page})"
    needed = [name for name, field in section.model_fields.items() if field.is_required()]
    name = ".".join(str(part) for part in loc)
    return f"missing section; add [{name}] with {', '.join(needed)} (see {page})"


def _section(model: type[BaseModel], loc: tuple[int | str, ...]) -> type[BaseModel] | None:
    """Follow the way from the top model to the section it names; None where it is no section."""
    repeated = False  # whether the last part was an array or a table of sections
    for part in loc:
        if repeated:
            repeated = False
            continue
        field = model.model_fields.get(str(part))
        kinds = () if field is None else (field.annotation, *typing.get_args(field.annotation))
        inner = [k for k in kinds if isinstance(k, type) and issubclass(k, BaseModel)]
        if not inner:
            return None
        model = inner[0]
        repeated = field is not None and typing.get_origin(field.annotation) in (tuple, list, dict)
    return model


def view_faults(
    image_px: Sequence[Point],
    table_mm: Sequence[Point],
    areas: Mapping[str, Sequence[Point]],
    size: tuple[int, int],
    lens: Lens | None = None,
) -> Iterator[tuple[str, str]]:
    """Yield what is impossible about a view, with its key: no plane, or areas outside the picture.

    `areas` are polygons in millimetres by key; `size` is the picture's width and height in pixels.
    """
    outside = [point for point in image_px if not _inside(point, size)]
    if outside:
        words = (
            f"{_shown(outside[0])} px lies outside the picture ({size[0]} x {size[1]} px); give "
            "the points as seen in it, or correct camera.width and camera.height"
        )
        yield "view.image_px", words
        return
    image, table = np.asarray(image_px, np.float32), np.asarray(table_mm, np.float32)
    for key, corners in (("view.image_px", image), ("view.table_mm", table)):
        if is_flat(corners):
            words = (
                "three of the four points lie on one line; give the four corners of a rectangle "
                "on the table, in the same order in both lists"
            )
            yield key, words
            return
    if lens is not None and lens.folds(size):
        words = "describes no lens: the picture would fold over itself; calibrate the view again"
        yield "view.lens", words
        return
    plane = Homography.fit(image, table, lens)
    for key, polygon in areas.items():
        corners = np.asarray(polygon, np.float32)
        if abs(cv2.contourArea(corners)) < LEAST_AREA_MM2:
            yield key, "encloses no area; give its corners in order, in millimetres"
            continue
        for corner, (x, y) in zip(polygon, plane.to_px(corners).tolist(), strict=True):
            if not _inside((x, y), size):
                words = (
                    f"{_shown(corner)} mm falls at ({x:.0f}, {y:.0f}) px, outside the picture "
                    f"({size[0]} x {size[1]} px); move it inside, or calibrate the view again"
                )
                yield key, words
                break


def exit_faults(exit_mm: Point | None, mouth_mm: Sequence[Point]) -> Iterator[tuple[str, str]]:
    """Yield what is impossible about the point towards which cards leave a mouth, mm."""
    if exit_mm is None:
        return
    x, y = np.mean(mouth_mm, axis=0).tolist()
    if np.hypot(exit_mm[0] - x, exit_mm[1] - y) < LEAST_EXIT_MM:
        words = (
            f"{_shown(exit_mm)} mm lies in the middle of view.mouth_mm; give a point before the "
            "mouth, a card's length away, towards which cards leave the shoe"
        )
        yield "view.exit_mm", words


def _inside(point: Point, size: tuple[int, int]) -> bool:
    return 0 <= point[0] <= size[0] and 0 <= point[1] <= size[1]


def is_flat(corners: Points) -> bool:
    """Whether any three of four points lie (almost) on one line."""
    extent = float(np.ptp(corners, axis=0).max())
    triples = (np.delete(corners, i, axis=0) for i in range(4))
    return any(abs(cv2.contourArea(triple)) <= FLAT * extent * extent for triple in triples)


def _shown(point: Point) -> str:
    return f"({point[0]:g}, {point[1]:g})"


def with_variables(data: object, key: str = "") -> Iterator[str]:
    """Yield the keys whose values name a variable that nothing fills in."""
    if isinstance(data, dict):
        for name, value in data.items():
            yield from with_variables(value, f"{key}.{name}" if key else str(name))
    elif isinstance(data, list):
        for value in data:
            yield from with_variables(value, key)
    elif isinstance(data, str) and PLACE.search(data) and key != "camera.source":
        yield key


def implausible(view: TableView) -> Iterator[tuple[str, str]]:
    """Yield the names of areas that cannot be right, and why, with the cure.

    That areas lie in the picture, and that there is a plane, is checked where a file is loaded.
    """
    card = sorted(view.card_mm)
    for name, area in view.areas.items():
        sides = sorted(cv2.minAreaRect(np.asarray(area, np.float32))[1])
        least, most = SIDES.get(name, SIDES["SLOT"])
        if not all(least * c <= side <= most * c for c, side in zip(card, sides, strict=True)):
            size = f"{sides[0]:.0f} x {sides[1]:.0f} mm, but a card is {card[0]:g} x {card[1]:g} mm"
            yield name, f"is {size}: lay the cards and measure again"
    for (one, first), (two, second) in combinations(view.areas.items(), 2):
        smaller = min(cv2.contourArea(first), cv2.contourArea(second))
        if shared_area(first, second) > SHARED * smaller:
            yield two, f"lies on {one}: move one of the two away"
    middles = {slot: area.mean(axis=0) for slot, area in view.slots.items()}
    punto, banco = (
        np.array([middle for slot, middle in middles.items() if slot.is_punto is is_punto])
        for is_punto in (True, False)
    )
    way = banco.mean(axis=0) - punto.mean(axis=0)
    if float((punto @ way).max()) >= float((banco @ way).min()):
        yield "PUNTO_1", "and the rest of Punto's slots must lie on one side of Banco's"
    hull = cv2.convexHull(np.concatenate([*view.slots.values()]).astype(np.float32))
    x, y = view.mouth.mean(axis=0).tolist()
    if cv2.pointPolygonTest(hull, (x, y), False) >= 0:
        yield "MOUTH", "lies among the slots: put it where cards leave the shoe"
