"""The report of an acceptance: what people say was dealt against what the reader said.

Everything comes from the log, so that the same log gives the same report. Wrong results come first,
then false allegations an hour: the rest is explanation. `report.html` of this folder is the page,
to be printed and signed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from vision.acceptance.answers import (
    MOST_PEOPLE,
    Settled,
    answer_text,
    answer_words,
    hand_text,
    read_answer,
    title_of,
)
from vision.acceptance.coups import LogBook, ReadCoup
from vision.acceptance.pictures import Pictures
from vision.acceptance.tasks import (
    COUNTED,
    FALSE,
    HELD,
    MISSED,
    RIGHT,
    UNSEEN,
    WRONG,
    Counts,
    Judged,
    judged,
)
from vision.audit.verify import Found, Trust, words
from vision.errors import OutsideError
from vision.files import make_folder, refuse_existing, write_whole
from vision.metrics.intervals import CONFIDENCE, Hourly, Share, at_most, hourly, share
from vision.version import VERSION
from vision.wire.messages import iso

OF_DEALT = (RIGHT, HELD, WRONG, MISSED)
GROUPS = ("dealer", "deck", "hour", "light", "shoe")  # circumstances by which all is counted again
SHARES = (0.5, 0.9, 0.99, 1.0)  # of results and cards, by which their times are given


class Report:
    """The report on a log; `found` is what an audit found that trusted so much."""

    def __init__(self, book: LogBook, found: Found, trust: Trust) -> None:
        self.book = book
        self.found = found
        self.trust = trust
        self.coups = judged(book)
        self.counts = sum((coup.counts for coup in self.coups), Counts())
        self.groups = {
            name: {
                value: sum((c.counts for c in self.coups if c.read.facts[name] == value), Counts())
                for value in dict.fromkeys(c.read.facts[name] for c in self.coups)
            }
            for name in GROUPS
        }

    def headline(self) -> tuple[str, str, str]:
        """Return the first lines: wrong results, false allegations an hour, what is shown."""
        wrong, false = self.wrong, self.false
        waiting = sum(coup.is_due for coup in self.coups)
        open_ = f"; NOT FINISHED: {waiting} coups wait for answers" if waiting else ""
        bound = at_most(wrong.events, wrong.of)
        return (
            f"wrong results: {wrong}",
            f"false allegations: {false}",
            f"shown with {CONFIDENCE:.0%}: fewer than {bound:.3%} of results are wrong{open_}",
        )

    @property
    def wrong(self) -> Share:
        """The wrong results, of all coups that were dealt and could be judged."""
        return shares(self.counts.coups)[WRONG]

    @property
    def false(self) -> Hourly:
        """The allegations of what did not happen, an hour."""
        return hourly(self.counts.incidents[FALSE], self.counts.hours)

    @property
    def differences(self) -> list[Judged]:
        """The coups of which the reader said anything else than people."""
        return [coup for coup in self.coups if coup.counted and coup.counts.differs]

    @property
    def disagreements(self) -> list[Judged]:
        """The coups of which people said different things."""
        return [coup for coup in self.coups if len({k.answer for k in coup.answers}) > 1]

    @property
    def retracted(self) -> list[str]:
        """The coups of which the reader itself took back a result that had been final."""
        return [c.read.key for c in self.coups if c.counted and c.read.is_retracted]

    def people(self) -> dict[str, Any]:
        """Return how people agreed: by pairs, by person, and each answer that was changed."""
        pairs = [coup for coup in self.coups if len(coup.answers) > 1]
        differ = [coup for coup in pairs if len({k.answer for k in coup.answers[:2]}) > 1]
        given = Counter(keyed.by for coup in self.coups for keyed in coup.answers)
        checked = [(k, c.answer) for c in pairs if c.answer for k in c.answers]
        of = Counter(keyed.by for keyed, _ in checked)
        slips = Counter(keyed.by for keyed, answer in checked if keyed.answer != answer)
        settled = Counter(str(coup.settled) for coup in self.coups)
        return {
            "answered by two": len(pairs),
            "disagreed": share(len(differ), len(pairs))._asdict(),
            "settled": dict(sorted(settled.items())),
            "each": {
                name: {"answers": given[name], "slips": share(slips[name], of[name])._asdict()}
                for name in sorted(given)
            },
            "changed": list(self._changed()),
        }

    def _changed(self) -> Iterable[dict[str, Any]]:
        all_answers = self.book.answers()
        for coup in self.coups:
            given = all_answers.get(coup.read.key, ())
            for name in {keyed.by: None for keyed in coup.answers}:
                own = {k.revision: k for k in given if k.by == name}  # one sent again is one
                for before, after in pairwise(own[number] for number in sorted(own)):
                    yield {
                        "coup": after.coup, "by": name, "at": iso(after.at),
                        "record": after.record, "from": answer_text(before.answer),
                        "to": answer_text(after.answer),
                    }  # fmt: skip

    def times(self) -> dict[str, dict[str, int]]:
        """Return how long results and cards took, in ms that a share of them kept to.

        `result`: after the last card lay, at most; `out`: before the card lay, at least. All by the
        reader's own times.
        """
        late = sorted(c.read.late for c in self.coups if c.read.late is not None)
        leads = sorted((lead for c in self.coups for lead in c.read.leads), reverse=True)
        return {
            name: {f"{part:.0%}": each[round(part * (len(each) - 1))] for part in SHARES if each}
            for name, each in (("result", late), ("out", leads))
        }

    def data(self) -> dict[str, Any]:
        """Return everything, for programs."""
        return {
            "wrong_results": self.wrong._asdict(),
            "false_allegations": self.false._asdict(),
            "wrong_at_most": at_most(self.wrong.events, self.wrong.of),
            "confidence": CONFIDENCE,
            "open": sum(coup.is_due for coup in self.coups),
            "undecided": [c.read.key for c in self.coups if c.settled is Settled.UNDECIDED],
            "counts": counted(self.counts),
            "retracted": self.retracted,
            "ms": self.times(),
            "people": self.people(),
            "by": {
                name: {value: counted(counts) for value, counts in found.items()}
                for name, found in self.groups.items()
            },
            "coups": [_coup_data(coup) for coup in self.coups],
            "set": [{"record": number, **terms._asdict()} for number, terms in self.book.terms],
            "proof": self.proof(),
        }

    def proof(self) -> dict[str, Any]:
        """Return what the report rests on: the log, its audit, and the program's versions."""
        found = self.found
        return {
            "report_by": f"shoe-reader {VERSION}",
            "log": f"{found.log_id}, up to record {found.last.number}",
            "audit": list(words(found, self.trust)),
            "runs": [
                {"at": iso(run.at), "version": run.version, "identity": run.identity,
                 "models": list(run.models)}
                for run in self.book.runs
            ],
            "rules_sha256": self.book.header.get("rules_sha256"),
        }  # fmt: skip


