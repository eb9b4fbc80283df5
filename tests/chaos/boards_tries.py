"""What a browser gets that should not: every route, parameter and order tried, and the answers.

`python -m tests.chaos board` does the same with the results board's credential at the broker.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
from starlette.applications import Starlette
from starlette.routing import Route

from tests.browser.people import PASSWORD, PEOPLE, house_of_people, with_desk
from tests.browser.voice import EXAMPLE, Reader, table_config, wait_for
from tests.chaos.outcome import Done
from tests.table_log import overdraw
from vision.board.desk.table_editor import TableEditor
from vision.board.host.boards import Boards, address_of
from vision.board.rights import MAY_ORDER
from vision.commands.printing.drawn_film import live_measuring
from vision.mqtt.embedded_broker import EmbeddedBroker

# The routes that are for everybody; they tell what lies open on the table, and the pages' files.
PUBLIC = ("/", "/lobby", "/table/{table}", "/tables", "/events/{table}", "/login")
ASSETS = (".css", ".js", ".json")
MARKUP = "<img src=x onerror=alert(1)>"
# Filled into each parameter of each route.
VALUES = (
    "7", "8", "..%2f..%2fetc%2fpasswd", "%2e%2e%2fusers.json", "%00", "a" * 3000, "+", "#", "-1",
    "casino/house/table/7/card", MARKUP, "' OR 1=1 --", "1e9", "s1", "evidence",
)  # fmt: skip
QUERIES = ("", "table=7&kind=&code=", "next=//evil.example&why=role", f"lang={MARKUP}")
# What nobody and the wrong role may be answered; a stream that opened would be a 200.
UNAVAILABLE = 503  # something outside failed, such as a log that is on another machine
REFUSED = {303, 400, 401, 403, 404, 405, 415, 431, UNAVAILABLE}
# Never in any answer to somebody who is not logged in: what the log, the desks and the files know.
SECRETS = ("OVER_B3", "told the pit", "confidence", "argon2", "desk-1", 'PUNTO_1":', "root:")
ANONYMOUS, CROSS = "nobody", "another site"


def tries(path: str) -> Iterator[str]:
    """Yield the addresses to try for a route."""
    if "{" not in path:
        yield from (f"{path}?{query}" if query else path for query in QUERIES)
        return
    names = [part.split("}")[0].split(":")[0] for part in path.split("{")[1:]]
    for value in VALUES:
        for chosen in names:
            filled = {name: value if name == chosen else _usual(name) for name in names}
            out = path.replace(":int}", "}")
            for name in names:
                out = out.replace(f"{{{name}}}", filled[name])
            yield out


def _usual(name: str) -> str:
    return {"table": "7", "shoe": "s1", "coup": "2", "name": "confirm", "kind": "evidence"}.get(
        name, "x"
    )


def run() -> Done:
    """Try everything as everybody; return the table, AssertionError where something got through."""
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        users, key = house_of_people(folder)
        file = folder / "table.toml"
        file.write_bytes(EXAMPLE.read_bytes())
        broker = opened.enter_context(EmbeddedBroker(0))
        config = with_desk(table_config(broker.port), users, key)
        reader = Reader(broker.port, "7", users)
        opened.callback(reader.hang_up)
        boards = opened.enter_context(
            Boards(
                [config],
                address_of(config),
                {"7": TableEditor(config, file, live_measuring())},
            )
        )
        wait_for(lambda: boards.feed.connected)
        reader.play(overdraw().events[:-1])
        everybody = (ANONYMOUS, *PEOPLE, CROSS)
        clients = {who: _client(boards.server.url, who) for who in everybody}
        for client in clients.values():
            opened.callback(client.close)
        rows = [_row(route, clients) for route in _routes(boards.app)]
        rows += [_order(name, clients) for name in sorted(MAY_ORDER)]
        odd = (_odd(clients[ANONYMOUS]), _guesses(clients[ANONYMOUS]))
        assert file.read_bytes() == EXAMPLE.read_bytes(), "the table file was changed"
    head = f"{'method and route':41}" + "".join(f"{PEOPLE.get(who, who):>14}" for who in everybody)
    tries = sum(count for _, count in (*rows, *odd))
    total = (
        f"{tries} tries; what was not for somebody was refused, "
        "and no answer to nobody held anything but what is public"
    )
    # HEAD is tried too, and answered as GET is.
    lines = (text for text, _ in rows if not text.startswith("HEAD"))
    return Done(tries, "\n".join((head, *lines, *(text for text, _ in odd), total)))


def _client(url: str, who: str) -> httpx.Client:
    """Return a browser; that of another site has a person's cookie, from elsewhere."""
    client = httpx.Client(base_url=url, timeout=20, headers={"Origin": url.rstrip("/")})
    if who != ANONYMOUS:
        name = "Ann" if who == CROSS else who
        answer = client.post("login", json={"name": name, "password": PASSWORD})
        assert answer.status_code == 200, answer.text
    if who == CROSS:
        client.headers["Origin"] = "https://elsewhere.example"
    return client


