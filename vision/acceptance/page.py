"""The report of an acceptance as a page to be printed and signed, with what it shows beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from html import escape
from pathlib import Path

from vision.acceptance.answers import INCIDENTS, MOST_PEOPLE, answer_words, read_answer
from vision.acceptance.outcomes import FALSE, HELD, MISSED, RIGHT, UNSEEN, WRONG, Counts
from vision.acceptance.pictures import Pictures
from vision.acceptance.report import SHARES, Report, shares
from vision.acceptance.tasks import Judged
from vision.errors import OutsideError
from vision.files import make_folder, refuse_existing, write_whole
from vision.game.coup.fault_table import KINDS
from vision.metrics.intervals import Share

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.15rem; margin-top: 2rem; } h3 { font-size: 1rem; }
table { border-collapse: collapse; margin: .5rem 0; }
th, td { border-bottom: 1px solid #999; padding: .2rem .9rem .2rem 0; text-align: left; }
td { font-variant-numeric: tabular-nums; vertical-align: top; overflow-wrap: anywhere; }
td:first-child { white-space: nowrap; }
.first { border: 3px solid #000; padding: .6rem 1rem; font-size: 1.15rem; font-weight: 700; }
.first p { margin: .2rem 0; } .bad { color: #a00; }
section.one { break-inside: avoid; border-top: 2px solid #555; margin-top: 1.2rem; }
img { display: block; max-width: 100%; max-height: 11cm; margin: .4rem 0; }
.sign { display: grid; grid-template-columns: 1fr 1fr 1fr; gap: 2rem; margin-top: 3rem; }
.sign span { border-top: 1px solid #000; padding-top: .2rem; }
@page { size: A4; margin: 16mm; }
@media print { body { margin: 0; max-width: none; font-size: 10pt; } a { color: #000; } }
"""
WORDS = {
    RIGHT: "right", HELD: "held: the reader declined", WRONG: "wrong", MISSED: "missed",
    FALSE: "false: there was none", UNSEEN: "not seen by people, not counted",
}  # fmt: skip
GROUP = ("", "coups", "right", "held", "wrong", "missed", "wrong cards", "false allegations")
SPEEDS = {
    "result": "a result, after its last card lay: at most",
    "out": "a card said to be out, before it lay: at least",
}


def write_report(out: Path, report: Report, pictures: Pictures) -> None:
    """Write `report.html`, `report.json` and `pictures/` into a new folder; OutsideError."""
    refuse_existing(out / "report.html", out / "report.json")
    make_folder(out / "pictures")
    shown = {coup.read.key: _kept(out, coup, pictures) for coup in report.differences}
    write_whole(out / "report.json", (report.json() + "\n").encode())
    write_whole(out / "report.html", "".join(_page(report, shown)).encode())


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


def _page(report: Report, shown: Mapping[str, list[str]]) -> Iterator[str]:
    book, found = report.book, report.found
    title = f"Acceptance: {found.site}, table {found.table}"
    yield '<!doctype html>\n<html lang="en"><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width">'
    yield f"<title>{escape(title)}</title><style>{STYLE}</style>\n<h1>{escape(title)}</h1>\n"
    yield '<div class="first">'
    yield from (f"<p>{escape(line)}</p>" for line in report.headline())
    yield "</div>\n<h2>What was counted</h2>\n"
    yield _counts(report.counts)
    accused = report.counts.accused
    taken_back = sum(coup.counted and coup.read.is_retracted for coup in report.coups)
    yield f"<p>Clean coups with a fault of the dealer alleged: {accused} of {report.counts.clean}. "
    yield f"Results that were final and that the reader itself took back: {taken_back}. "
    yield "Held: a person decides.</p>\n<h2>How fast it was</h2>\n"
    rows_of = (
        (words, *(f"{ms} ms" for ms in report.times()[name].values()))
        for name, words in SPEEDS.items()
    )
    yield _table(
        ("by the reader's own times", *(f"{part:.0%} of them" for part in SHARES)), rows_of
    )
    yield from _people(report)
    yield f"<h2>By {', '.join(report.groups)}</h2>\n"
    yield _table(GROUP, [row for item in report.groups.items() for row in _group(*item)])
    yield f"<h2>Differences ({len(report.differences)})</h2>\n"
    for coup in report.differences:
        yield from _difference(coup, shown.get(coup.read.key, []))
    yield "<h2>What it rests on</h2>\n"
    rows = [(name.replace("_", " "), _plain(value)) for name, value in report.proof().items()]
    rows += [(f"set in record {n}", terms.text()) for n, terms in book.terms]
    yield _table(("", ""), rows)
    yield "<p>Pictures: "
    yield (
        "the film of the table, which shows every coup.</p>\n"
        if book.set.films
        else (
            "<strong>stills of the reader's own evidence. What it did not see at all, they do not "
            "show; for that, give a film of the table.</strong></p>\n"
        )
    )
    yield f"<p>To verify: <code>shoe-reader audit {escape(book.path.name)} --public-key KEY.pub"
    yield "</code>; the same log gives the same report.</p>\n"
    yield '<div class="sign"><span>for the house</span><span>for the laboratory</span>'
    yield "<span>place, date</span></div>\n</html>\n"


