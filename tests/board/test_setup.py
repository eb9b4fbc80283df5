"""What an engineer does to a table from a page is recorded, and shows nobody but the table."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import cv2
import httpx
import numpy as np
import pytest

from tests.browser.people import PASSWORD, house_of_people, with_desk
from tests.browser.voice import EXAMPLE, Reader, table_config, wait_for
from tests.setup.calibration.laid import good, measuring
from vision.board.desk.setup import DRAWN, Job
from vision.board.desk.table_editor import TableEditor
from vision.board.host.boards import Boards, address_of
from vision.config.table import load
from vision.errors import OutsideError
from vision.mqtt.embedded_broker import EmbeddedBroker
from vision.sight.drawing import STRIP_PX

API = "api/setup/7/"


class Workshop:
    """A table file, its reader, and the engineer's browser."""

    def __init__(self, file: Path, reader: Reader, client: httpx.Client) -> None:
        self.file = file
        self.reader = reader
        self.client = client

    def facts(self, kind: str) -> list[tuple[str, str, str]]:
        """Return person, subject and detail of the facts of a kind in the table's log."""
        found = [one for one in self.reader.events if getattr(one, "kind", "") == kind]
        return [(one.by, one.subject, one.detail) for one in found]  # type: ignore[attr-defined]


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    """Serve a table whose camera shows a bright picture, and log the engineer in."""
    users, key = house_of_people(tmp_path)
    (tmp_path / "pictures").mkdir()
    bright = np.full((1080, 1920, 3), 200, np.uint8)
    cv2.imwrite(str(tmp_path / "pictures" / "1.jpg"), bright)
    file = tmp_path / "table.toml"
    text = EXAMPLE.read_text("utf-8").replace('source = "0"', 'source = "pictures"')
    with EmbeddedBroker(0) as broker:
        file.write_text(text.replace("port = 1883", f"port = {broker.port}"), "utf-8")
        config = load(file)
        seen = {"camera": config.camera, "view": config.view}
        served = with_desk(table_config(broker.port).model_copy(update=seen), users, key)
        reader = Reader(broker.port, "7", users)
        with (
            reader.beating(),
            Boards(
                [served],
                address_of(served),
                {"7": TableEditor(served, file, measuring())},
            ) as boards,
            httpx.Client(base_url=boards.server.url, timeout=300) as client,
        ):
            client.headers["Origin"] = boards.server.url.rstrip("/")
            client.post("login", json={"name": "Di", "password": PASSWORD})
            yield Workshop(file, reader, client)
        reader.hang_up()


def sha256(file: Path) -> str:
    """Return the hash of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_changed_table_file_is_recorded_with_both_hashes(
    workshop: Workshop, caplog: pytest.LogCaptureFixture
) -> None:
    """Who moved which places stands in the log of the table, and in that of the board."""
    caplog.set_level("INFO", "vision")
    before = sha256(workshop.file)
    places = workshop.client.get(f"{API}places").json()
    body = {"version": places["version"], "ways": {"PUNTO_1": [4, 4]}}
    assert workshop.client.post(f"{API}places", json=body).status_code == 200
    after = sha256(workshop.file)
    assert after != before
    wait_for(lambda: workshop.facts("table_file_changed"))
    change = f"sha256 {before} -> sha256 {after}"
    assert workshop.facts("table_file_changed") == [("Di", str(workshop.file), change)]
    assert f"Di wrote the areas of {workshop.file}" in caplog.text


def test_drift_is_shown_and_taken_over_by_one_request(workshop: Workshop) -> None:
    """The numbers of CAMERA_MOVED give the areas as they would be, and then those in the file."""
    numbers = "1.05 1.0 12 -8 0"
    shown = workshop.client.get(f"{API}places", params={"moved": numbers}).json()
    was = np.array(shown["places"]["PUNTO_1"])
    assert np.abs(was - shown["proposed"]["PUNTO_1"]).max() > 5
    body = {"version": shown["version"], "moved": numbers}
    assert workshop.client.post(f"{API}places", json=body).status_code == 200
    now = workshop.client.get(f"{API}places").json()
    assert np.abs(np.subtract(now["places"]["PUNTO_1"], shown["proposed"]["PUNTO_1"])).max() < 0.3
    for wrong in ("1 2 3", "1 1 nan 0 0", "0 1 0 0 0", "1 1 9000 0 0"):
        body = {"version": now["version"], "moved": wrong}
        assert workshop.client.post(f"{API}places", json=body).status_code == 400
    assert workshop.client.get(f"{API}places").json() == now


def test_way_out_of_the_shoe_is_dragged(workshop: Workshop) -> None:
    """The arrowhead before the mouth says where cards leave to; it goes with the mouth."""
    there = load(workshop.file).view.exit_mm
    assert there is not None
    places = workshop.client.get(f"{API}places").json()
    for ways in ({"EXIT": [0, 30]}, {"MOUTH": [-9, 0]}):
        body = {"version": places["version"], "ways": ways}
        assert workshop.client.post(f"{API}places", json=body).status_code == 200
        places = workshop.client.get(f"{API}places").json()
    now = load(workshop.file).view.exit_mm
    assert now is not None
    assert now[1] - there[1] > 10
    assert now[0] - there[0] < -3


def test_what_the_running_reader_sees_is_shown(workshop: Workshop) -> None:
    """The picture is the reader's own, since it has the camera; before its first there is none."""
    job = Job()
    with pytest.raises(OutsideError, match="no picture yet"):
        job.picture()
    bright = str(workshop.file.parent / "pictures" / "1.jpg")
    words = ["run", str(workshop.file), "--source", bright, "--fast", "--no-broker"]
    assert job.start("run", [*words, "--log", f"{workshop.file}.sqlite", "--draw", DRAWN])
    wait_for(lambda: not job.running, 300.0)
    drawn = cv2.imdecode(np.frombuffer(job.picture(), np.uint8), cv2.IMREAD_COLOR)
    assert drawn is not None
    assert drawn.shape == (540 + STRIP_PX, 960, 3)
    assert drawn[4, 4].max() < 30  # beyond the layout


