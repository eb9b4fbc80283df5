"""A second person vouches at a desk for what cannot be undone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.board.hall import Hall, opened
from tests.browser.people import PASSWORD
from tests.table_log import overdraw
from vision.game.commands import VoidCoup


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    """Serve desks of a table that asks for second persons."""
    with opened(tmp_path, second_person="auto") as found:
        found.reader.play(overdraw().events[:24])
        yield found


@pytest.mark.parametrize(
    ("second", "status", "words"),
    [
        ({"name": "Ann", "password": PASSWORD}, 403, "another one"),
        ({"name": "Cy", "password": "no such words"}, 403, "wrong name or password"),
        ({"name": "Bo", "password": PASSWORD}, 403, "not for the role dealer"),
        ({"name": "Cy"}, 403, "name and password"),
        ("Cy", 403, "name and password"),
        (None, 200, "a second, an inspector or surveillance, must vouch"),
    ],
)
def test_order_that_nobody_else_vouches_for_is_refused(
    hall: Hall, second: object, status: int, words: str
) -> None:
    """The page asks again, whatever was wrong; the first person stays logged in."""
    with hall.client("Ann") as client:
        fields: dict[str, Any] = {"coup": 2, **({"second": second} if second else {})}
        answer = client.post("api/order/7/void_coup", json=fields)
        assert (answer.status_code, answer.json()["ask"]) == (status, "second")
        assert words in answer.json()["why"]
        assert client.get("me").status_code == 200
    assert hall.recorded("VoidCoup") == []


def test_order_that_a_second_person_vouches_for_is_carried_out(hall: Hall) -> None:
    """With the password of the other, at the same desk."""
    with hall.client("Ann") as client:
        second = {"name": "Cy", "password": PASSWORD}
        answer = client.post("api/order/7/void_coup", json={"coup": 2, "second": second})
        assert answer.json() == {"accepted": True, "why": ""}
    assert [type(one) for one in hall.recorded("VoidCoup")] == [VoidCoup]