def shares(counts: Mapping[str, int]) -> dict[str, Share]:
    """Return each outcome with its interval.

    Of what was dealt and seen by people; FALSE is of what the reader said, UNSEEN of all.
    """
    dealt = sum(counts[name] for name in OF_DEALT)
    said = dealt - counts[MISSED] + counts[FALSE]
    of = {name: share(counts[name], dealt) for name in OF_DEALT}
    return {
        **of,
        FALSE: share(counts[FALSE], said),
        UNSEEN: share(counts[UNSEEN], dealt + counts[UNSEEN]),
    }


def counted(counts: Counts) -> dict[str, Any]:
    """Return counts with their intervals, for programs."""
    return {
        **{
            name: {outcome: each._asdict() for outcome, each in shares(counts.of(name)).items()}
            for name in COUNTED
        },
        "clean_accused": share(counts.accused, counts.clean)._asdict(),
        "hours": round(counts.hours, 4),
    }


def _coup_data(coup: Judged) -> dict[str, Any]:
    read, result = coup.read, coup.read.result
    return {
        "coup": read.key,
        "from": iso(read.since),
        "to": iso(read.until),
        **read.facts,
        "reader": None if result is None else {
            "winner": None if result.winner is None else str(result.winner),
            "punto": [None if card is None else str(card) for card in result.punto.cards],
            "banco": [None if card is None else str(card) for card in result.banco.cards],
            "state": str(result.state), "why": result.why,
        },
        "alleged": sorted(read.codes),
        "people": [
            {"by": keyed.by, "role": keyed.role, "answer": answer_text(keyed.answer),
             "at": iso(keyed.at), "record": keyed.record}
            for keyed in coup.answers
        ],
        "settled": str(coup.settled),
        "counts": coup.counted,
        "outcome": {name: dict(coup.counts.of(name)) for name in COUNTED},
    }  # fmt: skip


# --- the page -------------------------------------------------------------------------------------


def write_report(out: Path, report: Report, pictures: Pictures) -> None:
    """Write `report.html`, `report.json` and `pictures/` into a new folder; OutsideError."""
    refuse_existing(out / "report.html", out / "report.json")
    make_folder(out / "pictures")
    kept = {coup.read.key: _kept(out, coup.read, pictures) for coup in report.differences}
    text = json.dumps(report.data(), indent=1, ensure_ascii=False)
    write_whole(out / "report.json", f"{text}\n".encode())
    write_whole(out / "report.html", page_of(report, kept).encode())


def _kept(out: Path, read: ReadCoup, pictures: Pictures) -> list[str]:
    """Write the picture and the clip of a coup; return their names."""
    kept = []
    shown: dict[str, Callable[[], bytes]] = {
        "jpg": lambda: pictures.picture(read, 0),
        "avi": lambda: pictures.clip(read),
    }
    for suffix, content_of in shown.items():
        content = b""
        with suppress(OutsideError):  # evidence that is not kept any more
            content = content_of()
        if content:
            name = f"pictures/{read.key.replace('/', '-')}.{suffix}"
            write_whole(out / name, content)
            kept.append(name)
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
        "hand": hand_text,
        "plain": _plain,
        "ms": lambda ms: f"{ms} ms",
        "of_them": lambda part: f"{part:.0%} of them",
    }
    text = files("vision.acceptance").joinpath("report.html").read_text("utf-8")
    given = {"report": report, "pictures": pictures, "shares_of": SHARES}
    return page.from_string(text).render(**given, most_people=MOST_PEOPLE)


def _plain(value: object) -> str:
    if isinstance(value, list):
        return " | ".join(map(_plain, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain(each)}" for name, each in value.items())
    return "–" if value is None else str(value)
