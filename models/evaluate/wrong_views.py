"""Read dealing films with table files that are wrong, and count what was published and alleged.

`python -m models.evaluate.wrong_views FOLDER [--only NAME] [--coups N] [--view NAME]...`: FOLDER
holds films with their truth, as for `models.evaluate.dealing_films`. The first coups of each film
are read with its right table file and with each wrong one. A wrong view must accuse nobody, publish
no wrong result, and be reported as what it is.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from datasets.dealing.score import aligned
from models.evaluate.dealing_films import Json, table_file
from vision.app.pipeline import SightPipeline, SightSupervisor, models_of, rules_of
from vision.camera.decoding import Shot
from vision.camera.source import open_source
from vision.config.table import TableConfig
from vision.errors import ConfigurationError
from vision.game.coup.fault_table import KINDS, OPENLY_UNSURE
from vision.game.coup.state import new_table
from vision.game.events import Event, ShoeStarted, Started, TimePassed
from vision.game.fold.step import step
from vision.game.outputs import AlertChanged, CoupLive, CoupResult, Output, Severity
from vision.sight.geometry.plane import Frame, Image

Change = Callable[[Json], None]


def _moved(areas: Any, dx: float, dy: float) -> Any:
    return [[x + dx, y + dy] for x, y in areas]


def _mouth(view: Json) -> None:
    """Put the mouth on the other side of the table."""
    middle = np.mean([point for area in view["slots_mm"].values() for point in area], axis=0)
    view["mouth_mm"] = (2 * middle - np.array(view["mouth_mm"])).tolist()


def _mouth_at_discard(view: Json) -> None:
    view["mouth_mm"], view["discard_mm"] = view["discard_mm"], view["mouth_mm"]


def _hands(view: Json) -> None:
    slots = view["slots_mm"]
    for number in (1, 2, 3):
        punto, banco = f"PUNTO_{number}", f"BANCO_{number}"
        slots[punto], slots[banco] = slots[banco], slots[punto]


def _scale(by: float) -> Change:
    def change(view: Json) -> None:
        def scaled(area: Any) -> Any:
            return [[by * x, by * y] for x, y in area]

        for key in ("table_mm", "mouth_mm", "discard_mm"):
            view[key] = scaled(view[key])
        view["slots_mm"] = {name: scaled(area) for name, area in view["slots_mm"].items()}

    return change


def _shift(dx: float, dy: float) -> Change:
    def change(view: Json) -> None:
        slots = view["slots_mm"]
        view["slots_mm"] = {name: _moved(area, dx, dy) for name, area in slots.items()}

    return change


def _one_another(view: Json) -> None:
    view["slots_mm"]["PUNTO_2"] = view["slots_mm"]["PUNTO_1"]


def _mirrored_too(width: int) -> Change:
    """Measure the mirrored picture: all areas are right, and the faces are in mirror image."""

    def change(view: Json) -> None:
        view["image_px"] = [[width - 1 - x, y] for x, y in view["image_px"]]
        for key in ("table_mm", "mouth_mm", "discard_mm"):
            view[key] = [[-x, y] for x, y in view[key]]
        slots = view["slots_mm"]
        view["slots_mm"] = {n: [[-x, y] for x, y in area] for n, area in slots.items()}

    return change


def _as_it_is(image: Image) -> Image:
    return image


def _turned(image: Image) -> Image:
    return np.ascontiguousarray(image[::-1, ::-1])


def _mirrored(image: Image) -> Image:
    return np.ascontiguousarray(image[:, ::-1])


def wrong_views(width: int) -> dict[str, tuple[Change, Callable[[Image], Image]]]:
    """Return by name how the view of a table file, and the pictures of that width, are changed."""
    return {
        "right": (lambda _: None, _as_it_is),
        "hands exchanged": (_hands, _as_it_is),
        "mouth elsewhere": (_mouth, _as_it_is),
        "mouth and discard exchanged": (_mouth_at_discard, _as_it_is),
        "picture upside down": (lambda _: None, _turned),
        "picture mirrored": (lambda _: None, _mirrored),
        "picture mirrored, then measured": (_mirrored_too(width), _mirrored),
        "scale 0.6": (_scale(0.6), _as_it_is),
        "scale 0.7": (_scale(0.7), _as_it_is),
        "scale 0.8": (_scale(0.8), _as_it_is),
        "scale 1.14": (_scale(1.14), _as_it_is),
        "scale 1.3": (_scale(1.3), _as_it_is),
        "scale 1.6": (_scale(1.6), _as_it_is),
        "half a card across": (_shift(31.5, 0), _as_it_is),
        "half a card along": (_shift(0, 44), _as_it_is),
        "Punto 2 on Punto 1": (_one_another, _as_it_is),
    }


@dataclass(slots=True)
class Outcome:
    """What a run gave: the last result of each coup, alerts with their time (ms), cards shown."""

    results: dict[int, CoupResult] = field(default_factory=dict)
    alerts: list[tuple[int, str, str]] = field(default_factory=list)
    shown: int = 0
    finals: list[CoupResult] = field(default_factory=list)

    def take(self, outputs: tuple[Output, ...]) -> None:
        """Take what one event gave."""
        for output in outputs:
            match output:
                case CoupResult():
                    self.results[output.coup] = output
                    if output.winner is not None:
                        self.finals.append(output)
                case CoupLive():
                    faces = [*output.punto, *output.banco]
                    self.shown = max(self.shown, sum(card is not None for card in faces))
                case AlertChanged() if output.first and output.alert.severity is not Severity.INFO:
                    alert = output.alert
                    self.alerts.append((output.at, alert.code, alert.text))
                case _:
                    pass


def read(config: TableConfig, change: Callable[[Image], Image], until_ms: int) -> Outcome:
    """Return what reading the first `until_ms` of a film gives, with its pictures changed."""
    pipeline = SightPipeline(config, models_of(config), rules=rules_of(config))
    supervisor = SightSupervisor(pipeline, None, config.watch, live=False)
    outcome, table = Outcome(), new_table(rules_of(config))

    def take(events: Iterator[Event] | list[Event]) -> None:
        nonlocal table
        for event in events:
            table, outputs = step(table, event)
            outcome.take(outputs)

    take([Started(0, "run"), ShoeStarted(0, "shoe")])
    for shot in open_source(config.camera, speed=0.0, start_ms=0):
        if not isinstance(shot, Shot):
            continue
        if shot.frame.at > until_ms:
            break
        due = table.waits_until
        frame = Frame(change(shot.frame.image), shot.frame.at, shot.frame.index)
        take([TimePassed(frame.at)] if due is not None and due <= frame.at else [])
        take(supervisor.take(Shot(frame, shot.taken_s)))
    return outcome


def judged(truth: list[Json], outcome: Outcome) -> str:
    """Return in words what a run gave, against the coups that were dealt."""
    dealt = [_as_published(result) for result in outcome.results.values()]
    counts = dict.fromkeys(("right", "held", "wrong", "missing"), 0)
    alleged = {code for _, code, _ in outcome.alerts if not KINDS[code].of_reader}
    faults = {coup["fault"]["code"] if isinstance(coup["fault"], dict) else coup["fault"]
              for coup in truth}  # fmt: skip
    for coup, published in aligned(truth, dealt):
        if published is None:
            counts["missing"] += 1
        elif published["winner"] is None:
            counts["held"] += 1
        else:
            same = coup is not None and all(
                published[hand]["cards"] == coup[hand] for hand in ("punto", "banco")
            )
            counts["right" if same else "wrong"] += 1
    wrong = sum(not _was_dealt(truth, final) for final in outcome.finals)
    false = sorted(alleged - faults - OPENLY_UNSURE)
    ends = [coup["t_cleared"] * 1000 for coup in truth]
    reported = [
        f"{code} after {sum(at > end for end in ends)} coups: {text}"
        for at, code, text in outcome.alerts
    ]
    return "\n    ".join([
        ", ".join(f"{name} {count}" for name, count in counts.items())
        + f"; ever published wrong {wrong}; alleged falsely {false or 'nothing'}; "
        f"at most {outcome.shown} faces shown of a coup",
        *reported,
    ])  # fmt: skip


def _as_published(result: CoupResult) -> Json:
    hands = {
        name: {"cards": [None if card is None else str(card) for card in hand.cards]}
        for name, hand in (("punto", result.punto), ("banco", result.banco))
    }
    return {"winner": result.winner, **hands}


def _was_dealt(truth: list[Json], result: CoupResult) -> bool:
    published = _as_published(result)
    return any(
        all(published[hand]["cards"] == coup[hand] for hand in ("punto", "banco")) for coup in truth
    )


def main() -> int:
    """Read each film with each wrong view and print what it gave."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="films (.mp4), each with its truth (.json)")
    parser.add_argument("--only", default="*", metavar="NAME", help="the film of that name")
    parser.add_argument("--coups", type=int, default=4, help="so many from its beginning")
    parser.add_argument("--view", action="append", metavar="NAME", help="only that wrong view")
    arguments = parser.parse_args()
    films = sorted(arguments.folder.glob(f"{arguments.only}.mp4"))
    if not films:
        raise ConfigurationError(f"the folder holds no film {arguments.only}.mp4")
    for film in films:
        truth = json.loads(film.with_suffix(".json").read_text("utf-8"))
        coups = truth["coups"][: arguments.coups]
        settings = tomllib.loads(table_file(truth, film.resolve(), Path("none.sqlite")))
        for name, (change, picture) in wrong_views(truth["video"]["size"][0]).items():
            if arguments.view and name not in arguments.view:
                continue
            view = json.loads(json.dumps(settings["view"]))
            change(view)
            config = TableConfig.model_validate({**settings, "view": view})
            outcome = read(config, picture, round(1000 * coups[-1]["t_cleared"]) + 1000)
            print(f"{film.stem}, {name}: {judged(coups, outcome)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
