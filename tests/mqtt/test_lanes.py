"""A live connection and its spare send from the same lanes, and never out of order."""

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
    """Give what a table's connections send: three messages of one topic."""
    with Store(tmp_path / "t.sqlite", HEADER) as store:
        messages = [Message(f"{PREFIX}card", b"{}", 1, True, seq) for seq in (1, 2, 3)]
        store.append([entry(out(1, 1), *messages)])
        yield LiveSource(Lanes(store, PREFIX), lambda: False)


def taken(source: LiveSource, load: Load) -> Message | None:
    """Return the message that a connection with so much in flight gets."""
    parcel = source.next(load)
    return None if parcel is None else parcel.message


def test_message_waits_while_an_older_one_is_in_flight_on_the_other_connection(
    source: LiveSource,
) -> None:
    """Two nodes may pass them on in the other order, and consumers drop what is older."""
    first = taken(source, NOTHING)
    assert first is not None
    assert source.topics_in_flight() == {f"{PREFIX}card"}
    assert taken(source, NOTHING) is None  # the other connection: it has nothing in flight
    second = taken(source, Load(1, 2))  # the same connection may go on
    assert second is not None
    source.acknowledge([first, second])
    assert source.topics_in_flight() == frozenset()
    third = taken(source, NOTHING)
    assert third is not None
    assert [m.seq for m in (first, second, third)] == [1, 2, 3]


def test_what_a_lost_connection_had_in_flight_goes_first_by_the_other(source: LiveSource) -> None:
    """What was in flight is sent anew, before what is newer."""
    lost = [message for load in (NOTHING, Load(1, 2)) if (message := taken(source, load))]
    source.lost(lost)
    again = [taken(source, Load(number, 0)) for number in range(3)]
    assert [message.seq for message in again if message] == [1, 2, 3]
