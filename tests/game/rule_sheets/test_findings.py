"""Lint: what is wrong with each rule sheet is found, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.game.rule_sheets.findings import PAGE, Finding, numbers_in, page, sheet_findings
from tests.game.rule_sheets.transcripts import SHEETS, PrintedRow, Sheet
from vision.config.profiles import sheet_findings as packaged


def wheres(sheet: int) -> list[str]:
    """Return the places of the findings on a sheet."""
    return [finding.where for finding in sheet_findings(sheet)]


def finding(sheet: int, where: str) -> Finding:
    """Return the first finding at a place."""
    return next(one for one in sheet_findings(sheet) if one.where == where)


def test_findings_that_check_shows_are_these() -> None:
    """What the program carries is what the judge says of the transcriptions."""
    assert PAGE.read_text(encoding="utf-8") == page()
    assert packaged(2) == tuple(map(str, sheet_findings(2)))


def test_findings_of_sheet_2_name_the_misprinted_row() -> None:
    """Row 3 has 8 in both lists and 3 in neither; no other sheet has such a row."""
    row = finding(2, "Banco's row 3")
    assert row.fault == "it has 8 as both draw and stand and 3 in neither"
    assert "draws on 0-7 and 9, stands on 8" in row.decision
    for sheet in (0, 1, 3, 4):
        assert not any(where.startswith("Banco's row ") for where in wheres(sheet))


@pytest.mark.parametrize("sheet", [0, 1, 2])
def test_findings_of_sheets_0_to_2_name_missing_rows(sheet: int) -> None:
    """The tableau begins at 3 and is silent on Punto standing."""
    assert finding(sheet, "Banco's rows").fault == "no row and no rule for 0, 1, 2"
    assert finding(sheet, "Banco after Punto stood").fault == "no rule"


@pytest.mark.parametrize("sheet", [3, 4])
def test_findings_of_sheets_3_and_4_have_the_rows_in_words(sheet: int) -> None:
    """Both give rows 0 to 2 and the case of Punto standing in words."""
    assert "Banco's rows" not in wheres(sheet)
    assert "Banco after Punto stood" not in wheres(sheet)


def test_findings_of_egalite_lists() -> None:
    """Sheet 0 has 4 twice and no 5; sheet 1 has no labels; the others print no list."""
    assert finding(0, "Individual Egalites").fault == "4 is listed 2 times, 5 is missing"
    assert finding(1, "Individual Egalites").fault == "10 odds without labels"
    assert not any("Individual Egalites" in wheres(sheet) for sheet in (2, 3, 4))


@pytest.mark.parametrize(
    ("sheet", "where", "fault"),
    [
        (0, "Order of dealing", "not stated"),
        (1, "Order of dealing", "not stated"),
        (2, "Order of dealing", "not stated"),
        (3, "Order of dealing", '"the first two being the players hands cards"'),
        (3, "Egalite and main bets", "not stated"),
        (3, "Commission", "5 %, rounding not stated"),
        (4, "Commission", "5 %, rounding not stated"),
        (4, "Decks", "6 or 8"),
        (4, "Naturals", '"This is called (kings)"'),
        (0, "Egalite odds", "9-1, but 8-1 on sheet 3"),
        (3, "Egalite odds", "8-1, but 9-1 on sheet 0"),
    ],
)
def test_findings_of_what_is_unpublished_or_garbled(sheet: int, where: str, fault: str) -> None:
    """Each gap and each garbled passage is a finding with what was decided."""
    found = finding(sheet, where)
    assert found.fault == fault
    assert found.decision


FIGURES = [
    (0, "UR WAY Egalite 7 at 45-1", "8.43 % printed, 6.39 % computed (45 to 1, 8 decks)"),
    (0, "UR WAY Egalite 6 at 45-1", "13.42 % printed, 11.50 % computed (45 to 1, 8 decks)"),
    (4, "Banco at 1-1 less 5 %", "1.17 % printed, 1.06 % computed (per bet made, 8 decks)"),
    (4, "Punto at 1-1", "1.36 % printed, 1.24 % computed (per bet made, 8 decks)"),
    (4, "Egalite at 8-1", "14.12 % printed, 14.36 % computed (8 to 1, 8 decks)"),
]


@pytest.mark.parametrize(("sheet", "what", "fault"), FIGURES, ids=[f[1] for f in FIGURES])
def test_findings_of_figures_that_do_not_compute(sheet: int, what: str, fault: str) -> None:
    """A published figure that is not ours is named, with ours and where it comes from."""
    found = finding(sheet, f"Published edge, {what}")
    assert found.fault == fault
    assert found.decision.startswith("ours is told; the printed one comes from: ")
    assert "no convention" not in found.decision


def test_findings_leave_figures_that_compute_alone() -> None:
    """The figures that are ours are no findings; sheets 1 to 3 publish none."""
    reported = [w for n in range(5) for w in wheres(n) if w.startswith("Published edge")]
    assert reported == [f"Published edge, {what}" for _, what, _ in FIGURES]


def test_finding_in_words() -> None:
    """A finding is one line: sheet, place, fault, decision."""
    assert str(Finding(2, "a place", "it is so", "we do thus")) == (
        "sheet 2, a place: it is so. Decision: we do thus."
    )


@pytest.mark.parametrize("number", [-1, 5])
def test_findings_of_a_sheet_that_is_none(number: int) -> None:
    """There are five sheets, 0 to 4."""
    with pytest.raises(ValueError, match=f"there is no rule sheet {number}; they are numbered"):
        sheet_findings(number)


def test_findings_of_a_complete_sheet(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sheet that says everything once has no findings but what other sheets say."""
    lists = (("0-1-2-3-4-5-6-7-9", "8"), ("2-3-4-5-6-7", "0-1-8-9"))
    complete = Sheet(
        number=0,
        title="t",
        profile="p",
        decks=(8,),
        deal_order="P B P B",
        punto=(),
        banco=(
            PrintedRow("0-1-2", "DRAWS", ""),
            *(PrintedRow(str(3 + n), draws, stands) for n, (draws, stands) in enumerate(lists)),
            PrintedRow("5-6-7", "", "STANDS"),
        ),
        rules=("If the player does not draw a third card, the bank stands on 6.",),
        on_egalite="stand-off",
        egalite_odds="9-1",
        egalites=", ".join(f"{total} 9-1" for total in range(10)),
        commission="5 %",
        commission_rounding="down",
    )
    monkeypatch.setattr("tests.game.rule_sheets.findings.SHEETS", (complete,))
    monkeypatch.setattr("tests.game.rule_sheets.findings.published_figures", tuple)
    assert sheet_findings(0) == ()


