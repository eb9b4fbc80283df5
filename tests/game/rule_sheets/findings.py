"""Judge the rule sheets as they are printed: what is doubled, missing, unsaid or does not compute.

Each finding says what the sheet says and what was decided; `shoe-reader check` shows them, from the
file that `python -m tests.game.rule_sheets.findings` writes. It reads transcriptions only
(`transcripts`) and corrects nothing.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.game.rule_sheets.published import published_figures
from tests.game.rule_sheets.transcripts import SHEETS, PrintedRow, Sheet
from vision.game.odds import percent
from vision.game.tableau import row_of

BANCO_TOTALS = range(10)
PAGE = Path(__file__).parents[3] / "vision" / "game" / "profiles" / "sheets.json"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a sheet gets wrong or leaves open, and what we made of it."""

    sheet: int
    where: str
    fault: str
    decision: str

    def __str__(self) -> str:
        return f"sheet {self.sheet}, {self.where}: {self.fault}. Decision: {self.decision}."


def sheet_findings(number: int) -> tuple[Finding, ...]:
    """Return every finding on a rule sheet (0 to 4); ValueError for another number."""
    if not 0 <= number < len(SHEETS):
        raise ValueError(f"there is no rule sheet {number}; they are numbered 0 to 4")
    sheet = SHEETS[number]
    return (
        *_tableau(sheet),
        *_gaps(sheet),
        *_egalites(sheet),
        *(Finding(number, d.where, f'"{d.quote}"', d.decision) for d in sheet.defects),
        *_figures(sheet),
    )


def numbers_in(text: str) -> tuple[int, ...]:
    """Return the digits of a printed list such as `0-1-2` or `1,2,3 or 0`."""
    return tuple(int(digit) for digit in re.findall(r"\d", text))


def _tableau(sheet: Sheet) -> list[Finding]:
    findings = []
    for row in sheet.banco:
        fault = _row_fault(row)
        if fault:
            decision = "the row of all other sheets: draws on 0-7 and 9, stands on 8"
            findings.append(Finding(sheet.number, f"Banco's row {row.total}", fault, decision))
    missing = sorted(set(BANCO_TOTALS) - _covered(sheet))
    if missing:
        rows = ", ".join(str(total) for total in missing)
        findings.append(
            Finding(
                sheet.number,
                "Banco's rows",
                f"no row and no rule for {rows}",
                "as sheets 3 and 4 say: on 2 or less Banco draws whatever Punto was given",
            )
        )
    if not any("does not draw a third card" in rule for rule in sheet.rules):
        findings.append(
            Finding(
                sheet.number,
                "Banco after Punto stood",
                "no rule",
                "as sheets 3 and 4 say: Banco draws on 5 or less, stands on 6 and 7",
            )
        )
    return findings


def _row_fault(row: PrintedRow) -> str:
    """Return what is wrong with the two lists of a row; empty for a row in words."""
    draws, stands = numbers_in(row.draws), numbers_in(row.stands)
    if not draws and not stands:
        return ""
    try:
        row_of("it", draws, stands)
    except ValueError as error:
        return str(error).partition(":")[0]
    return ""


def _covered(sheet: Sheet) -> set[int]:
    """Return the Banco totals for which there is a row, or a rule in words."""
    covered = {total for row in sheet.banco for total in numbers_in(row.total)}
    for rule in sheet.rules:
        if "does not draw" in rule:
            continue
        for total, less in re.findall(r"total is (\d)( or less)?", rule):
            covered |= set(range(int(total) + 1)) if less else {int(total)}
    # "8 or 9 on the first two cards": sheets 3 and 4 have it among their rules, not as a row.
    return covered | {8, 9} if sheet.rules else covered


def _gaps(sheet: Sheet) -> list[Finding]:
    gaps = []
    if sheet.deal_order is None:
        gaps.append(("Order of dealing", "not stated", "P B P B, one card at a time"))
    if sheet.on_egalite is None:
        gaps.append(("Egalite and main bets", "not stated", "a stand-off, as on sheets 1, 2 and 4"))
    if len(sheet.decks) > 1:
        gaps.append(
            (
                "Decks",
                " or ".join(str(decks) for decks in sheet.decks),
                "8, from which its figures for Banco and Punto come; 6 can be set",
            )
        )
    if sheet.commission and sheet.commission_rounding is None:
        gaps.append(("Commission", f"{sheet.commission}, rounding not stated", "taken exactly"))
    gaps += [
        (
            "Egalite odds",
            f"{sheet.egalite_odds}, but {other.egalite_odds} on sheet {other.number}",
            "each sheet's profile pays what that sheet says",
        )
        for other in SHEETS
        if other.egalite_odds != sheet.egalite_odds
    ][:1]
    return [Finding(sheet.number, where, fault, decision) for where, fault, decision in gaps]


def _egalites(sheet: Sheet) -> list[Finding]:
    printed = [entry.rpartition(" ") for entry in sheet.egalites.split(", ") if entry]
    labels = Counter(label for label, _, _ in printed)
    if not printed:
        return []
    if set(labels) == {""}:
        fault = f"{len(printed)} odds without labels"
        return [_on_egalites(sheet, fault, "read in the order of the totals, 0 to 9")]
    faults = [f"{label} is listed {times} times" for label, times in labels.items() if times > 1]
    faults += [f"{total} is missing" for total in range(10) if str(total) not in labels]
    decision = (
        "the second 4 is 5, at 110-1 as on sheet 1: 120-1 on 5 would cost 3.93 %, under the least "
        "that the sheet publishes"
    )
    return [_on_egalites(sheet, ", ".join(faults), decision)] if faults else []


def _on_egalites(sheet: Sheet, fault: str, decision: str) -> Finding:
    return Finding(sheet.number, "Individual Egalites", fault, decision)


def _figures(sheet: Sheet) -> list[Finding]:
    """Return the published figures that are not ours: per bet made, from 8 decks, odds to 1."""
    findings = []
    for figure in published_figures():
        if figure.sheet != sheet.number or figure.ours in figure.agreeing:
            continue
        ours = percent(figure.ours.value, len(figure.published.partition(".")[2]))
        meant = figure.agreeing[0].words if figure.agreeing else "no convention that we tried"
        findings.append(
            Finding(
                sheet.number,
                f"Published edge, {figure.what}",
                f"{figure.published} % printed, {ours} % computed ({figure.ours.words})",
                f"ours is told; the printed one comes from: {meant}",
            )
        )
    return findings


def page() -> str:
    """Return the findings on each sheet, a line each, as JSON."""
    lines = [[str(finding) for finding in sheet_findings(n)] for n in range(len(SHEETS))]
    return json.dumps(lines, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
