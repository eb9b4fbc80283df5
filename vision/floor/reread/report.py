"""Write the second opinion: what two readings of an evening agree on, and each coup that differs.

As a page with pictures for people, and as JSON for programs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, PackageLoader

from vision.files import write_whole
from vision.floor.reread.evening import Difference
from vision.floor.reread.job import Reread
from vision.game.coup.fault_table import KINDS
from vision.record.codec import record_to_json
from vision.secrets import shown

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
    page = _pages().get_template("report.html")
    html = page.render(recordings=found, core_s=core_s, winners=NAMES)
    write_whole(out / "report.html", html.encode())


def _pages() -> Environment:
    pages = Environment(loader=PackageLoader(__package__, ""), autoescape=True)
    pages.filters["title_of"] = lambda code: KINDS[code].title if code in KINDS else code
    return pages


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
