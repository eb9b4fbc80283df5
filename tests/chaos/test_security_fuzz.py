"""Random and mutated orders, table files, profiles and users files: refused in words, or sound.

A short form runs with the tests; `python -m tests.chaos.test_security_fuzz 100000` runs as many of
each kind as it is told (a tenth of the files) and prints what came of them.
"""

from __future__ import annotations

import json
import math
import random
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from tests.chaos.outcome import Done, LimitBrokenError, rounds
from tests.schemas import schema
from tests.table_log import header, session_of
from vision.access.command_gate import Gate
from vision.access.users import Credential, User, Users, load_users, save_users
from vision.config.profiles import load_profile
from vision.config.table import TableConfig, load
from vision.errors import ConfigurationError
from vision.game.commands import Command
from vision.game.fold.commands import refusal as refused_by_table
from vision.record.codec import canonical, event_from_json, event_to_json, fields_of
from vision.wire.commands import COMMANDS, RefusedError, order_fields, read_command

ROOT = Path(__file__).parents[2]
PREFIX = "casino/house/table/7/cmd/"
NOON = 1_700_000_000_000
LONGEST_S = 2.0  # of processor, for one input; what waits for ever is ended by the time limit

BYTES = (b"", b"\0", b"\xff", b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\u0000", b"\\",
         b"1e999", b"-1", b"NaN", b"null", b"true", b'"by"', b"\xed\xa0\x80", b"\xe2\x80\xae",
         b"\n", b"'''")  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**53, 10**30, 1.5, float("inf"), "", "Ann", "inspector",
    "PUNTO_3", "As", "punto", "x" * 300, "a\nb", "\u202e", "\ud800", "../../x", "#", "+/#", [], [1],
    {}, {"a": {"b": 1}}, "2026-01-01T00:00:00.000Z", "9999-99-99T99:99:99.999Z", "0" * 128,
)  # fmt: skip


@dataclass
class Tally:
    """What came of the inputs of one kind."""

    ends: Counter[str] = field(default_factory=Counter)
    longest_s: float = 0.0

    def time(self, act: Callable[[], str]) -> None:
        """Count how an input ended, and how long it took at most."""
        began = time.process_time()
        self.ends[act()] += 1
        self.longest_s = max(self.longest_s, time.process_time() - began)

    def __str__(self) -> str:
        ends = ", ".join(f"{count} {end}" for end, count in self.ends.most_common())
        return (
            f"{self.ends.total()} inputs: {ends}; the longest took {1000 * self.longest_s:.1f} ms"
        )


def refused(error: Exception, where: str = "") -> str:
    """Say that an input was refused, in words that name the file."""
    assert str(error)
    assert where in str(error)
    return "refused"


def mutated(data: bytes, dice: random.Random) -> bytes:
    """Return the bytes with a few of them changed, taken out, doubled, or nasty ones put in."""
    for _ in range(dice.randint(1, 4)):
        at, end = sorted(dice.randint(0, len(data)) for _ in range(2))
        end = min(end, at + dice.choice((1, 1, 4, 40)))
        piece = dice.choice((data[at:end] * 2, dice.choice(BYTES), dice.randbytes(end - at)))
        data = data[:at] + piece + data[end:]
    return data


def nested(dice: random.Random) -> bytes:
    """Return brackets within brackets, deeper than a parser would like."""
    return dice.choice((b"[", b'{"a":', b"[[", b'{"":[')) * dice.choice((10, 1_000, 8_000))


# --- orders --------------------------------------------------------------------------------------


