"""Every page in the language of the house: what a person sees comes from the table of words."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.logs import write_log
from tests.acceptance.people import FIRST, served
from tests.browser.conftest import Screen
from tests.browser.font import held, signs
from tests.browser.people import PASSWORD, house_of_people, with_desk
from tests.browser.test_desk import faulty
from tests.browser.voice import Reader, table_config, wait_for
from tests.floor.archive.month import PlayedTable
from vision.acceptance.answers import INCIDENTS
from vision.board.host.boards import Boards, address_of
from vision.clock import now_ms
from vision.commands import reports_of
from vision.floor.archive.database import open_archive
from vision.floor.archive.logs import write
from vision.floor.archive.questions import QUESTIONS, Asked, ask
from vision.mqtt.embedded_broker import EmbeddedBroker

SETTLED_MS = 1500  # after which a page has asked for all that it shows
MOST_WAITS = 20  # of that length, for a page on a busy machine
VISION = Path(__file__).parents[2] / "vision"
WORDS = json.loads((VISION / "board/pages/words/en.json").read_text("utf-8"))
SIGNS = {"col.p", "col.p10", "col.p90"}  # of statistics: columns without words
# Written alike in every language: names, units, formats and what a house calls its own things.
ALIKE = {"Ann", "Bo", "Cy", "Di", "CSV", "SHA", "UTC", "Garwood", "archive", "address"}
# What a page shows and reads out: text, labels and hints. What the reader wrote in English and a
# page quotes says that it is English; the archive's names of tables and rules are the house's.
SEEN = """() => {
  const parts = [document.title];
  for (const node of document.querySelectorAll('body *')) {
    if (node.closest('[lang=en], option[lang], code, script') || node.closest('[hidden]')) continue;
    for (const name of ['aria-label', 'placeholder', 'alt', 'title'])
      if (node.getAttribute(name)) parts.push(node.getAttribute(name));
    for (const text of node.childNodes) if (text.nodeType === 3) parts.push(text.data);
  }
  return parts;
}"""
PAGES = {
    "desk": ("Ann", "desk", "#facts dl"),
    "desk, a table": ("Ann", "desk#table/7", "#facts dl"),
    "history": ("Ann", "desk#history", "#history table"),
    "shoe": ("Ann", "desk#history/7/s1", "#history summary"),
    "search": ("Cy", "desk#search", "#search td"),
    "strip": ("Bo", "dealer/7", "#alert .one"),
    "floor": ("Ann", "floor", "#floor .tile b"),
    "reports": ("Ann", "reports", "#figures td"),
    "readers": ("Di", "setup", "#readers .reader"),
    "board": ("", "table/7", "#verdict"),
    "log-in": ("", "login", "#enter"),
}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory, chromium: Any) -> Iterator[dict[str, Any]]:
    """Run the boards of a Chinese house, with an open alert and an archive; log people in."""
    folder = tmp_path_factory.mktemp("languages")
    address = str(folder / "archive.sqlite")
    engine = open_archive(address)
    write(engine, PlayedTable("7", 60, 2).messages())
    users, key = house_of_people(folder)
    with EmbeddedBroker(0) as broker:
        config = with_desk(table_config(broker.port), users, key)
        board = config.board.model_copy(update={"language": "zh"})
        rota = folder / "rota.csv"  # of nobody: all that is asked by shift is outside of it
        rota.write_text("from,until,table,shift\n", "utf-8")
        archive = config.archive.model_copy(update={"address": address, "rota": str(rota)})
        config = config.model_copy(update={"board": board, "archive": archive})
        reader = Reader(broker.port, "7", users)
        with Boards([config], address_of(config), reports=reports_of(archive)) as boards:
            wait_for(lambda: boards.feed.connected)
            play = faulty(at=now_ms()).clear(5).coup("P1:9c B1:3s P2:Kd B2:4h")
            reader.play(play.events)
            with reader.beating():
                yield {"url": boards.server.url, "address": address, "browser": chromium}
        reader.hang_up()


@pytest.fixture(scope="module")
def pages(house: dict[str, Any]) -> Iterator[dict[str, Screen]]:
    """Open every page of the house, one beside the other, so that all settle at once."""
    contexts = {who: logged_in(house, who) for who, *_ in PAGES.values()}
    opened = {name: Screen(contexts[who].new_page()) for name, (who, *_) in PAGES.items()}
    for name, (_, path, ready) in PAGES.items():
        show(opened[name].page, house["url"] + path, ready)
    opened["shoe"].page.wait_for_timeout(SETTLED_MS)
    yield opened
    for context in contexts.values():
        context.close()


def logged_in(house: dict[str, Any], who: str) -> Any:
    """Return a browser's context in which somebody is logged in, or nobody."""
    context = house["browser"].new_context()
    if who:
        page = context.new_page()
        page.goto(f"{house['url']}login")
        page.fill("#name", who)
        page.fill("#password", PASSWORD)
        page.click("#enter")
        page.wait_for_url(lambda there: "login" not in there)
        page.close()
    return context


