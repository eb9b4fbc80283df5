"""The report of an acceptance: what people answer was dealt against what the reader published.

Everything comes from the log, so that the same log gives the same report. Wrong results come first,
then false allegations an hour: the rest is explanation. `report.html` of this folder is the page,
to be printed and signed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from vision.acceptance.pictures import Film, Pictures
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
from vision.audit.verify import Found, Trust, is_proven, words
from vision.errors import OutsideError
from vision.files import make_folder, refuse_existing, write_whole
from vision.metrics.intervals import (
    CONFIDENCE,
    Hourly,
    Share,
    at_most,
    decimals,
    hourly,
    needed,
    share,
)
from vision.version import VERSION
from vision.wire.messages import iso

OF_DEALT = (RIGHT, HELD, WRONG, MISSED)
GROUPS = ("dealer", "deck", "hour", "light", "shoe")  # circumstances by which all is counted again


class Report:
    """The report on a log; `found` is what an audit found that trusted so much."""

    def __init__(
        self, book: LogBook, found: Found, trust: Trust, films: Sequence[Film] = ()
    ) -> None:
        self.book = book
        self.found = found
        self.trust = trust
        self.films = films
        self.terms = book.set
        self.coups = judged(book, self.terms)
        self.counts = total(self.coups)
        self.groups = {
            name: {
                value: sum((c.counts for c in self.coups if c.read.facts[name] == value), Counts())
                for value in dict.fromkeys(c.read.facts[name] for c in self.coups)
            }
            for name in GROUPS
        }

    def headline(self) -> list[str]:
        """Return the first lines: what is in doubt, the verdict, and what that rests on."""
        dealt = shares(self.counts.coups)
        first = total(judged(self.book, self.terms, first=True))
        bound = f"{self.bound:.{decimals(100 * self.bound)}%}"
        open_ = f"; {self.doubtful} counted as if wrong" if self.doubtful else ""
        shown = f"shown with {CONFIDENCE:.0%}: fewer than {bound} of results are wrong{open_}"
        lines = [
            *self.doubts(), *self._unfinished(), self.verdict, f"wrong results: {self.wrong}",
            f"held: {dealt[HELD]}; missed: {dealt[MISSED]}; not seen: {dealt[UNSEEN]}",
            f"false allegations: {self.false}", shown,
        ]  # fmt: skip
        for number, terms in self.book.grown:
            wrong = wrong_of(total(judged(self.book, terms)))
            lines.append(f"GREW after the first answer, in record {number}, from {terms.text()}: "
                         f"of those wrong results {wrong}")  # fmt: skip
        if (of_first := wrong_of(first))[:2] != self.wrong[:2]:
            lines.append(f"by the first answers of all, before changes: wrong results {of_first}")
        return lines

    def doubts(self) -> list[str]:
        """Return why the figures are not to be believed without more, in words."""
        found, lines = self.found, []
        if not found.anchors:
            lines.append("NOT PROVEN: the log is not signed ([log] signing_key); whoever can "
                         "write the file can make another one")  # fmt: skip
        elif not is_proven(found, self.trust):
            lines.append("NOT PROVEN: see the audit below; give --public-key")
        if self.book.unproven:
            named = ", ".join(map(str, self.book.unproven))
            lines.append(f"NOT COUNTED: records {named}, answers or terms that no order signed by "
                         "a desk, in a role that may, vouches for")  # fmt: skip
        for number, terms in self.book.cuts:
            wrong = wrong_of(total(judged(self.book, terms)))
            lines.append(f"CUT after the first answer, in record {number}, to {terms.text()}: "
                         f"wrong results would be {wrong}; what was set before counts")  # fmt: skip
        return lines

    def _unfinished(self) -> Iterator[str]:
        waiting = sum(coup.is_due for coup in self.coups)
        missing = self.terms.coups - sum(not coup.read.is_end for coup in self.coups)
        if waiting or missing > 0:
            more = f", {missing} more are not dealt yet" if missing > 0 else ""
            yield f"NOT FINISHED: {waiting} coups wait for answers{more}"

    @property
    def verdict(self) -> str:
        """Whether what was planned is shown, in words; what it still takes."""
        below, sample = self.terms.below, self.terms.coups
        if not below:
            return "planned: no bound was set before the first answer"
        of = f"{sample:,} coups" if sample else "all coups of the log, a number set by nobody"
        words = f"planned: fewer than {100 * below:g}% of results wrong, in {of}: "
        wrong = self.wrong.events + self.doubtful
        more = needed(below, wrong) - self.wrong.of - self.doubtful
        if more > 0:
            return f"{words}NOT SHOWN; it takes {more:,} more results, none of them wrong"
        return f"{words}{'NOT YET SHOWN' if [*self.doubts(), *self._unfinished()] else 'SHOWN'}"

    @property
    def wrong(self) -> Share:
        """The wrong results, of all results that could be judged."""
        return wrong_of(self.counts)

    @property
    def doubtful(self) -> int:
        """How many coups do not count, though by somebody's answer the result is wrong."""
        return sum(coup.may_be_wrong for coup in self.coups)

    @property
    def bound(self) -> float:
        """The share of wrong results that is not exceeded, the doubtful ones taken as wrong."""
        return at_most(self.wrong.events + self.doubtful, self.wrong.of + self.doubtful)

    def period(self) -> list[str]:
        """Return when it was dealt, which shoes, and from which films."""
        reads = [coup.read for coup in self.coups]
        if not reads:
            return ["no coup was dealt"]
        first, last = min(read.since for read in reads), max(read.until for read in reads)
        of_film = "film {0.path.name}, {1} to {2}".format
        films = [of_film(film, _minute(film.began), _minute(film.ended)) for film in self.films]
        shoes = f"shoes {', '.join(self.groups['shoe'])}"
        return [f"{_minute(first)} to {_minute(last)}", shoes, *films]

    @property
    def false(self) -> Hourly:
        """The allegations of what did not happen, an hour."""
        return hourly(self.counts.incidents[FALSE], self.counts.hours)

    @property
    def differences(self) -> list[Judged]:
        """The coups of which the reader published anything else than people answered."""
        return [coup for coup in self.coups if coup.counted and coup.counts.differs]

    @property
    def disagreements(self) -> list[Judged]:
        """The coups of which people answered different things."""
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
                # One sent again is one; two texts under one revision are two.
                own = {(k.revision, k.answer): k for k in reversed(given) if k.by == name}
                order = sorted(own.values(), key=lambda k: (k.revision, k.record))
                for before, after in pairwise(order):
                    counts = after.revision > before.revision
                    yield {
                        "coup": after.coup, "by": name, "at": iso(after.at),
                        "record": after.record, "from": answer_text(before.answer),
                        "to": answer_text(after.answer), "counts": counts,
                    }  # fmt: skip

    def data(self) -> dict[str, Any]:
        """Return everything, for programs."""
        return {
            "wrong_results": self.wrong._asdict(),
            "false_allegations": self.false._asdict(),
            "wrong_at_most": self.bound,
            "headline": self.headline(),
            "period": self.period(),
            "confidence": CONFIDENCE,
            "open": sum(coup.is_due for coup in self.coups),
            "undecided": [c.read.key for c in self.coups if c.settled is Settled.UNDECIDED],
            "counts": counted(self.counts),
            "retracted": self.retracted,
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
                if run.models
            ],
            "rules_sha256": self.book.header.get("rules_sha256"),
        }  # fmt: skip


