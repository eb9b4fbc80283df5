"""Any bytes on any topic to every consumer of messages: each costs itself only.

`python -m tests.chaos.message_fuzz --messages 100000` makes messages from the published schemas and
by mutation of what a reader says, gives them to archive, boards, desk, lease, standby and
replays, and a true result behind each few, which must be there. It prints messages tried, crashes
and batches lost, and ends with 1 where there was any.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from tests.chaos.test_security_fuzz import VALUES, mutated, nested
from tests.floor.pair.test_lease import LENGTH_S
from tests.floor.pair.test_lease import Store as LeaseMemory
from tests.mqtt.endpoints import endpoint_at
from tests.schemas import SCHEMAS, schema
from tests.table_log import PLAYS, said
from tests.wire.odd_messages import FRAME, ODD, RESULT
from vision.board.desk.history import History
from vision.board.feed import Feed
from vision.board.rights import DESK_TOPICS, desk_part
from vision.errors import OutsideError
from vision.floor.pair.house_store import HouseStore
from vision.floor.pair.lease import Lease
from vision.floor.pair.shared_log import batch_from
from vision.wire.commands import order_fields, read_range
from vision.wire.form import FormError
from vision.wire.messages import iso

TABLE, SITE = "7", "house"
PREFIX = f"casino/{SITE}/table/{TABLE}/"
NOW = 1_800_000_000_000
AT_ONCE = 20  # messages before each true result, as a broker gives them
TRUE_FROM = 10**12  # numbers of the true results: far from those of the false ones
TRUE_SHOE = "true"
SEEDS = [(m.topic.removeprefix(PREFIX), m.payload) for m in said(PLAYS["overdraw"]().events)]
TOPICS = (
    "status", "shoe", "card", "coup/live", "coup/result", "roads", "alert", "alert/a1", "evidence",
    "anchor", "health", "cmd/reply", "cmd/void_coup", "cmd/replay", "cmd/sing", "coup/none", "",
    "replay/public/coup/result", "replay/restricted/alert/a1", "replay/other/x", "evidence/e1",
)  # fmt: skip

Said = tuple[str, bytes]


# --- messages -------------------------------------------------------------------------------------


def value_of(part: Any, whole: dict[str, Any], dice: random.Random) -> Any:
    """Return a value of a schema's part; one in ten is none of it."""
    if not isinstance(part, dict) or dice.random() < 0.1:
        return dice.choice(VALUES)
    if "$ref" in part:
        return value_of(whole["$defs"][part["$ref"].rsplit("/", 1)[-1]], whole, dice)
    for name in ("anyOf", "oneOf"):
        if name in part:
            return value_of(dice.choice(part[name]), whole, dice)
    if "const" in part or "enum" in part:
        return part["const"] if "const" in part else dice.choice(part["enum"])
    kinds = part.get("type", "null")
    kind = dice.choice(kinds) if isinstance(kinds, list) else kinds
    return _of_kind(kind, part, whole, dice)


def _of_kind(kind: str, part: dict[str, Any], whole: dict[str, Any], dice: random.Random) -> Any:
    low, high = part.get("minimum", 0), part.get("maximum", 2**40)
    if kind == "object":
        names = [name for name in part.get("properties", {}) if dice.random() < 0.95]
        return {name: value_of(part["properties"][name], whole, dice) for name in names}
    if kind == "array":
        return [value_of(part.get("items"), whole, dice) for _ in range(dice.randint(0, 4))]
    if kind == "integer":
        return dice.choice((low, high, high + 1, low - 1, dice.randint(int(low), int(high))))
    return {
        "number": dice.uniform(low, high),
        "boolean": dice.random() < 0.5,
        "string": dice.choice((iso(NOW), "s1", "b1", "As", "a" * dice.choice((1, 64, 3000)))),
    }.get(kind)


def made(dice: random.Random) -> Said:
    """Return a message made in one of many ways."""
    topic, payload = dice.choice(SEEDS)
    ways: tuple[Callable[[], Said], ...] = (
        lambda: (dice.choice(TOPICS), _from_schema(dice)),
        lambda: (topic, mutated(payload, dice)),
        lambda: (topic, _changed(payload, dice)),
        lambda: (dice.choice(TOPICS), payload),
        lambda: (dice.choice(TOPICS), dice.randbytes(dice.randint(0, 200))),
        lambda: (dice.choice(TOPICS), nested(dice)),
        lambda: dice.choice(tuple(ODD.values())),
    )
    return dice.choice(ways)()


def _from_schema(dice: random.Random) -> bytes:
    name = dice.choice(NAMES)
    content = value_of(schema(name), schema(name), dice)
    if isinstance(content, dict) and dice.random() < 0.8:
        content = {**content, **FRAME, "seq": dice.randint(0, 500)}
    return json.dumps(content).encode()


NAMES = sorted(p.name.removesuffix(".json") for p in SCHEMAS.iterdir() if p.name.endswith(".json"))


