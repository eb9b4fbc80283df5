"""Model cards: what a model file is and what it was measured to do, written by the measurement."""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

# The folder of the shipped files and their cards: `models/`.
SHIPPED = Path(__file__).parents[1]
# Of a network of our own.
LICENCE = "Apache-2.0; trained without ultralytics"


def checkpoint_file(text: str) -> Path:
    """Return the path of a checkpoint, for `argparse`; ArgumentTypeError if there is none.

    A default is checked too if it is given as text.
    """
    path = Path(text)
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"{path}: no checkpoint; train first, or name one")
    return path


def as_lines(tables: dict[str, dict[str, Any]]) -> str:
    """Return the tables of a card as lines, for a file that is measured and gets no card."""
    return "\n".join(f"{k}: {v}" for table in tables.values() for k, v in table.items())


def ship(model: Path, card: dict[str, Any]) -> Path:
    """Put a model file into `models/` under its card's name, and write the card; return its path.

    A file that lies there already keeps the `trained` line of its card, unless a new one is given.
    """
    target = SHIPPED / f"{card['name']}.onnx"
    if model.resolve() != target.resolve():
        shutil.copy(model, target)
    elif not card["trained"]:
        before = tomllib.loads(target.with_suffix(".toml").read_text("utf-8"))
        card = {**card, "trained": before["trained"]}
    return write_card(target, card)


def measure_or_ship(
    description: str | None,
    samples: tuple[str, int],
    measure: Callable[[Path, int], dict[str, Any]],
    card: dict[str, Any],
) -> None:
    """Parse arguments, measure; print it or, with `--ship`, put the file into `models/`.

    `samples` are what the network is measured on and how many; `measure(onnx, count)` returns the
    tables of the card, one of them `measured`; `card` is the rest that differs between networks.
    """
    name, (what, count) = card["name"], samples
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("onnx", type=Path, nargs="?", default=SHIPPED / f"{name}.onnx")
    parser.add_argument(f"--{what}", type=int, default=count, help=f"held-out {what} to use")
    parser.add_argument("--ship", action="store_true", help="put it into models/, with its card")
    parser.add_argument("--trained", default="", help="how this one was trained, for its card")
    arguments = parser.parse_args()
    count = getattr(arguments, what)
    tables = measure(arguments.onnx, count)
    if not arguments.ship:
        print(as_lines(tables))
        return
    command = f"python -m models.evaluate.{name} --{what} {count}"
    tables["measured"] = {"command": command, **tables["measured"]}
    usual = {
        "name": name,
        "licence": LICENCE,
        "recipe": f"python -m models.train.{name}",
        "trained": arguments.trained,
    }
    print(ship(arguments.onnx, {**usual, **card, **tables}).read_text("utf-8"))


def write_card(model: Path, card: dict[str, Any]) -> Path:
    """Write `NAME.toml` beside `NAME.onnx` with the file's SHA-256; tables come last."""
    plain = {key: value for key, value in card.items() if not isinstance(value, dict)}
    tables = {key: value for key, value in card.items() if isinstance(value, dict)}
    lines = [f'sha256 = "{hashlib.sha256(model.read_bytes()).hexdigest()}"']
    lines += [f"{key} = {_toml(value)}" for key, value in plain.items()]
    for name, table in tables.items():
        lines += ["", f"[{name}]", *(f"{_key(k)} = {_toml(v)}" for k, v in table.items())]
    path = model.with_suffix(".toml")
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def _key(key: str) -> str:
    return key if key.replace("_", "").replace("-", "").isalnum() else json.dumps(key)


def _toml(value: object) -> str:
    # JSON's strings, numbers, booleans and flat lists are TOML's too.
    return json.dumps(value, ensure_ascii=False)