def _counts(counts: Counts) -> str:
    columns = [shares(each) for each in (counts.coups, counts.cards, counts.incidents)]
    rows = ((words, *(str(column[name]) for column in columns)) for name, words in WORDS.items())
    return _table(("with intervals of 95 %", "coups", "cards", "incidents"), rows)


def _group(name: str, groups: Mapping[str, Counts]) -> Iterator[tuple[str, ...]]:
    for value, counts in groups.items():
        coups = counts.coups
        figures = (coups.total(), coups[RIGHT], coups[HELD], coups[WRONG], coups[MISSED],
                   counts.cards[WRONG], counts.incidents[FALSE])  # fmt: skip
        yield (f"{name}: {value}", *map(str, figures))


def _people(report: Report) -> Iterator[str]:
    people = report.people()
    yield "<h2>People</h2>\n<p>Coups answered by two or more: "
    disagreed = Share(**people["disagreed"])
    yield f"{people['answered by two']}; the first two disagreed in {disagreed}. "
    settled = ", ".join(f"{words} {count}" for words, count in people["settled"].items())
    yield f"How coups were settled: {escape(settled)}.</p>\n"
    rows = ((n, str(e["answers"]), str(Share(**e["slips"]))) for n, e in people["each"].items())
    yield _table(("name", "answers", "slips, of those that another answered too"), rows)
    differ = [coup for coup in report.coups if len({k.answer for k in coup.answers}) > 1]
    if differ:
        yield f"<h3>Disagreements ({len(differ)})</h3>\n"
        yield _table(("coup", "first", "second", "third", "what counts"), map(_said, differ))
    if people["changed"]:
        yield f"<h3>Answers changed afterwards ({len(people['changed'])})</h3>\n"
        keys = ("coup", "by", "at", "record", "from", "to")
        yield _table(keys, ([_changed(each, key) for key in keys] for each in people["changed"]))


def _changed(change: Mapping[str, object], column: str) -> str:
    """Return what a column says of a changed answer."""
    text = str(change[column])
    return answer_words(read_answer(text)) if column in ("from", "to") else text


def _said(coup: Judged) -> tuple[str, ...]:
    """Return who said what of a coup of which people disagreed, and what counts."""
    told = [
        f"{k.by}: {answer_words(k.answer)}"
        + " (does not count)" * (coup.answer not in (None, k.answer))
        for k in coup.answers
    ]
    counts = "nothing" if coup.answer is None else answer_words(coup.answer)
    padded = (told + ["–"] * MOST_PEOPLE)[: max(MOST_PEOPLE, len(told))]
    return coup.read.key, *padded, f"{counts} ({coup.settled})"


def _difference(coup: Judged, files: list[str]) -> Iterator[str]:
    read, result = coup.read, coup.read.result
    yield f'<section class="one"><h3>Coup {escape(read.key)}</h3>\n'
    said = "no such coup" if result is None else (
        f"{_hand(result.punto.cards)} / {_hand(result.banco.cards)}: "
        f"{result.winner or f'held ({result.why})'}"
    )  # fmt: skip
    rows = [("the reader", said, ", ".join(sorted(map(_fault, read.codes))) or "–")]
    rows += [
        (f"{k.by} ({k.role})", answer_words(k.answer), f"record {k.record}") for k in coup.answers
    ]
    yield _table(("by", "dealt", "alleged, or where it stands"), rows)
    outcome = [
        f"{kind} {name} {count}"
        for kind in ("coups", "cards", "incidents")
        for name, count in getattr(coup.counts, kind).items()
        if count and name != RIGHT
    ]
    yield f"<p>{escape(str(coup.settled))}; {escape('; '.join(outcome))}</p>\n"
    for name in files:
        address = escape(name)
        if name.endswith(".jpg"):
            yield f'<img src="{address}" alt="The table in that coup" loading="lazy">\n'
        else:
            yield f'<p><a href="{address}">clip</a></p>\n'
    if not files:
        yield "<p>No picture of it is kept any more.</p>\n"
    yield "</section>\n"


def _fault(code: str) -> str:
    return KINDS[code].title if code in KINDS else INCIDENTS.get(code, code)


def _hand(cards: tuple[object, ...]) -> str:
    return " ".join("?" if card is None else str(card) for card in cards)


def _plain(value: object) -> str:
    if isinstance(value, list):
        return " | ".join(map(_plain, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain(each)}" for name, each in value.items())
    return "–" if value is None else str(value)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>\n" for row in rows
    )
    head = "".join(f'<th scope="col">{escape(each)}</th>' for each in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>\n"
