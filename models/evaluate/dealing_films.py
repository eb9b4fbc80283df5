"""Read dealing films of another renderer and compare what is published with their truth.

`python -m models.evaluate.dealing_films FOLDER [--only NAME] [--tables TABLES]`: FOLDER holds
`NAME.mp4` with `NAME.json`, the truth in the format `dealsim-truth-1`. Such films are not part of
this repository.
All eight that are at hand were looked at while following was written (`deploy/following.md`), so
their figures show what goes wrong and do not measure it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datasets.dealing.score import aligned
from vision.config.editor import TableFile
from vision.config.table import load
from vision.errors import ConfigurationError
from vision.game.coup.fault_table import OPENLY_UNSURE
from vision.storage.log_reader import message_lines

DEALING = {"A": "face-down", "B": "punto-first", "C": "face-up"}
SLOTS = {f"{hand[0]}{n}": f"{hand}_{n}" for hand in ("PUNTO", "BANCO") for n in (1, 2, 3)}
# What is no mistake of the dealer: a card that stays covered, the cut card.
NO_MISTAKES = {"UNREAD", "CUT_CARD"}
BEHIND_CUT = "CUT_IGNORED"

Json = dict[str, Any]


@dataclass(slots=True)
class Alarms:
    """How many alerts people get, whoever is right: for incidents, and in clean dealing.

    `incidents` that raised any alert, their `alerts`; `clean` alerts in `hours` of film. An alert
    counts once by its id, whatever becomes of it, and not while it is for the record only (info).
    """

    incidents: int = 0
    alerts: int = 0
    clean: int = 0
    hours: float = 0.0

    def __str__(self) -> str:
        """Return both rates in words."""
        each = self.alerts / self.incidents if self.incidents else 0.0
        hourly = self.clean / self.hours if self.hours else 0.0
        return (
            f"alerts an incident {each:.2f} ({self.alerts} of {self.incidents}), in clean coups "
            f"{self.clean} ({hourly:.1f} an hour of film)"
        )

    def count(self, messages: list[Json], faulty: set[int], seconds: float) -> None:
        """Count the alerts of a film so long in which the coups `faulty` had an incident.

        Dealing behind the cut card is one incident of the shoe, in whatever coups.
        """
        found: dict[str, Json] = {}
        for message in messages:
            alert = message["payload"]
            if "/alert/" in message["topic"] and alert and alert["severity"] != "info":
                found.setdefault(alert["id"], alert)
        about = Counter(
            BEHIND_CUT if _is_behind_cut(alert) else alert["coup"] for alert in found.values()
        )
        of_incidents = {BEHIND_CUT, *faulty} & set(about)
        self.incidents += len(of_incidents)
        self.alerts += sum(about[each] for each in of_incidents)
        self.clean += sum(number for each, number in about.items() if each not in of_incidents)
        self.hours += seconds / 3600


def _is_behind_cut(alert: Json) -> bool:
    # Before version 1.1 a deadline that passed was an alert of its own, named in its text.
    return alert["code"] == BEHIND_CUT or str(alert["text"]).startswith("Cut card ignored")


@dataclass(slots=True)
class Tally:
    """Counts over films: `held` without a winner, `alleged` clean but with a fault alleged."""

    coups: int = 0
    right: int = 0
    held: int = 0
    wrong: int = 0
    missing: int = 0
    incidents: int = 0
    raised: int = 0
    clean: int = 0
    alleged: int = 0
    alarms: Alarms = field(default_factory=Alarms)
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """Return the counts in words."""
        return (
            f"{self.coups} coups: right {self.right}, held {self.held}, wrong {self.wrong}, "
            f"missing {self.missing}; incidents under the right code {self.raised} of "
            f"{self.incidents}; clean coups with a dealer's fault alleged {self.alleged} of "
            f"{self.clean}; {self.alarms}"
        )


def table_file(truth: Json, film: Path, log: Path) -> str:
    """Return the table file of a film: its camera, plane and places as the truth has them."""
    plane = np.linalg.inv(np.array(truth["camera"]["H_fit"]))

    def mm(points: Any) -> list[list[float]]:
        mapped: NDArray[np.float64] = np.column_stack([points, np.ones(len(points))]) @ plane.T
        # The truth's plane has y up, ours down.
        found = mapped[:, :2] / mapped[:, 2:] * (1, -1)
        return [[round(float(x), 1), round(float(y), 1)] for x, y in found]

    places = [slot["px"] for slot in truth["slots"].values()] + [truth["shoe_mouth"]["px"]]
    low, high = np.min(np.concatenate(places), 0), np.max(np.concatenate(places), 0)
    corners = [[low[0], low[1]], [high[0], low[1]], [high[0], high[1]], [low[0], high[1]]]
    width, height = truth["video"]["size"]
    return "\n".join([
        'site = "films"', f'table = "{film.stem}"', f'dealing = "{DEALING[truth["mode"]]}"',
        "[camera]", f'source = "{film}"', f"width = {width}", f"height = {height}",
        "[view]", f"image_px = {[[float(x), float(y)] for x, y in corners]}",
        f"table_mm = {mm(corners)}", f'mouth_mm = {mm(truth["shoe_mouth"]["px"])}',
        f'discard_mm = {mm(truth["discard"]["px"])}',
        f'card_mm = {[float(side) for side in truth["card_mm"]]}', "[view.slots_mm]",
        *(f"{SLOTS[name]} = {mm(slot['px'])}" for name, slot in truth["slots"].items()),
        "[broker]", 'kind = "none"', "[log]", f'path = "{log}"', "[evidence]", "keep = false", "",
    ])  # fmt: skip


def read_film(film: Path, truth: Json, tables: Path | None = None) -> list[Json]:
    """Run the reader on a film as a black box, and return its messages.

    Its table file is the truth's, or that of a folder.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table, log = folder / "table.toml", folder / "run.sqlite"
        if tables is None:
            table.write_text(table_file(truth, film, folder / "table.sqlite"), "utf-8")
        else:
            measured = (tables / f"{film.stem}.toml").resolve()
            file = TableFile(measured)
            file.change("log", {"path": str(folder / "table.sqlite")})
            file.change("view", {"layout": load(measured).view.layout})
            file.write(table)
        subprocess.run(  # noqa: S603
            [sys.executable, "-m", "vision.cli", "run", str(table), "--fast", "--no-broker",
             "--log", str(log)],
            check=True,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        return [json.loads(line) for line in message_lines(log)]


def _lines(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def compare(truth: Json, messages: list[Json], tally: Tally, name: str) -> None:
    """Count every coup of the truth against the last result published for it, and its alerts."""
    results: dict[int, Json] = {}
    alerts: dict[int, set[str]] = {}
    cut_in: int | None = None  # the coup in which the cut card was said to have come
    for message in messages:
        payload = message["payload"]
        if message["topic"].endswith("/coup/result"):
            results[payload["coup"]] = payload
        elif raises(message) and payload["severity"] != "info":
            alerts.setdefault(payload["coup"], set()).add(payload["code"])
        elif message["topic"].endswith("/shoe") and payload["cut_card_seen"] and cut_in is None:
            cut_in = payload["coups"]
    faulty: set[int] = set()
    for dealt, published in aligned(truth["coups"], list(results.values())):
        if dealt is not None:
            if published is not None and dealt["fault"]:
                faulty.add(published["coup"])
            codes = alerts.get(published["coup"], set()) if published else set()
            outcome = judge(dealt, published, tally)
            late = -1 if cut_in is None or published is None else published["coup"] - cut_in
            cut = late == 0 or (late == 1 and cut_first(truth, dealt))
            faults(dealt, codes | ({"CUT_CARD"} if cut else set()), tally)
            if outcome != "right" or codes or dealt["fault"]:
                tally.notes.append(
                    f"{name} coup {dealt['coup']} ({dealt['fault'] or 'clean'}): {outcome}, "
                    f"alerts {sorted(codes)}"
                )
    tally.alarms.count(messages, faulty, truth["video"]["duration"])


def raises(message: Json) -> bool:
    """Whether a message raises an alert, or makes one graver, that is no reminder for the dealer.

    Such a reminder, that a card is due, accuses nobody: it is an alert for others too once the
    hands are cleared or the next coup has begun.
    """
    alert = message["payload"]
    return "/alert" in message["topic"] and bool(alert) and alert.get("audience") != ["dealer"]


def cut_first(truth: Json, dealt: Json) -> bool:
    """Whether the cut card came before a coup's first card: in that coup, or between two."""
    cards = truth.get("cards", [])
    outs = [card["t_out"] for card in cards if card["coup"] == dealt["coup"]]
    cuts = [card["t_out"] for card in cards if card["kind"] == "cut"]
    return any(cut == min(outs) for cut in cuts)


def judge(dealt: Json, published: Json | None, tally: Tally) -> str:
    """Count one coup; return how it was."""
    tally.coups += 1
    if published is None:
        outcome = "missing"
    elif published["winner"] is None:
        outcome = "held"
    else:
        same = published["winner"] == dealt["winner"].lower().replace("tie", "egalite")
        hands = all(published[hand]["cards"] == dealt[hand] for hand in ("punto", "banco"))
        outcome = "right" if same and hands else "wrong"
    setattr(tally, outcome, getattr(tally, outcome) + 1)
    return outcome


def faults(dealt: Json, codes: set[str], tally: Tally) -> None:
    """Count the alerts of a coup: its incident under the right code, or faults alleged falsely."""
    fault = dealt["fault"]
    fault = fault["code"] if isinstance(fault, dict) else fault
    if fault:
        tally.incidents += 1
        tally.raised += fault in codes
    if not fault or fault in NO_MISTAKES:
        tally.clean += 1
        tally.alleged += bool(codes - OPENLY_UNSURE - NO_MISTAKES - {"LAST_COUP"})


def main() -> int:
    """Read every film of the folder; print its coups and the counts; 1 if a result was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="films (.mp4), each with its truth (.json)")
    parser.add_argument("--only", default="*", metavar="NAME", help="the film of that name")
    parser.add_argument("--messages", type=Path, help="what was published, NAME.jsonl: read none")
    words = "read with NAME.toml of this folder (models.evaluate.film_tables), not the truth's"
    parser.add_argument("--tables", type=Path, help=words)
    arguments = parser.parse_args()
    films = sorted(arguments.folder.glob(f"{arguments.only}.mp4"))
    if not films:
        raise ConfigurationError(
            f"the folder holds no film {arguments.only}.mp4; give the one of the films"
        )
    tally = Tally()
    for film in films:
        truth = json.loads(film.with_suffix(".json").read_text("utf-8"))
        known = len(tally.notes)
        messages = (
            _lines(arguments.messages / f"{film.stem}.jsonl")
            if arguments.messages
            else read_film(film.resolve(), truth, arguments.tables)
        )
        compare(truth, messages, tally, film.stem)
        print(*tally.notes[known:], f"{film.stem}, so far: {tally}", sep="\n", flush=True)
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