def total(coups: Iterable[Judged]) -> Counts:
    """Return what was counted of coups together."""
    return sum((coup.counts for coup in coups), Counts())


def wrong_of(counts: Counts) -> Share:
    """Return the results that were wrong, or of no coup, of all that could be judged."""
    wrong = counts.coups[WRONG] + counts.coups[FALSE]
    return share(wrong, counts.coups[RIGHT] + wrong)


def _minute(ms: int) -> str:
    return iso(ms)[:16].replace("T", " ") + " UTC"


def shares(counts: Mapping[str, int]) -> dict[str, Share]:
    """Return each outcome with its interval.

    Of what was dealt and seen by people; WRONG is of what the reader did not decline or miss, FALSE
    of what it published, UNSEEN of all.
    """
    dealt = sum(counts[name] for name in OF_DEALT)
    reported = dealt - counts[MISSED] + counts[FALSE]
    of = {name: share(counts[name], dealt) for name in OF_DEALT}
    return {
        **of,
        WRONG: share(counts[WRONG], counts[RIGHT] + counts[WRONG]),
        FALSE: share(counts[FALSE], reported),
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
             "at": iso(keyed.at), "record": keyed.record, "looked_up": keyed.seen}
            for keyed in coup.answers
        ],
        "settled": str(coup.settled),
        "counts": coup.counted,
        "outcome": {name: dict(coup.counts.of(name)) for name in COUNTED},
    }  # fmt: skip


def write_report(out: Path, report: Report, pictures: Pictures) -> None:
    """Write `report.html`, `report.json` and `pictures/` into a new folder; OutsideError."""
    refuse_existing(out / "report.html", out / "report.json")
    make_folder(out / "pictures")
    stored = {coup.read.key: _stored(out, coup.read, pictures) for coup in report.differences}
    text = json.dumps(report.data(), indent=1, ensure_ascii=False)
    write_whole(out / "report.json", f"{text}\n".encode())
    write_whole(out / "report.html", page_of(report, stored).encode())


def _stored(out: Path, read: ReadCoup, pictures: Pictures) -> list[str]:
    stored = []
    shown: dict[str, Callable[[], bytes]] = {
        "jpg": lambda: pictures.picture(read, 0),
        "mp4": lambda: pictures.mp4(read),
    }
    for suffix, content_of in shown.items():
        content = b""
        with suppress(OutsideError):  # evidence that is not kept any more
            content = content_of()
        if content:
            name = f"pictures/{read.key.replace('/', '-')}.{suffix}"
            write_whole(out / name, content)
            stored.append(name)
    return stored


def page_of(report: Report, pictures: Mapping[str, list[str]]) -> str:
    """Return the page; `pictures` are the files of each coup that differs, by its key."""
    page = Environment(autoescape=True, undefined=StrictUndefined)
    page.filters |= {
        "shares": shares, "share": lambda fields: str(Share(**fields)), "words": answer_words,
        "read": read_answer, "title_of": title_of, "hand": hand_text, "plain": _plain,
    }  # fmt: skip
    text = files("vision.acceptance").joinpath("report.html").read_text("utf-8")
    given = {"report": report, "pictures": pictures, "most_people": MOST_PEOPLE}
    return page.from_string(text).render(given)


def _plain(value: object) -> str:
    if isinstance(value, list):
        return " | ".join(map(_plain, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain(each)}" for name, each in value.items())
    return "–" if value in (None, "") else str(value)