def test_numbers_in_printed_lists() -> None:
    """Digits are read from every way in which the sheets print them."""
    assert numbers_in("Baccarat (0)-1-2") == (0, 1, 2)
    assert numbers_in("1,2,3 or 0") == (1, 2, 3, 0)
    assert numbers_in("STANDS") == ()


def test_sheets_are_numbered_in_order() -> None:
    """A sheet's number is its place."""
    assert [sheet.number for sheet in SHEETS] == [0, 1, 2, 3, 4]


def squeezed(text: str) -> str:
    """Leave out blanks and bullets: the sheets' text breaks words in odd places."""
    return "".join(text.split()).replace("\u2022", "")


@pytest.mark.shared
def test_sheets_are_transcribed_word_for_word() -> None:
    """What we quote from a sheet stands in the sheet, apart from blanks."""
    folder = Path(__file__).parents[3].parent / "shared" / "rule-sheets"
    if not folder.is_dir():
        pytest.skip("the rule sheets are not beside the checkout")
    for sheet, path in zip(SHEETS, sorted(folder.glob("*.txt")), strict=True):
        text = squeezed(path.read_text(encoding="utf-8"))
        quotes = [*sheet.rules, *(defect.quote for defect in sheet.defects)]
        for quote in quotes:
            for part in quote.split(" ... "):
                assert squeezed(part) in text, (sheet.number, part)