def _routes(app: Starlette) -> Iterator[tuple[str, str]]:
    """Yield the methods and paths of everything that is served, files of the pages apart."""
    for route in app.routes:
        if isinstance(route, Route) and not route.path.endswith(ASSETS):
            yield from ((method, route.path) for method in sorted(route.methods or ()))


def _row(route: tuple[str, str], clients: dict[str, httpx.Client]) -> tuple[str, int]:
    method, path = route
    text, count = f"{f'{method} {path}':41}", 0
    for who, client in clients.items():
        answers: Counter[int] = Counter()
        # What a person may do by their role is tried elsewhere, and would log them out here.
        if path == "/logout" and who not in (ANONYMOUS, CROSS):
            text += f"{'–':>14}"
            continue
        for address in tries(path):
            status = _ask(client, method, address, who)
            answers[status] += 1
            count += 1
            if who in (ANONYMOUS, CROSS) and path not in PUBLIC:
                allowed = REFUSED if who == ANONYMOUS or method == "POST" else {*REFUSED, 200}
                assert status in allowed, f"{who}: {method} {address[:80]}: {status}"
            assert status < 500 or status == UNAVAILABLE, (
                f"{who}: {method} {address[:80]}: {status}"
            )
        text += f"{_told(answers):>14}"
    return text, count


def _ask(client: httpx.Client, method: str, address: str, who: str) -> int:
    """Return the status, having looked at the first of what came."""
    try:
        with client.stream(method, address.replace("#", "%23"), json=_body(method)) as answer:
            if answer.headers.get("content-type", "").startswith("text/event-stream"):
                first = next(answer.iter_text(), "")
            else:
                first = answer.read().decode("utf-8", "replace")
            if who == ANONYMOUS:
                assert not any(secret in first for secret in SECRETS), f"{address}: {first[:200]}"
            return answer.status_code
    except (httpx.InvalidURL, httpx.RemoteProtocolError):
        return 400


def _body(method: str) -> dict[str, object] | None:
    return {"coup": 2, "places": {}, "reason": MARKUP} if method == "POST" else None


def _told(answers: Counter[int]) -> str:
    return " ".join(f"{code}x{count}" for code, count in sorted(answers.items()))


def _order(name: str, clients: dict[str, httpx.Client]) -> tuple[str, int]:
    """Give an order as everybody; only who may give it may be heard by the reader."""
    text = f"{f'order {name}':41}"
    for who, client in clients.items():
        status = _ask(client, "POST", f"/api/order/7/{name}", who)
        may = PEOPLE.get(who) in MAY_ORDER[name]
        assert (status == 200) if may else (status in (401, 403)), f"{who}: {name}: {status}"
        text += f"{status:>14}"
    return text, len(clients)


def _guesses(client: httpx.Client) -> tuple[str, int]:
    """Guess passwords, of known names and of names that are markup; return a row."""
    answers: Counter[int] = Counter()
    for name in ("Ann", "desk-1", MARKUP, "' OR 1=1 --", "Ann\x00"):
        for password in ("", "Ann", "admin", "password", MARKUP, "' OR 1=1 --", PASSWORD[:-1]):
            answer = client.post("login", json={"name": name, "password": password})
            malformed = not password or not name.isprintable()
            refusals = (400, 429) if malformed else (401, 429)
            assert answer.status_code in refusals, f"{name}: {answer.status_code}"
            assert "set-cookie" not in answer.headers
            answers[answer.status_code] += 1
    return f"log-ins guessed, nobody: {_told(answers)}", answers.total()


def _odd(client: httpx.Client) -> tuple[str, int]:
    """Try what is no route: other methods, paths that climb, foreign files; return a row."""
    answers: Counter[int] = Counter()
    paths = (
        "users.json", "passwords.json", "desk.key", "../users.json", "%2e%2e/users.json", "docs",
        "board.html", "pages/board.html", ".git/config", "openapi.json", "metrics", "api", "api/",
        "api/media/7/clip/x",
    )  # fmt: skip
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"):
        for path in ("", "login", "desk", "events/7", *paths):
            if (method, path) in {("GET", ""), ("GET", "login"), ("GET", "events/7")}:
                continue
            status = _ask(client, method, f"/{path}", ANONYMOUS)
            assert status in REFUSED, f"{method} /{path}: {status}"
            answers[status] += 1
    return f"other methods and paths, nobody: {_told(answers)}", answers.total()
