"""What a connection lost is sent again, in order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mqtt.test_publisher import PREFIX
from tests.seen import out
from tests.storage.test_log import HEADER, entry
from vision.mqtt.lanes import Lanes, LiveSource, Load
from vision.storage.log import Store
from vision.wire.messages import Message

NOTHING = Load(0, 0)


@pytest.fixture
def source(tmp_path: Path) -> Iterator[LiveSource]:
    """Give what a table's connection sends: three messages of one topic."""
    with Store(tmp_path / "t.sqlite", HEADER) as store:
        messages = [Message(f"{PREFIX}card", b"{}", 1, True, seq) for seq in (1, 2, 3)]
        store.append([entry(out(1, 1), *messages)])
        yield LiveSource(Lanes(store, PREFIX), lambda: False)


def taken(source: LiveSource, load: Load) -> Message | None:
    """Return the message that a connection with so much in flight gets."""
    parcel = source.next(load)
    return None if parcel is None else parcel.message


def test_what_a_lost_connection_had_in_flight_goes_first(source: LiveSource) -> None:
    """What was in flight is sent anew, before what is newer."""
    lost = [message for load in (NOTHING, Load(1, 2)) if (message := taken(source, load))]
    source.lost(lost)
    again = [taken(source, Load(number, 0)) for number in range(3)]
    assert [message.seq for message in again if message] == [1, 2, 3]
