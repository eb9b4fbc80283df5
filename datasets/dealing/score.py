"""Score what anybody's pipeline said of films against their truth: `shoe-reader score`.

Answers are a file for each film: messages of the contract's form, a JSON object a line, or a CSV
with a row for each coup. Coups are paired with those dealt in order, by their cards, so that one
that was missed does not make the others wrong. What counts as what: `deploy/bench.md`.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Self

from vision.errors import ConfigurationError
from vision.game.cards import Card
from vision.game.coup.fault_table import KINDS, OPENLY_UNSURE
from vision.metrics.intervals import share

from .exits import IN_TIME_MS, Exits, compare_exits
from .film_truth import Coup, FilmTruth, read_truth

Json = dict[str, Any]
SUMS = "SHA256SUMS"
# Columns of a CSV of coups. A winner that is not given: the coup is held.
COLUMNS = ("coup", "punto", "banco", "winner", "faults")
WINNERS = ("punto", "banco", "egalite", "")
# Cost of leaving out a coup when published and dealt coups are aligned; one that differs in more
# than six in ten of its cards is another coup.
LEFT_OUT = 0.6
# The cut card is reported in time within so many ms, or in its coup or the next.
CUT_MS = 10_000
CUT, EXPOSED = "CUT_CARD", "EXPOSED_IN_SHOE"
# Codes that accuse no dealer: of the reader and the machine, a card that stays covered, the cut.
NO_MISTAKE = OPENLY_UNSURE | {CUT, "LAST_COUP"}
# What an alert can be; others would count for nothing, or accuse, without a word.
CODES, SEVERITIES = {*KINDS, *NO_MISTAKE}, {"info", "advisory", "warning", "critical"}


class Film(NamedTuple):
    """A film with truth: `table` is its table file, None where only the truth has its places."""

    name: str
    video: Path
    truth: Path
    table: Path | None


class Said(NamedTuple):
    """What was said of a film: results in order, codes by the coup's own number, times of cards.

    `messages` has what `out` is scored by, None in a CSV; `cut_ms`: when the cut card was reported.
    """

    results: list[Json]
    codes: dict[int, set[str]]
    messages: list[Json] | None
    cut_ms: int | None


@dataclass(slots=True)
class Figures:
    """Counts over films; `outs` of cards whose messages have times, `ms` over `pictures`."""

    films: int = 0
    outs: int = 0
    in_time: int = 0
    cards: int = 0
    cards_right: int = 0
    coups: int = 0
    right: int = 0
    held: int = 0
    wrong: int = 0
    missing: int = 0
    clean: int = 0
    accused: int = 0
    incidents: int = 0
    reported: int = 0
    ms: float = 0.0
    pictures: int = 0
    notes: list[str] = field(default_factory=list)

    def __iadd__(self, other: Figures) -> Self:
        """Add the counts of more films."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))
        return self

    def row(self) -> list[str]:
        """Return the cells of a table, each share with its exact interval (95 %)."""
        return [
            _of(self.in_time, self.outs),
            _of(self.cards_right, self.cards),
            *(
                _of(count, self.coups)
                for count in (self.right, self.held, self.wrong, self.missing)
            ),
            _of(self.accused, self.clean),
            _of(self.reported, self.incidents),
            f"{self.ms / self.pictures:.0f}" if self.ms else "-",
        ]


HEADS = (
    f"out in {IN_TIME_MS / 1000:g} s", "cards right", "coups right", "held", "wrong", "missing",
    "clean accused", "incidents", "ms a frame",
)  # fmt: skip


def _of(count: int, of: int) -> str:
    if not of:
        return "-"
    if count > of:  # wrong ones, where coups were invented: no share
        return f"{count} of {of}"
    found = share(count, of)
    return f"{count} of {of} ({100 * found.low:.0f} to {100 * found.high:.0f} %)"


def table(rows: Mapping[str, Figures]) -> str:
    """Return the figures of pipelines as a table, a row for each."""
    lines = [f"| pipeline | {' | '.join(HEADS)} |", "|---" * (len(HEADS) + 1) + "|"]
    lines += [f"| {name} | {' | '.join(found.row())} |" for name, found in rows.items()]
    return "\n".join(lines)


# --- files ----------------------------------------------------------------------------------------


def films_in(folder: Path) -> list[Film]:
    """Return the films of a folder: FILM/deal.mp4 with truth.json, or NAME.mp4 with NAME.json.

    ConfigurationError where there is none.
    """
    ours = [
        Film(path.parent.name, path.with_name("deal.mp4"), path, path.with_name("table.toml"))
        for path in sorted(folder.glob("*/truth.json"))
    ]
    others = [
        Film(path.stem, path, path.with_suffix(".json"), None)
        for path in sorted(folder.glob("*.mp4"))
        if path.with_suffix(".json").exists()
    ]
    if not ours + others:
        raise ConfigurationError(
            f"{folder}: holds no films with truth; `shoe-reader simulate bench {folder}` deals some"
        )
    return ours + others


