"""The figures of following are those of the field, and every tracker gets what the others get."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vision.sight.geometry.plane import Frame, Points

pytestmark = pytest.mark.train
tracking = pytest.importorskip("models.evaluate.tracking", exc_type=ImportError)

BLANK = np.zeros((90, 160, 3), np.uint8)


def card(x: float) -> Points:
    """Return the outline of a card with its left edge at x."""
    return np.array([[x, 10], [x + 20, 10], [x + 20, 40], [x, 40]], np.float32)


def figures(boxes_of: dict[int, dict[int, float]], *, others: tuple[float, ...] = ()) -> Any:
    """Return the figures of two cards, at 10 and 60 px, that lie for ten frames.

    `boxes_of` gives the boxes of each frame, by track, from a frame on.
    """
    reported = tracking.Sequences()
    boxes: dict[int, float] = {}
    for index in range(10):
        boxes = boxes_of.get(index, boxes)
        instant = tracking.Instant(
            Frame(BLANK, 100 * index, index), {7: card(10), 9: card(60)}, [card(x) for x in others]
        )
        reported.add(instant, {track: card(x) for track, x in boxes.items()}, complete=True)
    return reported.figures()


def test_figures_of_a_faultless_tracker_are_whole() -> None:
    """Two cards, two tracks: nothing is lost and nothing switched."""
    found = figures({0: {1: 10, 2: 60}})
    assert found["Identity"]["IDF1"] == pytest.approx(1)
    assert np.mean(found["HOTA"]["HOTA"]) == pytest.approx(1)
    assert found["CLEAR"]["IDSW"] == 0


def test_figures_of_exchanged_cards_count_two_switches() -> None:
    """Two tracks that exchange their cards halfway are right in where, and wrong in who."""
    found = figures({0: {1: 10, 2: 60}, 5: {1: 60, 2: 10}})
    assert found["CLEAR"]["IDSW"] == 2
    assert found["Identity"]["IDF1"] == pytest.approx(0.5)
    assert np.mean(found["HOTA"]["DetA"]) == pytest.approx(1)


def test_figures_count_a_box_on_the_felt_and_not_one_on_a_card_in_the_mouth() -> None:
    """What lies where nobody asks is left out; what is nowhere a card is false."""
    boxes: dict[int, dict[int, float]] = {0: {1: 10, 2: 60, 3: 110}}
    assert figures(boxes, others=(112,))["CLEAR"]["CLR_FP"] == 0
    assert figures(boxes)["CLEAR"]["CLR_FP"] == 10


@pytest.mark.nightly
def test_command_measures_all_trackers_on_a_dealt_film(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On one easy coup every tracker keeps its cards apart; a second run needs no detector."""
    words = ["--simulated", "1", "--coups", "1", "--size", "640x360", "--fps", "8"]
    tracking.main([*words, "--cache", str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    rows = {line.split("|")[1].strip(): line.split("|")[2:-1] for line in lines[3:]}
    assert set(rows) > {"this follower", "ByteTrack", "BoT-SORT"}
    for row in rows.values():
        idf1, hota = float(row[0]), float(row[1])
        assert 0.4 < idf1 <= 1
        assert 0.6 < hota <= 1
    assert float(rows["this follower"][4]) == 0
    stored = next(tmp_path.glob("detections-*.json")).read_text("utf-8")
    assert stored.count("face") > 20


def test_command_without_films_says_what_to_give(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No film, no table: the message names both ways."""
    (tmp_path / "film.mp4").write_bytes(b"")
    for words in ([], [str(tmp_path)]):
        with pytest.raises(SystemExit):
            tracking.main(words)
        assert "give --simulated 3, or a folder" in capsys.readouterr().err