def _changed(payload: bytes, dice: random.Random) -> bytes:
    if not payload:
        return b"null"
    content = json.loads(payload)
    for _ in range(dice.randint(1, 3)):
        content[dice.choice([*content, "new", "term", "counted"])] = dice.choice(VALUES)
    return json.dumps(content).encode()


def true_result(number: int) -> bytes:
    """Return the true result of that number."""
    own = {"seq": TRUE_FROM + number, "shoe": TRUE_SHOE, "coup": number % 1_000_000 + 1}
    return json.dumps({**FRAME, **RESULT, **own, "boot": "true", "at": iso(NOW + number)}).encode()


def true_health(number: int) -> bytes:
    """Return what the true reader says of itself every second."""
    own = {"seq": TRUE_FROM + number, "boot": "true", "at": iso(NOW + number)}
    return json.dumps({**FRAME, **own, "fps": 15.0}).encode()


# --- consumers ------------------------------------------------------------------------------------


class Boards:
    """The feed of a desk, and its history."""

    def __init__(self) -> None:
        self.history = History()
        self.feed = Feed(
            endpoint_at(port=1), {TABLE: PREFIX}, DESK_TOPICS, reduce=desk_part,
            recorder=self.history.record,
        )  # fmt: skip

    def take(self, batch: list[Said], number: int) -> bool:
        """Hear a batch with a true result behind it; return whether a board shows the result."""
        said = [*batch, ("health", true_health(number)), ("coup/result", true_result(number))]
        for topic, payload in said:
            heard = SimpleNamespace(topic=PREFIX + topic, payload=payload, retain=False)
            with suppress(FormError):  # what is refused by its form is counted, as `receive` does
                self.feed._on_message(heard)  # type: ignore[arg-type]
        for update in self.feed._states[TABLE]:
            update.text.encode()
        if number % 20 == 0:
            for shoe in self.history.shoes(TABLE):
                json.dumps(self.history.shoe(TABLE, shoe["shoe"])).encode()
            self.history.search({})
        shown = {update.key: update.payload for update in self.feed._states[TABLE]}
        result = shown.get(f"coup/result#{number + 1}")
        return result is not None and result["shoe"] == TRUE_SHOE

    def end(self) -> Iterator[str]:
        """Yield nothing."""
        return iter(())


class Standby:
    """What a reader of a pair reads of the house's store, and requests of other consumers."""

    def __init__(self) -> None:
        self.store = LeaseMemory()
        self.holder, self.other = (
            Lease(cast("HouseStore", self.store), node, LENGTH_S) for node in "ab"
        )
        self.holder.turn()

    def take(self, batch: list[Said], number: int) -> bool:
        """Read a batch, then the holder's lease; return whether both know who holds it."""
        for _, payload in batch:
            self.store.data, self.store.revision = payload, self.store.revision + 1
            self.other.turn()
            for read in (batch_from, order_fields, lambda data: read_range(order_fields(data), 9)):
                try:
                    read(payload)
                except (OutsideError, ValueError):
                    continue
        for _ in range(2):
            self.holder.turn()
        self.other.turn()
        return not self.holder.lost and self.holder.seen == self.other.seen

    def end(self) -> Iterator[str]:
        """Yield nothing."""
        return iter(())


@dataclass
class Found:
    """What came of the messages that one consumer was given."""

    messages: int = 0
    batches: int = 0
    lost: int = 0
    crashes: list[str] = field(default_factory=list)


def fuzz(consumers: dict[str, Any], messages: int, seed: int) -> dict[str, Found]:
    """Give each consumer so many messages; return what came of them."""
    dice = random.Random(seed)
    found = {name: Found() for name in consumers}
    for number in range(-(-messages // AT_ONCE)):
        batch = [made(dice) for _ in range(AT_ONCE)]
        for name, consumer in consumers.items():
            one = found[name]
            one.messages += len(batch)
            one.batches += 1
            try:
                one.lost += not consumer.take(batch, number)
            except Exception:  # noqa: BLE001  # whatever it is, it is counted and shown
                one.crashes.append(traceback.format_exc())
    for name, consumer in consumers.items():
        found[name].crashes += list(consumer.end())
    return found


def consumers_in(folder: Path, stack: ExitStack) -> dict[str, Any]:
    """Return all consumers, PostgreSQL where there is one."""
    found: dict[str, Any] = {
        "boards and desk": Boards(),
        "standby and replays": Standby(),
    }
    return found


def main() -> int:
    """Fuzz all consumers, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    args = parser.parse_args()
    logging.disable(logging.CRITICAL)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        found = fuzz(consumers_in(folder, stack), args.messages, args.seed)
    for name, one in found.items():
        print(
            f"{name}: {one.messages} messages in {one.batches} batches, crashes "
            f"{len(one.crashes)}, batches lost {one.lost}"
        )
        print("".join(one.crashes[:3]), end="")
    print(f"seed {args.seed}")
    return int(any(one.crashes or one.lost for one in found.values()))


if __name__ == "__main__":
    sys.exit(main())