def changed(folder: Path) -> list[str]:
    """Return the files of a bench that are missing or not as its list of checksums has them."""
    lines = (folder / SUMS).read_text("utf-8").splitlines() if (folder / SUMS).exists() else []
    rows = [line.split(maxsplit=1) for line in lines]
    return [name for wanted, name in rows if sum_of(folder / name) != wanted]


def sum_of(path: Path) -> str:
    """Return the SHA-256 of a file, "" where it is missing."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def answer_of(folder: Path, film: str) -> Path | None:
    """Return the file with what was said of a film, `None` where there is none."""
    paths = (folder / f"{film}{suffix}" for suffix in (".jsonl", ".csv"))
    return next((path for path in paths if path.is_file()), None)


def without_effect(folder: Path, films: Sequence[Film]) -> list[Path]:
    """Return the answers in a folder that are read for none of the films."""
    read = {answer_of(folder, film.name) for film in films}
    found = (path for suffix in ("jsonl", "csv") for path in folder.glob(f"*.{suffix}"))
    return sorted(path for path in found if path not in read)


def read_answer(path: Path) -> Said:
    """Read messages or a CSV; ConfigurationError names file, line and cure."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _from_rows(path, csv.DictReader(file)) if path.suffix == ".csv" else (
                _from_messages(path, file)
            )  # fmt: skip
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigurationError(f"{path}: cannot be read: {error}") from error


def _from_messages(path: Path, lines: Iterator[str]) -> Said:
    results: dict[tuple[object, int], Json] = {}
    codes: dict[int, set[str]] = {}
    messages: list[Json] = []
    cut: datetime | None = None
    for number, line in enumerate(lines, start=1):
        try:
            message = json.loads(line)
            topic, payload = str(message["topic"]), message["payload"]
            if payload is None:
                continue
            at = datetime.fromisoformat(payload["at"])
            if at.tzinfo is None:
                raise ValueError(f"at is '{payload['at']}', without a zone; end it with Z")
            if topic.endswith("/coup/result"):
                results[payload.get("shoe"), payload["coup"]] = _checked(payload)
            elif topic.endswith("/alert") and _severity(payload) != "info":
                codes.setdefault(payload["coup"], set()).update(_known(payload["code"]))
            elif topic.endswith("/shoe") and payload.get("cut_card_seen") and cut is None:
                cut = at
            elif topic.endswith("/card"):
                _ = payload["event"], payload["order"], payload["slot"]
            messages.append(message)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            what = f"lacks {error}" if isinstance(error, KeyError) else error
            raise ConfigurationError(
                f"{path}, line {number}: is no message ({what}); write "
                '{"topic": ..., "payload": {...}} as deploy/bench.md says'
            ) from error
    first = datetime.fromisoformat(messages[0]["payload"]["at"]) if messages else None
    seconds = (cut - first).total_seconds() if cut is not None and first is not None else None
    return Said(list(results.values()), codes, messages, _ms(seconds))


def _ms(seconds: float | None) -> int | None:
    return None if seconds is None else round(1000 * seconds)


def _checked(result: Json) -> Json:
    """Return a result that has what is compared; an error says what it lacks."""
    if not isinstance(result["coup"], int):
        raise TypeError(f"coup is '{result['coup']}', not a whole number")
    if (result["winner"] or "") not in WINNERS:
        raise ValueError(f"winner is '{result['winner']}', not one of {', '.join(WINNERS[:3])}")
    hands = {}
    for hand in ("punto", "banco"):
        if not isinstance(cards := result[hand]["cards"], list):
            raise TypeError(f'{hand}.cards is {json.dumps(cards)}, not a list as ["As", null]')
        hands[hand] = {"cards": [_card("?" if card is None else str(card)) for card in cards]}
    return result | hands


def _severity(alert: Json) -> str:
    severity = str(alert["severity"])
    if severity not in SEVERITIES:
        raise ValueError(f"severity is '{severity}', not one of {', '.join(sorted(SEVERITIES))}")
    return severity


def _known(text: str) -> set[str]:
    """Return codes separated by spaces; ValueError names one that is none."""
    for code in (found := set(text.split())):
        if code not in CODES:
            raise ValueError(f"'{code}' is no code of a fault; deploy/faults.md lists them")
    return found