class Orders:
    """A gate, and orders that pass it, to be spoiled."""

    def __init__(self, folder: Path, dice: random.Random) -> None:
        self.dice = dice
        self.keys = {name: Credential.new(name) for name in ("Ann", "desk", "system")}
        roles: dict[str, Any] = {
            "Ann": ("dealer", "inspector"),
            "desk": ("inspector",),
            "system": ("house",),
        }
        users = {
            name: User(roles=roles[name], key=key.public, may_act_for=name == "desk")
            for name, key in self.keys.items()
        }
        save_users(folder / "users.json", Users(users=users))
        self.gate = Gate(PREFIX, folder / "users.json", 30_000, lambda: (NOON,))

    def good(self) -> tuple[str, dict[str, Any]]:
        """Return an order that is signed by somebody, with fields that may or may not be sound."""
        name = self.dice.choice(sorted(CONTRACTS))
        sound = {"by": "Ann", "role": "inspector", "coup": 3, "slot": "PUNTO_3", "card": "As",
                 "source": "PUNTO_1", "target": "BANCO_1", "shoe": "12", "alert": "a1",
                 "remedy": "R1", "winner": "punto"}  # fmt: skip
        own = {field.name for field in fields_of(COMMANDS[name])}
        fields = {key: value for key, value in sound.items() if key in own}
        key = self.dice.choice(("Ann", "desk")) if "by" in fields else "system"
        return name, self.keys[key].sign(PREFIX + name, fields, NOON)

    def spoiled(self) -> tuple[str, bytes, dict[str, Any]]:
        """Return an order's name, its payload spoiled in one of many ways, and what was signed."""
        name, fields = self.good()
        whole = json.dumps(fields).encode()
        ways: tuple[Callable[[], bytes], ...] = (
            lambda: mutated(whole, self.dice),
            lambda: self.dice.randbytes(self.dice.randint(0, 300)),
            lambda: json.dumps({**fields, self._key(fields): self.dice.choice(VALUES)}).encode(),
            lambda: json.dumps(
                {k: v for k, v in fields.items() if k != self._key(fields)}
            ).encode(),
            lambda: nested(self.dice) + whole,
            lambda: whole * self.dice.choice((2, 50)),
            lambda: whole.replace(b"{", b'{"by":"Eve",', 1),
            lambda: whole.decode().encode(self.dice.choice(("utf-16", "utf-8-sig", "utf-32"))),
        )
        return name, self.dice.choice(ways)(), fields

    def _key(self, fields: dict[str, Any]) -> str:
        return self.dice.choice([*fields, "x", "at", "is", "reason", "ref"])

    def try_one(self) -> str:
        """Bring a spoiled order to the gate: what it admits is, field by field, what was signed."""
        name, payload, fields = self.spoiled()
        try:
            read = order_fields(payload)
            self.gate.admit(self.gate.verify(name, read))
        except RefusedError as error:
            return refused(error)
        assert read == fields
        return "admitted, unchanged"

    def try_form(self) -> str:
        """Read fields as if signed: what is accepted keeps to the schema and survives the log."""
        name, fields = self.good()
        for _ in range(self.dice.randint(0, 3)):
            fields[self._key(fields)] = self.dice.choice(VALUES)
        try:
            read = order_fields(json.dumps(fields).encode())
            event = read_command(name, read, NOON)
        except RefusedError as error:
            return refused(error)
        proof = {"key": "Ann", "nonce": "0" * 16, "time": VALUES[-3], "sig": "0" * 128}
        if not CONTRACTS[name].is_valid({**fields, **proof}):
            # What depends on the order is refused by the table, with an answer: a hold's reason.
            assert isinstance(event, Command), fields
            assert refused_by_table(UNTOUCHED, event), fields
            return "refused"
        assert event_from_json(json.loads(canonical(event_to_json(event)))) == event
        return "accepted, as the schema has it"


UNTOUCHED = session_of(header()).table  # a table at which nothing has happened yet
CONTRACTS = {
    name: Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": schema("cmd")["$defs"]})
    for name in COMMANDS.keys() & schema("cmd")["$defs"].keys()
}


# --- files ---------------------------------------------------------------------------------------


def spoiled_text(text: str, dice: random.Random) -> bytes:
    """Return a TOML or JSON file spoiled: bytes mutated, lines shuffled, values replaced."""
    lines = text.splitlines()
    at = dice.randrange(len(lines))
    values = ("nan", "inf", "-1", "1e400", "true", '""', "[]", "{}", "[[1,2],[3,4]]", '"x"', "0x7f",
              "1979-05-27T07:32:00Z", '"\\u202e"', "9" * 5000, "[" * 3000)  # fmt: skip
    ways: tuple[Callable[[], bytes], ...] = (
        lambda: mutated(text.encode(), dice),
        lambda: dice.randbytes(dice.randint(0, 2000)),
        lambda: "\n".join(dice.sample(lines, len(lines))).encode(),
        lambda: "\n".join(lines[:at] + lines[at + 1 :]).encode(),
        lambda: "\n".join(
            [*lines[:at], _revalued(lines[at], dice.choice(values)), *lines[at + 1 :]]
        ).encode(),
        lambda: text.encode() + b"\nx = " + nested(dice),
    )
    return dice.choice(ways)()


