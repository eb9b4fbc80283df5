"""Rehearse an acceptance on films with truth: `python -m tests.acceptance.rehearse FOLDER OUT`.

FOLDER holds `NAME.mp4` with `NAME.json`, the truth in the format `dealsim-truth-1`. Each film is
read as a camera; a script acts as people who say what was dealt, two for every coup, with a share
of slips, and a third where they disagree. Printed is the report's count beside that of
`models.evaluate.dealing_films`; 1 where they differ. Logs that are in OUT are not made again.
`OUT/NAME/bundle` is what would leave the house, for `models.evaluate.bundle`.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

from datasets.dealing.score import aligned
from models.evaluate.dealing_films import Tally, compare, cut_first, table_file
from tests.acceptance.people import PEOPLE, THIRD, Person, house, logged_in, served
from vision.acceptance.answers import CUT_CARD, CUT_FIRST, INCIDENTS, Answer, Dealt
from vision.acceptance.coups import LogBook, Terms
from vision.commands.printing.console import NOT_PROVEN
from vision.game.cards import Card
from vision.storage.log_reader import message_lines
from vision.wire.messages import unix_ms

SHARES = (0.5, 0.9, 0.99, 1.0)  # of cards, by which their times are given
SLIPS = 0.15  # of each of the two who answer every coup: more than people make
Json = dict[str, Any]


def read(film: Path, truth: Json, folder: Path) -> Path:
    """Read a film as a camera, once; return a table file whose log is a copy of what came of it."""
    people, key = folder / "house" / "users.json", folder / "house" / "desk.key"
    if not key.exists():
        house(folder / "house")
    text = table_file(truth, film.resolve(), folder / "table.sqlite")
    text = text.replace("keep = false", f'folder = "{folder / "read.evidence"}"')
    more = f'[orders]\nusers = "{people}"\n[desk]\nkey = "{key}"\n[board]\nport = 0\n'
    table, log = folder / "table.toml", folder / "read.sqlite"
    table.write_text(text + more, "utf-8")
    if not log.exists():
        command = [sys.executable, "-m", "vision.cli", "run", str(table), "--fast", "--no-broker",
                   "--log", str(folder / "part.sqlite")]  # fmt: skip
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        (folder / "part.sqlite").rename(log)
    for old in folder.glob("table.sqlite*"):
        old.unlink()
    shutil.copy(log, folder / "table.sqlite")
    return table


def dealt_of(coup: Json, truth: Json) -> Dealt:
    """Return a coup of the truth as a person sees it: a card that stays covered is not seen."""
    hidden = {
        (card["coup"], card["slot"]) for card in truth["cards"] if card.get("noread")
    }  # fmt: skip
    hands = [
        tuple(
            None if (coup["coup"], f"{letter}{i}") in hidden else Card.parse(card)
            for i, card in enumerate(coup[hand], start=1)
        )
        for hand, letter in (("punto", "P"), ("banco", "B"))
    ]
    fault = coup["fault"]["code"] if isinstance(coup["fault"], dict) else coup["fault"]
    if fault == CUT_CARD and cut_first(truth, coup):
        fault = CUT_FIRST
    return Dealt(hands[0], hands[1], (fault,) if fault in INCIDENTS else ())


def answers_of(truth: Json, messages: list[Json], book: LogBook) -> dict[str, Answer]:
    """Return what a person who slips nowhere says of each coup of a log."""
    results: dict[int, Json] = {}
    for message in messages:
        if message["topic"].endswith("/coup/result"):
            results[message["payload"]["coup"]] = message["payload"]
    found: dict[str, Answer] = {}
    before: tuple[Dealt, ...] = ()
    for dealt, reported in aligned(truth["coups"], list(results.values())):
        seen = Dealt() if dealt is None else dealt_of(dealt, truth)
        if reported is None:
            before = (*before, seen)
        else:
            found[f"{reported['shoe']}/{reported['coup']}"] = (*before, seen)
            before = ()
    (end,) = book.ends
    return {**found, end: (*before, Dealt())}


def out_late(truth: Json, messages: list[Json], began: int) -> str:
    """Return how late after each card left its `out` was said, in ms; a second away is another."""
    published = [unix_ms(m["payload"]["at"]) - began for m in messages
            if m["topic"].endswith("/card") and m["payload"]["event"] == "out"]  # fmt: skip
    left = [1000 * card["t_out"] for card in truth["cards"] if card["kind"] == "card"]
    late = [min((at - out for at in published), key=abs, default=math.inf) for out in left]
    within = sorted(ms for ms in late if abs(ms) < 1000)
    shown = [round(within[round(part * (len(within) - 1))]) for part in SHARES] if within else []
    return f"{len(within)} of {len(left)} cards, {shown} ms at 50, 90, 99, 100 %"


def rehearse(film: Path, folder: Path, tally: Tally) -> tuple[Json, list[Person]]:
    """Rehearse one film; return the report and the people."""
    truth = json.loads(film.with_suffix(".json").read_text("utf-8"))
    folder.mkdir(parents=True, exist_ok=True)
    table = read(film, truth, folder)
    messages = [json.loads(line) for line in message_lines(folder / "read.sqlite")]
    compare(truth, messages, tally, film.stem)
    log = folder / "table.sqlite"
    book = LogBook(log)
    book.renew()
    answers = answers_of(truth, messages, book)
    given = [str(table), "--log", str(log), "--film", str(film)]
    seed = zlib.crc32(film.stem.encode())
    people = [
        Person(name, 0 if name == THIRD else SLIPS, seed + i) for i, name in enumerate(PEOPLE)
    ]
    with served(*given, "--share", "1") as (url, _):
        for person in people:
            person.answer_all(url, answers)
        with logged_in(url, PEOPLE[0]) as client:
            client.post("api/accept/allow", json={}).raise_for_status()
    for what, name in (("report", "report"), ("export", "bundle")):
        shutil.rmtree(folder / name, ignore_errors=True)
        out = ["--out", str(folder / name)]
        command = [sys.executable, "-m", "vision.cli", "accept", what, *given, *out]
        # Nobody signs these logs.
        assert subprocess.run(command, check=False).returncode in (0, NOT_PROVEN)
    found: Json = json.loads((folder / "report" / "report.json").read_text("utf-8"))
    print(f"  out, after the card left: {out_late(truth, messages, book.runs[0].at)}")
    assert book.asked(Terms(0, 1.0, "film"))
    return found, people


def main() -> int:
    """Rehearse every film; print both counts and the slips; 1 where the counts differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="films (.mp4), each with its truth (.json)")
    parser.add_argument("out", type=Path, help="for logs and reports")
    parser.add_argument("--only", default="*", metavar="NAME", help="the film of that name")
    arguments = parser.parse_args()
    differ = False
    coups = slips = found = 0
    for film in sorted(arguments.folder.glob(f"{arguments.only}.mp4")):
        tally = Tally()
        report, people = rehearse(film, arguments.out / film.stem, tally)
        ours = figures(report)
        theirs = {"coups": tally.coups, "right": tally.right, "held": tally.held,
                  "wrong": tally.wrong, "missed": tally.missing, "incidents": tally.incidents,
                  "raised": tally.raised, "clean": tally.clean,
                  "alleged": tally.alleged}  # fmt: skip
        differ |= ours != theirs
        slipped = [(p.name, coup) for p in people for coup in p.slipped]
        each = report["people"]["each"]
        slips += len(slipped)
        found += sum(each[name]["slips"]["events"] for name in PEOPLE if name in each)
        coups += ours["coups"]
        print(f"{film.stem}: the report {ours}\n{' ' * len(film.stem)}  the truth  {theirs}")
        print(f"  slips made {slipped}, disagreed {report['people']['disagreed']}")
    print(f"{coups} coups, {slips} slips of the first two, {found} found by the other")
    return 1 if differ or slips != found else 0


def figures(report: Json) -> dict[str, int]:
    """Return what both count of a report."""
    coups = {name: each["events"] for name, each in report["counts"]["coups"].items()}
    incidents = report["counts"]["incidents"]
    clean = report["counts"]["clean_accused"]
    return {
        "coups": sum(coups.values()) - coups["false"],
        **{name: coups[name] for name in ("right", "held", "wrong", "missed")},
        "incidents": incidents["right"]["of"],
        "raised": incidents["right"]["events"],
        "clean": clean["of"],
        "alleged": clean["events"],
    }


if __name__ == "__main__":
    sys.exit(main())