def _from_rows(path: Path, rows: csv.DictReader[str]) -> Said:
    if lacking := [name for name in COLUMNS if name not in (rows.fieldnames or ())]:
        raise ConfigurationError(
            f"{path}: its first line must name the columns {','.join(COLUMNS)}; it lacks "
            f"{', '.join(lacking)}"
        )
    results: list[Json] = []
    codes: dict[int, set[str]] = {}
    for row in rows:
        try:
            if not row["coup"].strip().isdecimal():
                raise ValueError(f"coup is '{row['coup']}', not a whole number")
            if (number := int(row["coup"])) in codes:
                raise ValueError(f"coup {number} has a row before; give each coup one")
            hands = {hand: {"cards": _hand(row[hand])} for hand in ("punto", "banco")}
            winner = row["winner"].strip().lower()
            if winner not in WINNERS:
                raise ValueError(f"winner is '{winner}', not one of {', '.join(WINNERS[:3])}")
            codes[number] = _known(row["faults"] or "")
        except (ValueError, AttributeError, TypeError) as error:
            raise ConfigurationError(f"{path}, line {rows.line_num}: {error}") from error
        results.append({"coup": number, **hands, "winner": winner or None})
    return Said(results, codes, None, None)


def _hand(text: str) -> list[str | None]:
    """Return the cards of a hand, None for `?`; ValueError where one is none."""
    return [_card(word) for word in text.split()]


def _card(word: str) -> str | None:
    return None if word == "?" else str(Card.parse(word))


# --- scoring --------------------------------------------------------------------------------------


def aligned(dealt: list[Json], published: list[Json]) -> list[tuple[Json | None, Json | None]]:
    """Pair the coups dealt with those published, in order, at the least cost."""

    @cache
    def best(i: int, j: int) -> tuple[float, tuple[tuple[int | None, int | None], ...]]:
        if i == len(dealt) and j == len(published):
            return 0.0, ()
        ways = []
        if i < len(dealt) and j < len(published):
            cost, rest = best(i + 1, j + 1)
            ways.append((cost + difference(dealt[i], published[j]), ((i, j), *rest)))
        if i < len(dealt):
            cost, rest = best(i + 1, j)
            ways.append((cost + LEFT_OUT, ((i, None), *rest)))
        if j < len(published):
            cost, rest = best(i, j + 1)
            ways.append((cost + LEFT_OUT, ((None, j), *rest)))
        return min(ways, key=lambda way: way[0])

    return [
        (None if i is None else dealt[i], None if j is None else published[j])
        for i, j in best(0, 0)[1]
    ]


def difference(dealt: Json, published: Json) -> float:
    """Return the share of a coup's six places that differ, 0 to 1; an unread card fits any."""
    different = 0
    for hand in ("punto", "banco"):
        ours = [*published[hand]["cards"], "", "", ""][:3]
        theirs = [*dealt[hand], "", "", ""][:3]
        different += sum(
            mine is not None and mine != its for mine, its in zip(ours, theirs, strict=True)
        )
    return different / 6


def judge(name: str, truth: FilmTruth, reported: Said) -> Figures:
    """Return the figures of one film."""
    found = Figures(films=1)
    dealt = [{"punto": list(c.punto), "banco": list(c.banco), "coup": c} for c in truth.coups]
    pairs = aligned(dealt, reported.results)
    of_coup = {pair[0]["coup"].number: pair[1] for pair in pairs if pair[0] is not None}
    for row, result in pairs:
        if row is None:
            found.wrong += result is not None and bool(result["winner"])
            found.notes.append(f"{name}: a coup that was never dealt: {_short(result)}")
            continue
        coup: Coup = row["coup"]
        before = of_coup.get(coup.number - 1)
        codes = _codes(reported, result)
        outcome = _outcome(coup, result, found)
        missed = _incidents(coup, codes, _codes(reported, before), found)
        falsely = _accuse(coup, truth, codes, found)
        if outcome != "right" or missed or falsely:
            said_so = f", said {_short(result)}" if outcome == "wrong" else ""
            found.notes.append(
                f"{name} coup {coup.number} ({' '.join(coup.faults) or 'clean'}): {outcome}"
                f"{said_so}, alerts {sorted(codes)}"
            )
    _cut(truth, reported, of_coup, found)
    if reported.messages is not None:
        exits = Exits()
        compare_exits([_as_row(card) for card in truth.cards], reported.messages, exits)
        found.outs, found.in_time = exits.cards, exits.in_time
    return found


def _codes(reported: Said, result: Json | None) -> set[str]:
    return reported.codes.get(result["coup"], set()) if result else set()


def _short(result: Json | None) -> str:
    if result is None:
        return "nothing"
    return f"{result['winner']} {result['punto']['cards']} {result['banco']['cards']}"


