"""Two readings of an evening are held against each other coup by coup."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.table_log import overdraw, said, write_log
from vision.errors import OutsideError
from vision.floor.reread.evening import (
    CoupThen,
    DifferenceKind,
    align,
    differences,
    evening_of,
    load_evening,
)
from vision.wire.messages import message_line

COUPS = tuple(
    CoupThen("s1", number, number, (f"{rank}c", "2d"), (f"{rank}h", "3s"), "punto", (), "final", "")
    for number, rank in enumerate("A23456789", start=1)
)


def test_equal_readings_have_no_difference() -> None:
    """Nothing is said where both agree; the time at which a result came is no difference."""
    later = [replace(coup, at=coup.at + 5) for coup in COUPS]
    assert differences(COUPS, later) == []


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"winner": "banco"}, DifferenceKind.WINNER),
        ({"punto": ("Ks", "2d")}, DifferenceKind.CARDS),
        ({"faults": ("OVER_B3",)}, DifferenceKind.FAULTS),
        ({"by": "Ann"}, DifferenceKind.CORRECTED),
    ],
)
def test_difference_is_named_by_the_worst(change: dict[str, object], kind: DifferenceKind) -> None:
    """Winner before cards before faults; a correction by a person is said too."""
    then = [*COUPS[:4], replace(COUPS[4], **change), *COUPS[5:]]  # type: ignore[arg-type]
    (found,) = differences(then, COUPS)
    assert (found.kind, found.then, found.now) == (kind, then[4], COUPS[4])


def test_missed_coup_spoils_none_after_it() -> None:
    """A coup that one reading has not is alone; all others have their partners."""
    assert [d.kind for d in differences(COUPS, [*COUPS[:3], *COUPS[4:]])] == [
        DifferenceKind.ONLY_THEN
    ]
    assert [d.kind for d in differences(COUPS[1:], COUPS)] == [DifferenceKind.ONLY_NOW]
    pairs = align(COUPS[2:], COUPS[:-1])
    assert sum(one == other for one, other in pairs) == len(COUPS) - 3


def test_evening_of_a_log_is_that_of_its_messages(tmp_path: Path) -> None:
    """Log and messages file say the same; of a coup counts its last revision."""
    events = overdraw().events
    write_log(tmp_path / "t.sqlite", events)
    text = "".join(f"{message_line(message)}\n" for message in said(events))
    (tmp_path / "t.jsonl").write_text(text, "utf-8")
    evening = load_evening(tmp_path / "t.jsonl")
    assert load_evening(tmp_path / "t.sqlite") == evening
    assert [(coup.coup, coup.winner) for coup in evening.coups] == [(1, "punto"), (2, "punto")]
    assert evening.coups[1].by == "Ann"
    assert evening == evening_of(text.splitlines())


def test_evening_that_is_none_is_refused(tmp_path: Path) -> None:
    """A file of something else is said by name."""
    (tmp_path / "x.jsonl").write_text(
        '{"topic": "a/coup/result", "payload": {"coup": 1}}\n', "utf-8"
    )
    with pytest.raises(OutsideError, match=r"x\.jsonl: not a log"):
        load_evening(tmp_path / "x.jsonl")