def test_command_that_is_run_is_recorded(workshop: Workshop) -> None:
    """By whom, and which."""
    assert workshop.client.post(f"{API}job/check").status_code == 200
    workshop.client.post(f"{API}job/stop")
    wait_for(lambda: len(workshop.facts("job_run")) == 2)
    assert [(by, what) for by, what, _ in workshop.facts("job_run")] == [
        ("Di", "check"),
        ("Di", "stop"),
    ]


def test_live_picture_shows_the_layout_alone_and_is_recorded(workshop: Workshop) -> None:
    """Guests beyond the layout are black; that somebody looked is recorded once in a while."""
    pictures = [workshop.client.get(f"{API}picture/live") for _ in range(2)]
    assert [one.status_code for one in pictures] == [200, 200]
    image = cv2.imdecode(np.frombuffer(pictures[0].content, np.uint8), cv2.IMREAD_GRAYSCALE)
    assert image is not None
    hull = cv2.convexHull(load(workshop.file).view.outline_px())
    inside = cv2.fillConvexPoly(np.zeros_like(image), np.rint(hull).astype(np.int32), 255) > 0
    near = cv2.dilate(inside.astype(np.uint8), np.ones((9, 9))) > 0  # JPEG smears an edge
    assert np.median(image[inside]) > 190
    assert (~near).mean() > 0.02
    assert image[~near].max() < 30
    wait_for(lambda: workshop.facts("live_view_seen"))
    assert workshop.facts("live_view_seen") == [("Di", "picture live", "")]


def test_house_rules_are_chosen_on_the_page(workshop: Workshop) -> None:
    """Which sheet, how it is dealt and what guests are shown: written, recorded, read back."""
    rules = workshop.client.get(f"{API}house").json()
    assert rules["profiles"]["commission"].startswith("Baccarat with commission: 8 decks")
    chosen = {"profile": "commission", "dealing": "face-down", "least": 10, "currency": "EUR"}
    assert workshop.client.post(f"{API}house", json=chosen).json()["asked"]
    config = load(workshop.file)
    assert (config.profile, config.dealing) == ("commission", "face-down")
    assert (config.wagers.least, config.wagers.greatest, config.wagers.currency) == (
        10,
        None,
        "EUR",
    )
    wait_for(lambda: workshop.facts("table_file_changed"))
    assert workshop.facts("table_file_changed") == [("Di", str(workshop.file), "house rules")]


def test_house_rules_that_cannot_be_are_refused(workshop: Workshop) -> None:
    """The file stays as it was, and the reason names the key."""
    before = sha256(workshop.file)
    wrong = {"profile": "commission", "dealing": "face-up", "least": 10, "greatest": 5}
    answer = workshop.client.post(f"{API}house", json=wrong)
    assert answer.status_code == 400
    assert "greatest: is 5, less than least" in answer.json()["why"]
    assert sha256(workshop.file) == before


def test_table_is_measured_by_the_cards_that_lie_on_it(workshop: Workshop) -> None:
    """What is wrong is said; at rest and right it is saved, with a picture of the bare layout."""
    text = workshop.file.read_text("utf-8")
    without = re.sub(r"\n\[view\].*?(?=\n\[(?!view))", "\n", text, flags=re.DOTALL)
    workshop.file.write_text(re.sub(r"(?m)^layout = .*\n", "", without), "utf-8")
    client, picture = workshop.client, workshop.file.parent / "pictures" / "1.jpg"
    assert client.get(f"{API}places").json()["places"] == {}
    assert [one["name"] for one in client.get(f"{API}gauges").json()] == ["light", "focus"]
    found = client.get(f"{API}cards").json()
    assert (found["seen"], found["places"]) == ({}, {})
    assert "the ace of spades is not seen: lay it on Punto's first place" in found["faults"][0]
    assert client.post(f"{API}places", json={"laid": True}).status_code == 400
    cv2.imwrite(str(picture), cv2.resize(good(), (1920, 1080), interpolation=cv2.INTER_CUBIC))

    def lies_right() -> bool:
        found = client.get(f"{API}cards").json()
        return found["faults"] == [] and found["at_rest"]

    wait_for(lies_right, seconds=600)
    assert client.post(f"{API}places", json={"laid": True}).status_code == 200
    view = load(workshop.file).view
    assert Path(view.layout).exists()
    assert view.card_mm == (63.0, 88.0)
    assert len(client.get(f"{API}places").json()["places"]) == 9  # with the exit
    assert client.get(f"{API}picture/stored").status_code == 200
    wait_for(lambda: workshop.facts("table_file_changed"))


def test_areas_that_cannot_be_right_are_refused(workshop: Workshop) -> None:
    """A slot on another, or out of the picture, is not saved; the words name it."""
    places = workshop.client.get(f"{API}places").json()
    before = workshop.file.read_bytes()
    one, two = (np.mean(places["places"][name], axis=0) for name in ("PUNTO_1", "PUNTO_2"))
    for way, words in (((one - two).tolist(), "lies on"), ([-900, 0], "outside the picture")):
        body = {"version": places["version"], "ways": {"PUNTO_2": way}}
        answer = workshop.client.post(f"{API}places", json=body)
        assert (answer.status_code, words in answer.json()["why"]) == (400, True), answer.text
    assert workshop.file.read_bytes() == before
