"""The results board in a real browser: what the table says, and plain words when it is stale."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Hall, Screen
from tests.browser.shoe import Shoe
from tests.browser.voice import Reader, Voice, table_config, wait_for
from tests.game.test_roads import roads_of
from tests.table_log import NOON, clean, ruled, said
from vision.board.host.boards import Boards, address_of
from vision.game.cards import Card
from vision.game.commands import CorrectCard
from vision.game.coup.fault_table import KINDS
from vision.game.events import Role, Slot, Winner
from vision.game.outcome import Outcome
from vision.game.roads import roads_payload
from vision.mqtt.embedded_broker import EmbeddedBroker

WORDS = Path(__file__).parents[2] / "vision" / "board" / "pages" / "words"
DERIVED = ("big_eye_boy", "small_road", "cockroach_pig")

pytestmark = pytest.mark.browser


def played(coups: int, seed: int = 5) -> tuple[tuple[int, Outcome], ...]:
    """Return random coups for the roads."""
    dice = random.Random(seed)
    return tuple(
        (
            number,
            Outcome(
                dice.choice(list(Winner)),
                punto_pair=dice.random() < 0.1,
                banco_pair=dice.random() < 0.1,
            ),
        )
        for number in range(1, coups + 1)
    )


def counts(screen: Screen) -> dict[str, str]:
    """Return the counts as they are shown."""
    names = screen.page.locator("dt").all_text_contents()
    return dict(zip(names, screen.page.locator("dd").all_text_contents(), strict=True))


def test_board_shows_the_coup_card_by_card_and_its_result(
    screen: Screen, voice: Voice, hall: Hall
) -> None:
    """Cards appear as they are exposed; then who draws, the winner; nothing foreign is loaded."""
    screen.live(voice)
    voice.live(12, "As ?", "Td", expected=("BANCO_2",))
    screen.page.wait_for_selector("#punto-cards svg:nth-child(2)")
    assert screen.page.locator("#punto-cards title").all_text_contents() == [
        "ace of spades", "card not shown"]  # fmt: skip
    assert screen.page.text_content("#punto-points") == ""
    voice.live(12, "As 4h", "Td 5c", expected=("PUNTO_3",))
    screen.says("verdict", "Punto draws")
    screen.says("punto-points", "5")
    voice.live(12, "As 4h 3d", "Td 5c 9s")
    voice.result(12, "As 4h 3d", "Td 5c 9s")
    screen.says("verdict", "Punto wins")
    screen.says("coup", "12")
    assert screen.complaints == []
    assert all(asked.startswith(hall.url) for asked in screen.asked)


def test_board_roads_are_those_that_the_table_tells(screen: Screen, voice: Voice) -> None:
    """Every road has the marks of the message, the asked marks and the counts too."""
    screen.live(voice)
    coups = played(60)
    reported: Any = roads_payload(roads_of(coups))
    voice.say("roads", {"shoe": "s1", **reported})
    screen.page.wait_for_selector("#bead g:nth-of-type(60)", state="attached")
    for name in DERIVED:
        room = max(cell["col"] for cell in reported[name]) + 2 - {"cockroach_pig": 18}.get(name, 26)
        seen = [cell for cell in reported[name] if cell["col"] >= room]
        colours = [mark == "red" for mark in (cell["mark"] for cell in seen)]
        drawn = screen.page.eval_on_selector_all(
            f"#{name} g > *", "nodes => nodes.map(n => n.outerHTML.includes('#e5483f'))"
        )
        assert drawn == colours
    asked = screen.page.locator("#ask svg title").all_text_contents()
    wanted = [
        reported["ask"][side][road] or "no mark" for side in ("banco", "punto") for road in DERIVED
    ]
    assert [title.split(": ")[1] for title in asked] == wanted
    for side in Winner:
        won = sum(outcome.winner is side for _, outcome in coups)
        assert counts(screen)[side.value.capitalize()] == str(won)


def test_board_next_coup_clears_the_last_one(screen: Screen, voice: Voice) -> None:
    """The result stands until the next coup has a card, then the new coup is shown."""
    screen.live(voice)
    voice.result(3, "As 7c", "Kd 9h")
    voice.live(4, "", "", expected=("PUNTO_1",))
    screen.says("verdict", "Banco wins")
    voice.live(4, "2h", "", expected=("BANCO_1",))
    screen.says("verdict", "Dealing")
    screen.says("previous", "Coup 3: Banco wins 8–9")
    assert screen.page.locator("#punto-cards svg").count() == 1
    assert screen.page.locator(".wins").count() == 0


@pytest.mark.parametrize(
    ("changes", "words", "detail"),
    [
        ({"state": "held", "why": "review", "winner": None}, "One moment", "Under review"),
        ({"state": "corrected", "revision": 1}, "Banco wins", "Corrected result"),
        ({"state": "void", "winner": None}, "Coup void", ""),
    ],
    ids=["held", "corrected", "void"],
)
def test_board_says_what_kind_of_result_it_is(
    screen: Screen, voice: Voice, changes: dict[str, object], words: str, detail: str
) -> None:
    """A held, corrected or void coup is not shown as if it were plain."""
    screen.live(voice)
    voice.result(3, "As 7c", "Kd 9h", **changes)
    screen.says("verdict", words)
    screen.says("detail", detail)


def test_board_correction_changes_result_roads_and_says_so(
    screen: Screen, hall: Hall, table: str
) -> None:
    """A correction of an earlier coup changes its mark and the counts, and is told as one."""
    reader = Reader(hall.broker.port, table)
    reader.play(clean().events[:-1])
    screen.live(reader)
    screen.page.wait_for_selector("#bead g:nth-of-type(5)", state="attached")
    before = counts(screen)
    # Coup 1 was 9 against 7; with an ace in the place of Punto's nine it is 1 against 7.
    correct = CorrectCard(NOON + 200_000, "Ann", Role.INSPECTOR, 1, Slot.PUNTO_1, Card.parse("Ac"))
    reader.take(correct)
    screen.says("previous", "Coup 1 corrected: Banco wins 1–7")
    screen.page.wait_for_selector("#bead g:nth-of-type(1) path[fill='#7a4b00']", state="attached")
    after = counts(screen)
    assert int(after["Punto"]) == int(before["Punto"]) - 1
    assert int(after["Banco"]) == int(before["Banco"]) + 1
    assert screen.page.locator("#bead g:nth-of-type(1) text").text_content() == "B"
    reader.hang_up()


def test_board_shows_odds_limits_and_the_last_hand(screen: Screen, voice: Voice) -> None:
    """What the house's rules offer is on the board; of other rules than the table's, nothing is."""
    screen.live(voice)
    screen.page.wait_for_selector("#odds table")
    assert "Banco" in screen.page.text_content("#odds")
    assert "19-20" in screen.page.text_content("#odds")
    voice.say("shoe", {"shoe": "s1", "decks": 8, "cut_card_seen": True, "last_hand": True})
    screen.says("banner", "Last coup of the shoe")
    voice.say("status", {"state": "online", "profile": "others sha256:0"})
    screen.says("odds", "other rules")


def test_board_of_double_chance_says_the_percentage(chromium: Any, broker: EmbeddedBroker) -> None:
    """Where an Egalite pays a percentage on Punto and Banco, the board says which."""
    config = table_config(broker.port).model_copy(update={"profile": "double-chance"})
    with Boards([config], address_of(config)) as boards:
        screen = Screen(chromium.new_page())
        screen.page.goto(boards.server.url)
        screen.says("odds", "paid 2–10 %")
        screen.page.close()


@pytest.mark.parametrize(
    ("state", "words"),
    [("blind", "cannot see"), ("offline", "offline"), ("stopped", "stopped")],
)
def test_board_says_within_3_s_that_the_reader_does_not_see(
    screen: Screen, voice: Voice, state: str, words: str
) -> None:
    """A board that may be stale says so and greys what it shows."""
    screen.live(voice)
    voice.say("status", {"state": state})
    screen.says("notice", words, 3.0)
    assert screen.page.locator("body.stale").count() == 1
    style = "getComputedStyle(document.querySelector('main')).filter"
    assert "grayscale" in screen.page.evaluate(style)


def test_board_says_within_3_s_that_the_reader_crashed(screen: Screen, voice: Voice) -> None:
    """A reader that vanishes is told by its last will."""
    screen.live(voice)
    voice.hang_up(in_order=False)
    screen.says("notice", "offline", 3.0)


def test_board_says_within_3_s_that_the_reader_is_silent(screen: Screen, voice: Voice) -> None:
    """A reader that hangs without leaving is noticed by its silence; words bring it back."""
    screen.live(voice)
    screen.page.wait_for_selector("body.stale", timeout=4000)
    screen.says("notice", "silent")
    screen.live(voice)


def test_board_says_within_3_s_that_the_broker_is_gone(
    chromium: Any, broker: EmbeddedBroker
) -> None:
    """Without a broker the board says so, and is right again without a reload."""
    config, port = table_config(broker.port), broker.port
    voice = Voice(port)
    voice.online()
    with Boards([config], address_of(config)) as boards:
        screen = Screen(chromium.new_page())
        screen.page.goto(boards.server.url)
        screen.live(voice)
        _lose_broker(screen, broker)


def _lose_broker(screen: Screen, broker: EmbeddedBroker) -> None:
    port = broker.port
    broker.stop()
    screen.says("notice", "lost its link to the table", 3.0)
    with EmbeddedBroker(port):
        again = Voice(port)
        again.online()
        screen.live(again)
        again.hang_up()
        screen.page.close()


def test_board_says_within_3_s_that_its_server_is_gone(
    chromium: Any, broker: EmbeddedBroker
) -> None:
    """A page without its server does not look live; it recovers when the server is back."""
    config = table_config(broker.port)
    screen = Screen(chromium.new_page())
    with Boards([config], address_of(config)) as boards:
        port = int(boards.server.url.rsplit(":", 1)[1].strip("/"))
        screen.page.goto(boards.server.url)
        screen.says("notice", "Waiting for the table")
    screen.says("notice", "lost its link to the board", 3.5)
    with Boards([config], address_of(config, port=port)):
        screen.says("notice", "Waiting for the table", 5.0)
    screen.page.close()


@pytest.mark.parametrize(
    ("width", "height", "smallest"),
    [(1920, 1080, 24), (3840, 2160, 48), (1080, 1920, 24), (1366, 768, 16)],
    ids=["full-hd", "4k", "portrait", "kiosk"],
)
def test_board_fits_the_screen_and_is_legible(
    screen: Screen, voice: Voice, width: int, height: int, smallest: int
) -> None:
    """Everything is on the screen at once, in type that scales with it."""
    screen.page.set_viewport_size({"width": width, "height": height})
    screen.live(voice)
    voice.result(12, "9s 9h", "Td 5c 9s", three_giving_eight=True)
    voice.say("roads", {"shoe": "s1", **roads_payload(roads_of(played(80)))})
    screen.page.wait_for_selector("#bead g:nth-of-type(60)", state="attached")
    outside, sizes = screen.page.evaluate(
        """() => {
          const nodes = [...document.body.querySelectorAll('*')].filter(n => n.id !== 'notice');
          const words = nodes.filter(n => !n.closest('svg'));
          const own = words.filter(n => n.children.length === 0 && n.textContent.trim());
          const out = words.filter(n => { const r = n.getBoundingClientRect();
            return r.width && (r.right > innerWidth + 1 || r.bottom > innerHeight + 1); });
          return [out.map(n => n.id || n.className || n.tagName),
                  own.map(n => parseFloat(getComputedStyle(n).fontSize))];
        }"""
    )
    assert outside == []
    assert min(sizes) >= smallest
    points = "parseFloat(getComputedStyle(document.getElementById('punto-points')).fontSize)"
    assert screen.page.evaluate(points) >= 4 * smallest


def test_board_fits_a_phone_without_sideways_scrolling(screen: Screen, voice: Voice) -> None:
    """On a phone everything is within the width, and letters stay readable."""
    screen.page.set_viewport_size({"width": 390, "height": 844})
    screen.live(voice)
    voice.result(12, "As 4h 3d", "Td 5c 9s")
    screen.says("verdict", "Punto wins")
    assert screen.page.evaluate("document.documentElement.scrollWidth") <= 390
    size = screen.page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)")
    assert size >= 11


def test_board_speaks_the_language_asked_for(screen: Screen, voice: Voice) -> None:
    """A language is a file; the page is in it whole, and says which it is."""
    voice.result(12, "As 4h 3d", "Td 5c 9s")
    address = screen.page.url
    for language, words in (
        ("fr", "Punto gagne"),
        ("es", "Gana Punto"),
        ("pt", "Ganha Punto"),
        ("zh", "闲赢"),
        ("zh-Hant", "閒贏"),
    ):
        screen.page.goto(f"{address}?lang={language}")
        screen.says("verdict", words)
        assert screen.page.get_attribute("html", "lang") == language


def test_board_keeps_the_language_chosen_in_its_menu(screen: Screen, voice: Voice) -> None:
    """Guests see no menu until a key is pressed; what is chosen there stays in that browser."""
    voice.result(12, "As 4h 3d", "Td 5c 9s")
    page = screen.page
    page.goto(f"{page.url}?lang=fr")
    screen.says("verdict", "Punto gagne")
    shown = "getComputedStyle(document.querySelector('#languages')).opacity"
    assert page.evaluate(shown) == "0"
    page.keyboard.press("Tab")
    assert page.evaluate(shown) == "1"
    assert page.evaluate("document.activeElement.ariaLabel") == "Langue"
    page.select_option("#languages", label="繁體中文")
    screen.says("verdict", "閒贏")
    page.goto(page.url)
    screen.says("verdict", "閒贏")
    assert "lang=" not in page.url
    assert page.input_value("#languages") == "zh-Hant"
    assert screen.complaints == []


@pytest.mark.parametrize("path", sorted(WORDS.glob("*.json")), ids=lambda path: path.stem)
def test_words_are_complete_in_every_language(path: Path) -> None:
    """Each language has every word, with the same values to fill in."""
    english = json.loads((WORDS / "en.json").read_text("utf-8"))
    other = json.loads(path.read_text("utf-8"))
    assert other.keys() == english.keys()
    for key, text in english.items():
        assert sorted(_values(other[key])) == sorted(_values(text)), key


def test_words_name_every_fault() -> None:
    """The pages know the name of each fault, in English the one of the table of faults."""
    english = json.loads((WORDS / "en.json").read_text("utf-8"))
    named = {key[6:]: name for key, name in english.items() if key.startswith("fault.")}
    assert named == {code: kind.title for code, kind in KINDS.items()}


def _values(text: str) -> list[str]:
    return [part.split("}")[0] for part in text.split("{")[1:]]


def test_board_titles_come_out_as_text(chromium: Any, broker: EmbeddedBroker) -> None:
    """Markup in a table's title or in a message is shown as it was written."""
    words = "<img src=x onerror=alert(1)>"
    config = table_config(broker.port, title=words)
    voice = Voice(broker.port)
    voice.online()
    voice.say("shoe", {"shoe": words})
    voice.result(1, "As 7c", "Kd 9h", winner=words, state=words, why=words)
    with Boards([config], address_of(config)) as boards:
        screen = Screen(chromium.new_page())
        screen.page.goto(boards.server.url)
        screen.says("table", words)
        screen.says("shoe", words)
        assert screen.page.locator("img").count() == 0
        screen.page.close()
    voice.hang_up()