def show(page: Any, address: str, ready: str) -> None:
    """Go to a page and wait until it shows something."""
    page.goto(address)
    page.wait_for_selector(ready)


def entered(house: dict[str, Any], who: str, path: str, ready: str) -> Screen:
    """Open a page of the house alone, as somebody, and wait until it shows something."""
    screen = Screen(logged_in(house, who).new_page())
    show(screen.page, house["url"] + path, ready)
    screen.page.wait_for_timeout(SETTLED_MS)
    return screen


def foreign(page: Any) -> set[str]:
    """Return the words of the page in Latin letters that are no names; Chinese has none."""
    words = {word for part in page.evaluate(SEEN) for word in re.findall(r"[A-Za-zÀ-ÿ]{3,}", part)}
    return words - ALIKE


@pytest.mark.parametrize("name", PAGES)
def test_page_has_no_text_outside_the_table_of_words(name: str, pages: dict[str, Screen]) -> None:
    """In a Chinese house no page shows, labels or hints at anything in Latin letters but names."""
    page = pages[name].page
    page.bring_to_front()
    if name == "shoe":
        for coup in page.locator("#history summary").all():
            coup.click()
        page.wait_for_timeout(SETTLED_MS)
    assert page.get_attribute("html", "lang") == "zh"
    for _ in range(MOST_WAITS):  # a busy machine may still be putting the words in
        if not foreign(page):
            break
        page.wait_for_timeout(SETTLED_MS)
    assert foreign(page) == set()
    assert pages[name].complaints == []


def test_pages_of_an_acceptance_have_no_text_outside_the_table_of_words(
    tmp_path: Path, chromium: Any
) -> None:
    """Asking, with incidents and a coup before; a refusal; and the page when nothing is due."""
    write_log(tmp_path, 1)
    table = tmp_path / "table.toml"
    table.write_text(
        table.read_text("utf-8").replace("[board]", '[board]\nlanguage = "zh"'), "utf-8"
    )
    words = [str(table), "--log", str(tmp_path / "table.sqlite"), "--share", "0"]
    with served(*words) as (url, _):
        screen = entered({"url": url, "browser": chromium}, FIRST, "accept", "#coup:not([hidden])")
        page = screen.page
        assert foreign(page) == {"Esc"}  # a key, as it is printed on it
        page.keyboard.press("Enter")
        page.keyboard.type("9c?c 5h4hi")
        for number in range(len(INCIDENTS)):
            page.keyboard.press(chr(ord("a") + number))
        assert foreign(page) == set()
        page.keyboard.press("Escape")
        page.keyboard.press("+")
        assert foreign(page) == {"Esc"}
        page.keyboard.type("n")
        page.keyboard.press("Enter")
        page.wait_for_function("() => document.querySelector('#reply').textContent.includes('：')")
        assert foreign(page) == {"Esc"}
        page.keyboard.press("Escape")
        page.keyboard.type("9c2c 5h4h")
        page.keyboard.press("Enter")
        page.wait_for_selector("#none:not([hidden])")
        assert foreign(page) <= {"shoe", "reader", "accept", "report"}  # a command
        page.context.close()


