"""Saying what was dealt in a real browser: by keys alone, in seconds, and for everybody to use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.logs import write_log
from tests.acceptance.people import FIRST, SECOND, served
from tests.browser.conftest import Screen
from tests.browser.people import PASSWORD
from tests.browser.test_reports import grave
from tests.browser.voice import wait_for
from vision.acceptance.answers import Answer, answer_text
from vision.acceptance.coups import LogBook
from vision.cli import main
from vision.commands.printing.console import NOT_PROVEN

pytestmark = pytest.mark.browser
COUPS = 4
SHOTS = os.environ.get("SCREENS", "")  # a folder for pictures, to be looked at


@pytest.fixture(scope="module")
def shoe(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Answer]]:
    """Record a short shoe; give its folder and what was dealt."""
    folder = tmp_path_factory.mktemp("shoe")
    return folder, write_log(folder, COUPS)


@pytest.fixture(scope="module")
def url(shoe: tuple[Path, dict[str, Answer]]) -> Iterator[str]:
    """Serve the page for two people a coup."""
    folder, _ = shoe
    words = [str(folder / "table.toml"), "--log", str(folder / "table.sqlite"), "--share", "1"]
    with served(*words) as (address, _):
        yield address


def entered(chromium: Any, url: str, name: str) -> Screen:
    """Log in by keys."""
    page = chromium.new_context(viewport={"width": 1600, "height": 900}).new_page()
    found = Screen(page)
    page.goto(f"{url}accept")
    page.focus("#name")
    page.keyboard.type(name)
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url(f"{url}accept")
    at(page, "coup s1/1")
    return found


def at(page: Any, words: str) -> None:
    """Wait until the page is at a coup and shows it."""
    page.wait_for_function(
        "words => document.querySelector('#place').textContent.includes(words) "
        "&& document.querySelector('#punto').naturalWidth > 0",
        arg=words,
    )


def shot(page: Any, name: str) -> None:
    """Keep a picture of the page where somebody wants to look."""
    if SHOTS:
        page.screenshot(path=Path(SHOTS) / f"{name}.png")


def typed(answer: Answer) -> str:
    """Return the keys of an answer without incidents."""
    punto, _, banco = answer_text(answer).replace("T", "0").partition(" / ")
    return f"{punto.replace(' ', '')} {banco.replace(' ', '')}".lower()


def stored(folder: Path, answers: int) -> LogBook:
    """Return a log with so many answers; a page is done before its last one is signed."""
    book = LogBook(folder / "table.sqlite")

    def all_are_in() -> bool:
        book.renew()
        return len(book.keyed) == answers

    wait_for(all_are_in)
    return book


def tags(page: Any) -> list[str]:
    """Return what stands below the hands."""
    return list(page.locator("#tags li").all_text_contents())


def mark_and_answer(page: Any, answer: Answer) -> None:
    """Answer the first coup; mark an incident in the list, and take the mark away again."""
    shot(page, "accept-begin")
    page.keyboard.type(typed(answer))
    shot(page, "accept-typed")
    assert page.locator("#punto-typed svg").count() == len(answer[-1].punto)
    page.keyboard.press("i")
    page.keyboard.press("c")
    assert tags(page) == ["Over-draw by Banco"]
    shot(page, "accept-incidents")
    assert grave(page) == []
    page.keyboard.press("c")
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")


def test_coups_are_answered_by_keys_alone(
    chromium: Any, url: str, shoe: tuple[Path, dict[str, Answer]]
) -> None:
    """Cards, a card unseen, incidents, nothing dealt, a coup before, going back and changing."""
    folder, truth = shoe
    screen = entered(chromium, url, FIRST)
    page = screen.page
    mark_and_answer(page, truth["s1/1"])
    at(page, "coup s1/2")
    page.keyboard.type("9c?c")  # what is no card is not taken
    page.keyboard.press("Backspace")
    assert page.locator("#punto-typed .unseen").count() == 0
    page.keyboard.type("? 5h4h")
    page.keyboard.press("+")
    assert tags(page) == ["before it: 9♣ ? / 5♥ 4♥"]
    page.keyboard.press("n")
    shot(page, "accept-nothing")
    page.keyboard.press("Enter")
    at(page, "coup s1/3")
    page.keyboard.press("Enter")
    screen.says("reply", "Type both hands")
    page.keyboard.press("b")
    at(page, "coup s1/2")
    assert tags(page) == ["before it: 9♣ ? / 5♥ 4♥", "nothing was dealt"]
    page.keyboard.press("Escape")
    page.keyboard.type(typed(truth["s1/2"]))
    page.keyboard.press("Enter")
    at(page, "coup s1/3")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.querySelector('#table').src.endsWith('/1')")
    page.keyboard.press("v")
    screen.says("reply", "There is no clip")
    assert grave(page) == []
    for coup in ("s1/3", "s1/4"):
        at(page, f"coup {coup}")
        page.keyboard.type(typed(truth[coup]))
        page.keyboard.press("Enter")
    screen.says("none-words", "Nothing more for you")
    shot(page, "accept-waits")
    (complaint,) = screen.complaints  # the clip that is not there
    assert "404 (Not Found)" in complaint
    page.context.close()
    book = stored(folder, answers=5)
    assert [(each.coup, each.revision) for each in book.keyed] == [
        ("s1/1", 1), ("s1/2", 1), ("s1/2", 2), ("s1/3", 1), ("s1/4", 1)
    ]  # fmt: skip
    assert {each.coup: each.answer for each in book.keyed} == truth


def test_disagreement_the_house_s_consent_and_the_report(
    chromium: Any, url: str, shoe: tuple[Path, dict[str, Answer]]
) -> None:
    """A second person differs in one coup; the report says so, and can be read by everybody."""
    folder, truth = shoe
    page = entered(chromium, url, SECOND).page
    for coup in truth:
        at(page, f"coup {coup}")
        page.keyboard.type("ks " if coup == "s1/3" else typed(truth[coup]))
        if coup == "s1/3":
            page.keyboard.type(typed(truth[coup]).partition(" ")[2])
        page.keyboard.press("Enter")
    page.wait_for_selector("#none-words:visible")
    assert not page.is_visible("#allow")
    page.context.close()
    stored(folder, answers=5 + len(truth))  # five are the first person's
    report = folder / "report"
    words = [str(folder / "table.toml"), "--log", str(folder / "table.sqlite")]
    assert main(["accept", "report", *words, "--out", str(report)]) == NOT_PROVEN
    page = chromium.new_page(viewport={"width": 1100, "height": 1400})
    page.goto((report / "report.html").as_uri())
    text = page.text_content("body")
    assert "wrong results: 0 of 3" in text
    assert "NOT FINISHED: 1 coups wait for answers" in text
    assert grave(page) == []
    shot(page, "accept-report")
    if SHOTS:
        page.pdf(path=Path(SHOTS) / "accept-report.pdf", prefer_css_page_size=True)
    page.close()