def test_server_of_two_tables_shows_each_its_own(chromium: Any, broker: EmbeddedBroker) -> None:
    """One server serves many tables; a table's board hears of that table only."""
    configs = [table_config(broker.port, "7"), table_config(broker.port, "8")]
    readers = [Reader(broker.port, "7"), Reader(broker.port, "8")]
    readers[0].play(clean().events[:-1])
    readers[1].play(ruled().events[:-1])
    with Boards(configs, address_of(configs[0])) as boards:
        screen = Screen(chromium.new_page())
        screen.page.goto(boards.server.url)
        screen.page.click("text=Table 8")
        screen.live(readers[1])
        wait_for(lambda: counts(screen).get("Coups") == "2")
        assert screen.page.text_content("#table") == "Table 8"
        screen.page.close()
    for reader in readers:
        reader.hang_up()


def test_board_at_the_end_of_a_shoe_shows_what_the_log_folds_to(
    chromium: Any, broker: EmbeddedBroker
) -> None:
    """After many coups with faults, and a restart of the server, the board equals the fold."""
    reader, config = Reader(broker.port), table_config(broker.port)
    shoe, screen = Shoe(reader, seed=3), Screen(chromium.new_page())
    with Boards([config], address_of(config)) as boards:
        screen.page.goto(boards.server.url)
        for _ in range(10):
            shoe.deal()
        port = int(boards.server.url.rsplit(":", 1)[1].strip("/"))
    for _ in range(10):
        shoe.deal()
    folded = [one for one in said(reader.events) if one.topic.endswith("/roads")]
    roads = json.loads(folded[-1].payload)
    with Boards([config], address_of(config, port=port)):
        screen.page.wait_for_selector("#bead g:nth-of-type(20)", state="attached")
        letters = screen.page.locator("#bead text").all_text_contents()
        assert letters == [cell["winner"][0].upper() for cell in roads["bead_plate"]]
        assert counts(screen)["Naturals"] == str(roads["counts"]["natural"])
        drawn = screen.page.locator("#big_eye_boy circle").count()
        assert drawn == len(roads["big_eye_boy"])
    screen.page.close()
    reader.hang_up()


def test_board_moves_nothing_where_less_motion_is_wanted(
    chromium: Any, hall: Hall, voice: Voice
) -> None:
    """Cards come without animation for who asked for less motion."""
    context = chromium.new_context(reduced_motion="reduce")
    screen = Screen(context.new_page())
    screen.page.goto(f"{hall.url}table/{voice.table}")
    voice.live(1, "As", "", expected=("BANCO_1",))
    screen.page.wait_for_selector("#punto-cards svg")
    style = "getComputedStyle(document.querySelector('#punto-cards svg')).animationName"
    assert screen.page.evaluate(style) == "none"
    context.close()