def _outcome(coup: Coup, result: Json | None, found: Figures) -> str:
    """Count a coup and its cards; of one with an incident only the cards can be wrong."""
    found.coups += 1
    hands = (("punto", coup.punto), ("banco", coup.banco))
    found.cards += sum(len(cards) for _, cards in hands)
    if result is None:
        found.missing += 1
        return "missing"
    found.cards_right += sum(
        mine == its
        for hand, cards in hands
        for mine, its in zip(result[hand]["cards"], cards, strict=False)
    )
    same = all(result[hand]["cards"] == list(cards) for hand, cards in hands)
    outcome = "wrong"
    if result["winner"] is None:
        outcome = "held"
    elif same and (result["winner"] == coup.winner or not coup.is_clean):
        outcome = "right"
    setattr(found, outcome, getattr(found, outcome) + 1)
    return outcome


def _incidents(coup: Coup, codes: set[str], before: set[str], found: Figures) -> set[str]:
    """Count what there was to report; a face in the mouth may show before its coup begins."""
    there = set(coup.faults) - {CUT}
    reported = there & (codes | (before & {EXPOSED}))
    found.incidents += len(there)
    found.reported += len(reported)
    return there - reported


def _accuse(coup: Coup, truth: FilmTruth, codes: set[str], found: Figures) -> set[str]:
    """Count a coup in which nobody did wrong, and what is alleged of it all the same."""
    if not coup.is_clean:
        return set()
    after = next((c.faults for c in truth.coups if c.number == coup.number + 1), ())
    falsely = codes - NO_MISTAKE - set(coup.faults) - ({EXPOSED} & set(after))
    found.clean += 1
    found.accused += bool(falsely)
    return falsely


def _cut(
    truth: FilmTruth, reported: Said, of_coup: Mapping[int, Json | None], found: Figures
) -> None:
    """Count the cut card, which is one incident."""
    if truth.cut is None:
        return
    found.incidents += 1
    on = [coup.number for coup in truth.coups if coup.start <= truth.cut]
    near = [of_coup.get(max(on, default=1) + later) for later in (0, 1)]
    in_time = reported.cut_ms is not None and 0 <= reported.cut_ms - truth.cut <= CUT_MS
    found.reported += in_time or any(CUT in _codes(reported, result) for result in near)


def _as_row(card: Any) -> Json:
    slot = None if card.slot is None else card.slot.name
    return {"began_ms": card.began, "out_ms": card.out, "placed_ms": card.placed, "slot": slot}


def score(
    films: Sequence[Film], answers: Path, more: Callable[[Film], tuple[float, int]] | None = None
) -> Figures:
    """Return the figures of all films that there is an answer to; `more` has ms and pictures."""
    total = Figures()
    for film in films:
        answer = answer_of(answers, film.name)
        if answer is None:
            continue
        total += judge(film.name, read_truth(film.truth), read_answer(answer))
        if more is not None:
            ms, pictures = more(film)
            total.ms, total.pictures = total.ms + ms * pictures, total.pictures + pictures
    return total


def main(argv: list[str]) -> int:
    """Run the command with the words of a command line; return its exit code."""
    parser = argparse.ArgumentParser("shoe-reader score", description=__doc__)
    add_arguments(parser)
    return run(parser.parse_args(argv))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add = parser.add_argument
    add("folder", type=Path, metavar="DIR", help="films with truth, as `simulate bench` deals them")
    add("answers", type=Path, metavar="ANSWERS", help="folder with FILM.jsonl (messages) or "
        "FILM.csv (coups) for each film")  # fmt: skip
    add("--notes", action="store_true", help="also a line for each coup that is not right")


def run(args: argparse.Namespace) -> int:
    """Print the figures; exit code 0."""
    films = films_in(args.folder)
    for name in changed(args.folder):
        print(f"score: {args.folder / name} is missing or not as {SUMS} has it: no figure of the "
              f"bench; `shoe-reader simulate bench {args.folder}`, with --films as before, draws "
              "it again",
              file=sys.stderr)  # fmt: skip
    names = {film.name for film in films}
    for path in without_effect(args.answers, films):
        why = "its .jsonl does" if path.stem in names else f"{args.folder} has no such film"
        print(f"score: {path} does not count: {why}", file=sys.stderr)
    found = score(films, args.answers)
    if not found.films:
        raise ConfigurationError(
            f"{args.answers}: has no answer to any film; name them {films[0].name}.jsonl or .csv"
        )
    print(*(found.notes if args.notes else ()), table({args.answers.name: found}), sep="\n")
    lacking = [film.name for film in films if answer_of(args.answers, film.name) is None]
    none = f", none has {', '.join(lacking)}" if lacking else ""
    print(f"{found.films} of {len(films)} films have an answer{none}; intervals are exact, 95 %")
    return 0
