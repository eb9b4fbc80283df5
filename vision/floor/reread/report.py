"""Write the second opinion: what two readings of an evening agree on, and each coup that differs.

As a page with pictures for people, and as JSON for programs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from vision.files import write_whole
from vision.floor.reread.evening import CoupThen, Difference
from vision.floor.reread.job import Reread
from vision.game.coup.fault_table import KINDS
from vision.record.codec import record_to_json
from vision.secrets import shown

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
table { border-collapse: collapse; }
th, td { border-bottom: 1px solid #bbb; padding: .3rem 1rem .3rem 0; text-align: left; }
th[scope=row] { font-weight: 600; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
section { border-top: 3px solid #555; margin-top: 2rem; padding-top: .5rem; }
img { display: block; margin-top: .5rem; max-width: 100%; }
.bad { color: #a00; font-weight: 600; }
"""
NAMES = {"punto": "Punto", "banco": "Banco", "egalite": "Egalite", "": "no result"}


def summary(found: Reread) -> str:
    """Return a line on one recording, for people."""
    name = found.recording.name
    if found.error:
        return f"{name}: not read: {found.error}"
    parts = [f"{len(found.coups)} coups in {found.seconds:.0f} s of film"]
    if found.differences is None:
        parts.append("nothing to compare with")
    else:
        parts.append(f"{len(found.differences)} differ from the evening's")
    if found.missing_s:
        parts.append(f"{found.missing_s:.1f} s of the film are missing or damaged")
    if found.lacks:
        parts.append(found.lacks)
    return f"{name}: {', '.join(parts)}"


def write_report(out: Path, found: Sequence[Reread], core_s: float) -> None:
    """Write `report.html` and `report.json` into a folder; WriteError when the disk refuses."""
    content = {"core_s": round(core_s), "recordings": [_data(each) for each in found]}
    text = json.dumps(content, indent=1, ensure_ascii=False)
    write_whole(out / "report.json", text.encode())
    write_whole(out / "report.html", "".join(_page(found, core_s)).encode())


def _data(found: Reread) -> dict[str, object]:
    differences, then = found.differences, found.then
    return {
        "recording": shown(found.recording.url),
        "table": f"{found.recording.table.site}/{found.recording.table.table}",
        "error": found.error,
        "seconds": round(found.seconds, 1),
        "missing_s": round(found.missing_s, 1),
        "lacks": found.lacks,
        "coups": len(found.coups),
        "coups_then": None if then is None else len(then),
        "differences": None if differences is None else [
            {**_difference(each), "picture": picture}
            for each, picture in zip(differences, found.pictures, strict=True)
        ],
    }  # fmt: skip


def _difference(each: Difference) -> dict[str, object]:
    sides = {"then": each.then, "now": each.now}
    coups = {name: None if coup is None else record_to_json(coup) for name, coup in sides.items()}
    return {"kind": each.kind.value, **coups}


def _page(found: Sequence[Reread], core_s: float) -> Iterator[str]:
    yield '<!doctype html>\n<html lang="en"><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width">'
    yield f"<title>Second opinion</title><style>{STYLE}</style>\n<h1>Second opinion</h1>\n"
    yield "<p>Each coup of the recordings as it stood that evening, against today's reading of "
    yield "the same film. A difference is for a person to look at: either may be wrong.</p>\n"
    yield "<table><thead><tr><th>recording</th><th>table</th><th>coups then</th><th>coups now</th>"
    yield "<th>differ</th><th>damaged</th></tr></thead><tbody>\n"
    for each in found:
        yield _row(each)
    yield f"</tbody></table>\n<p>Spent: {core_s:.0f} core-seconds.</p>\n"
    for each in found:
        yield from _sections(each)
    yield "</html>\n"


def _row(found: Reread) -> str:
    recording = found.recording
    table = f"{recording.table.site}, table {recording.table.table}"
    head = f'<tr><th scope="row">{escape(recording.name)}</th><td>{escape(table)}</td>'
    if found.error:
        return f'{head}<td colspan="4" class="bad">not read: {escape(found.error)}</td></tr>\n'
    then = "–" if found.then is None else str(len(found.then))
    differ = "–" if found.differences is None else str(len(found.differences))
    damaged = f"{found.missing_s:.1f} s" if found.missing_s else "–"
    figures = (then, str(len(found.coups)), differ, damaged)
    cells = "".join(f'<td class="n">{cell}</td>' for cell in figures)
    return f"{head}{cells}</tr>\n"


def _sections(found: Reread) -> Iterator[str]:
    """Yield a section for each coup that differs."""
    differences = found.differences or ()
    for each, picture in zip(differences, found.pictures, strict=True):
        coup = each.now or each.then
        title = f"{found.recording.name}, coup {coup.coup if coup else '?'}: {each.kind.value}"
        yield f"<section><h2>{escape(title)}</h2>\n<table><thead><tr><th></th><th>Punto</th>"
        yield "<th>Banco</th><th>result</th><th>faults</th><th>by</th></tr></thead><tbody>\n"
        yield _side("that evening", each.then) + _side("now", each.now)
        yield "</tbody></table>\n"
        if picture:
            yield f'<img src="{escape(picture)}" alt="The table at that moment" loading="lazy">\n'
        yield "</section>\n"


def _side(name: str, coup: CoupThen | None) -> str:
    head = f'<tr><th scope="row">{name}</th>'
    if coup is None:
        return f'{head}<td colspan="5">no such coup</td></tr>\n'
    result = f"{NAMES[coup.winner]}, {coup.state}"
    faults = ", ".join(KINDS[code].title if code in KINDS else code for code in coup.faults)
    by = coup.by or "the reader"
    cells = (" ".join(coup.punto), " ".join(coup.banco), result, faults or "–", by)
    return head + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>\n"