def test_chinese_words_wait_for_their_font(house: dict[str, Any], chromium: Any) -> None:
    """However late it comes, no sign is ever drawn without it, as a box."""

    def late(route: Any) -> None:
        time.sleep(1.5)
        route.continue_()

    page = chromium.new_page()
    page.route("**/*.woff2", late)
    page.add_init_script(
        """setInterval(() => {
          const shown = /[\u4e00-\u9fff]/.test(document.querySelector("h1")?.textContent);
          window.early ||= shown && !document.fonts.check("1em Signs", "登");
        }, 10);"""
    )
    page.goto(house["url"] + "login")
    page.wait_for_selector("h1:has-text('登录')")
    page.wait_for_timeout(100)
    assert page.evaluate("window.early") is False
    page.close()


def test_words_of_incidents_are_those_of_the_program() -> None:
    """Each incident that people can mark has words: those of the fault, or its own."""
    groups = ("incident.", "fault.")
    assert {*INCIDENTS} <= {key.partition(".")[2] for key in WORDS if key.startswith(groups)}


def test_reports_of_every_kind_are_in_the_language_of_the_house(house: dict[str, Any]) -> None:
    """Titles, columns, values and notes; a table and its rules keep the names of the house."""
    page = entered(house, *PAGES["reports"]).page
    for kind, (_, ways) in QUESTIONS.items():
        page.select_option("#kind", kind)
        for way in ways or ("",):
            if way:
                page.select_option("#by", way)
            page.wait_for_function("() => !document.querySelector('#answer.waits')")
            page.wait_for_timeout(200)
            assert foreign(page) <= {"macau", "mini", "punto", "banco"}, (kind, way)
    page.context.close()


def test_words_of_reports_are_those_of_the_archive(house: dict[str, Any]) -> None:
    """Every kind, way, column and note of the archive has its words, in English the archive's."""
    engine = open_archive(house["address"])
    for kind, (_, ways) in QUESTIONS.items():
        assert {f"kind.{kind}", f"title.{kind}", *(f"col.{way}" for way in ways)} <= WORDS.keys()
        for way in ways or ("",):
            answer = ask(engine, kind, Asked(by=way))
            assert {f"col.{column}" for column in answer.columns} <= WORDS.keys() | SIGNS
            notes = [WORDS[f"note.{kind}.{i}"] for i, _ in enumerate(answer.notes)]
            filled = [_filled(note, answer.facts) for note in notes]
            assert filled == answer.notes
            assert WORDS[f"title.{kind}"].format(by=WORDS.get(f"col.{way}", "")) == answer.title


def _filled(note: str, facts: Any) -> str:
    return note.format(**facts) if facts else note


def test_words_of_refusals_are_those_of_the_program() -> None:
    """A refusal that has words in other languages is a text of the program, letter by letter."""
    program = re.sub(r'"\s+"', "", "\n".join(p.read_text("utf-8") for p in VISION.rglob("*.py")))
    own = {"reply.no_answer", "reply.nobody", "reply.refused"}
    lost = [key for key, text in WORDS.items()
            if key.startswith("reply.") and key not in own and text not in program]  # fmt: skip
    assert lost == []


def test_every_word_is_used_on_a_page() -> None:
    """No word is kept for nothing: each stands in a page or script, by its name or its group."""
    files = [p for p in (VISION / "board").glob("[hp]*/*.*") if p.suffix != ".woff2"]
    texts = [p.read_text("utf-8") for p in files]
    source = "\n".join(texts)
    groups = set(re.findall(r"[\"`](\w+)\.\$\{", source))
    groups |= set(re.findall(r"(?:wordOf|fill)\([^\n]*?\"(\w+)\"", source))
    groups |= {"reply", "value", "bet", "gauge"}
    unused = [key for key in WORDS
              if f'"{key}"' not in source and key.split(".")[0] not in groups]  # fmt: skip
    assert unused == []


def test_font_has_every_sign_of_the_words() -> None:
    """No screen shows boxes for a sign of ours, whatever fonts its machine has."""
    assert signs() <= held(), "python -m tests.browser.font NotoSansCJK-Regular.ttc"