def _revalued(line: str, value: str) -> str:
    key, equals, _ = line.partition("=")
    return f"{key}= {value}" if equals else value


def is_finite(value: object) -> bool:
    """Whether all numbers within are finite."""
    if isinstance(value, dict):
        return all(map(is_finite, value.values()))
    if isinstance(value, list | tuple):
        return all(map(is_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def try_table_file(path: Path, dice: random.Random) -> str:
    """Load a spoiled table file: what is accepted is sound, and the same when loaded again."""
    path.write_bytes(spoiled_text((ROOT / "deploy" / "table.example.toml").read_text(), dice))
    try:
        config = load(path)
    except ConfigurationError as error:
        return refused(error, str(path))
    assert is_finite(config.model_dump())
    assert TableConfig.model_validate(tomllib.loads(path.read_text("utf-8"))).table == config.table
    return "accepted, sound"


def try_profile(path: Path, dice: random.Random) -> str:
    """Load a spoiled profile: what is accepted is a game that can be dealt."""
    profiles = sorted((ROOT / "vision" / "game" / "profiles").glob("*.toml"))
    path.write_bytes(spoiled_text(dice.choice(profiles).read_text("utf-8"), dice))
    load_profile.cache_clear()
    try:
        rules = load_profile(str(path)).rules
    except ConfigurationError as error:
        return refused(error)
    assert 1 <= rules.decks <= 16
    return "accepted, a game"


def try_users_file(path: Path, dice: random.Random, text: str) -> str:
    """Load a spoiled users file: whoever is in it has roles and a key that is one, or none."""
    path.write_bytes(spoiled_text(text, dice))
    path.chmod(0o600)
    try:
        users = load_users(path)
    except ConfigurationError as error:
        return refused(error, str(path))
    assert all(user.roles and len(user.key) in (0, 64) for user in users.users.values())
    return "accepted, sound"


def fuzz(
    folder: Path, orders: int, files: int, seed: int, seconds: float = math.inf
) -> Iterator[tuple[str, Tally]]:
    """Try so many orders and files, each kind at most so long; yield what came of each kind."""
    dice = random.Random(seed)
    house = Orders(folder, dice)
    text = (folder / "users.json").read_text()
    table, profile, users = folder / "table.toml", folder / "rules.toml", folder / "u.json"
    kinds: dict[str, tuple[int, Callable[[], str]]] = {
        "signed orders, spoiled": (orders, house.try_one),
        "fields of orders": (orders, house.try_form),
        "table files": (files, lambda: try_table_file(table, dice)),
        "profiles": (files, lambda: try_profile(profile, dice)),
        "users files": (files, lambda: try_users_file(users, dice, text)),
    }
    for name, (count, act) in kinds.items():
        tally = Tally()
        for _ in rounds(count, seconds):
            tally.time(act)
        yield name, tally


def test_spoiled_input_is_refused_in_words_or_sound(tmp_path: Path) -> None:
    """No crash, no hang, no accepted nonsense; and both ends are really reached."""
    for name, tally in fuzz(tmp_path, orders=1500, files=150, seed=5):
        assert tally.longest_s < LONGEST_S, name
        assert tally.ends["refused"] > 0, name
        assert len(tally.ends) == 2, (name, tally.ends)


def run(count: int, seconds: float = math.inf) -> Done:
    """Try `count` orders of each kind, and a tenth as many files, each kind at most so long."""
    lines, tries = [], 0
    seed = random.SystemRandom().randrange(2**32)
    with tempfile.TemporaryDirectory() as folder:
        for name, tally in fuzz(Path(folder), count, count // 10, seed, seconds):
            lines.append(f"{name}: {tally}")
            tries += tally.ends.total()
            if tally.longest_s >= LONGEST_S:
                raise LimitBrokenError(f"{lines[-1]}; seed {seed}", late=1)
    return Done(tries, "\n".join([*lines, f"seed {seed}"]))


if __name__ == "__main__":
    print(run(int(sys.argv[1]) if sys.argv[1:] else 100_000).words)
