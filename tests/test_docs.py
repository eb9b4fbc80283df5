"""What people can type, set and receive is documented, and the documents name what is there.

The faults and the rooms are drawn from the program: `python -m tests.test_docs` writes them.
"""

from __future__ import annotations

import ast
import re
import typing
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from tests import figures
from tests.contract import CHANNELS
from tests.house import draw
from tests.house.draw import PAGE, drawing, written
from tests.house.graph import House
from vision.commands import COMMANDS
from vision.config.table import TableConfig
from vision.game.coup.fault_table import KINDS

ROOT = Path(__file__).parent.parent
DOCS = (ROOT / "README.md", *sorted((ROOT / "deploy").glob("*.md")))
PAGES = (*DOCS, ROOT / "CONTRIBUTING.md", ROOT / "datasets" / "ART.md",
         *sorted((ROOT / "models").glob("*.toml")))  # fmt: skip
# What makes faults, by its room and in one word for people; and what a module only asks about.
MAKERS = {"game": "rules", "sight": "sight", "app": "machine"}
TABLE_OF_FAULTS = "game/coup/fault_table"
ASKED_ABOUT = {
    "app/evidence": ("REVIEW",),
    "game/coup/results": ("HELD_OVER",),
    "game/fold/coup_commands": ("REVIEW", "RESTART_CONFIRM"),
    "game/fold/shoe": ("EXPOSED_IN_SHOE",),
}


def documents() -> str:
    """Return the text of all documents that go to the people who run tables."""
    return "\n".join(path.read_text("utf-8") for path in DOCS if path.exists())


def fault_rows() -> list[str]:
    """Return the table of faults, a row each."""
    rows = [
        "| code | name | made by | says | severity | to be put right | result waits |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind in KINDS.values():
        severity = ", then ".join(kind.severities)
        deadline = ", then ".join(kind.deadlines)
        holds = "yes" if kind.holds else ""
        made = " ".join(dict.fromkeys(_maker(name) for name in kind.made.split()))
        cells = (f"`{kind.code}`", kind.title, made, kind.words, severity, deadline, holds)
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def _maker(module: str) -> str:
    """Return in one word, for people, what a module that makes faults belongs to."""
    return "order" if module.endswith("commands") else MAKERS[module.split("/", maxsplit=1)[0]]


def mentions(house: House) -> dict[str, set[str]]:
    """Return which faults the modules of rules, sight and reader make, as their source shows."""
    found: dict[str, set[str]] = {code: set() for code in KINDS}
    for name, tree in house.trees.items():
        module = name.removeprefix("vision.").replace(".", "/")
        if module.split("/")[0] in MAKERS and module != TABLE_OF_FAULTS:
            texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
            for code in texts.intersection(KINDS).difference(ASKED_ABOUT.get(module, ())):
                found[str(code)].add(module)
    return found


def config_keys(
    model: type[BaseModel] = TableConfig, prefix: str = ""
) -> Iterator[tuple[str, FieldInfo]]:
    """Yield every key of a table file, with its section."""
    for name, field in model.model_fields.items():
        inner = section_of(field)
        if inner is None:
            yield prefix + name, field
        else:
            yield from config_keys(inner, f"{prefix}{name}.")


def section_of(field: FieldInfo) -> type[BaseModel] | None:
    """Return the model of a field that is a section."""
    kinds = (field.annotation, *typing.get_args(field.annotation))
    return next((k for k in kinds if isinstance(k, type) and issubclass(k, BaseModel)), None)


def default_of(field: FieldInfo) -> str:
    """Return a key's default as it would be written."""
    if field.default is PydanticUndefined:
        return "needed"
    if field.default is None:
        return "none"
    if field.default and isinstance(field.default, tuple) and isinstance(field.default[0], str):
        return ", ".join(field.default)
    return str(field.default).replace("(", "[").replace(")", "]") or '""'


def test_every_command_is_documented() -> None:
    """Each command stands in the documents as one would type it."""
    text = documents()
    assert [name for name in COMMANDS if f"shoe-reader {name}" not in text] == []


def test_every_module_that_the_documents_run_exists() -> None:
    """`python -m` in a document or model card names a module of this tree."""
    cards = "".join(path.read_text("utf-8") for path in (ROOT / "models").glob("*.toml"))
    named = set(
        re.findall(r"python\s+-m\s+((?:datasets|models|tests)[\w.]*\w)", documents() + cards)
    )
    paths = {name: ROOT / name.replace(".", "/") for name in named}
    assert named
    assert [
        name
        for name, path in paths.items()
        if not path.with_suffix(".py").exists() and not (path / "__main__.py").exists()
    ] == []


@pytest.mark.parametrize("topic", [channel.topic for channel in CHANNELS])
def test_every_topic_is_documented(topic: str) -> None:
    """Each topic of the contract is explained where integrators look."""
    assert f"`{topic}`" in documents()


def test_every_fault_is_made_where_its_row_says() -> None:
    """The table of faults names the modules that find, allege or notice each, and no other."""
    assert {code: set(kind.made.split()) for code, kind in KINDS.items()} == mentions(House(ROOT))


def test_every_fault_enters_as_its_row_says() -> None:
    """What following makes is alleged, or noticed between coups; a machine's is noticed."""
    for kind in KINDS.values():
        following = "sight/following/" in kind.made
        assert (kind.alleged or kind.code == "EXPOSED_IN_SHOE") == following, kind.code
        assert kind.noticed or not kind.made.startswith("app/"), kind.code


def test_fault_table_is_that_of_the_program() -> None:
    """The documented faults are those that the program can raise, in the same words."""
    text = (ROOT / "deploy" / "faults.md").read_text("utf-8")
    missing = [row for row in fault_rows() if row not in text]
    assert missing == [], "run `python -m tests.test_docs` to write the table"


def test_every_config_key_is_documented_with_its_default() -> None:
    """Each key of the table file has a row that names its default."""
    text = (ROOT / "deploy" / "config.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `([a-z0-9_.]+)` \| (.*?) \|", text, re.MULTILINE))
    wanted = {key: default_of(field) for key, field in config_keys()}
    assert rows == wanted


def test_example_table_file_names_every_section() -> None:
    """The example shows each section, so that nobody has to guess its name."""
    text = (ROOT / "deploy" / "table.example.toml").read_text("utf-8")
    sections = [name for name, field in TableConfig.model_fields.items() if section_of(field)]
    assert [name for name in sections if f"[{name}]" not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_and_commands_that_a_page_names_are_there(page: Path) -> None:
    """Paths in backquotes exist, from the root or from `vision/`; so do modules to be run."""
    text = page.read_text("utf-8")
    paths = set(re.findall(r"`([a-z][\w-]*/[\w/.*-]*\.(?:py|md|toml|sh|json|html|js))`", text))
    assert [name for name in sorted(paths) if not _is_there(name)] == []
    modules = set(re.findall(r"python\s+-m\s+((?:datasets|models|tests|vision)[\w.]*\w)", text))
    names = {name: name.replace(".", "/") for name in sorted(modules)}
    found = (f"{path}.py" if (ROOT / f"{path}.py").exists() else f"{path}/__main__.py"
             for path in names.values())  # fmt: skip
    assert [n for n, path in zip(names, found, strict=True) if not _is_there(path)] == []


def _is_there(name: str) -> bool:
    return any(any(folder.glob(name)) for folder in (ROOT, ROOT / "vision"))


def test_pictures_of_the_pages_are_there_and_small() -> None:
    """Every picture that a page shows is there, none lies about, and none is over 200 kB."""
    shown = set(re.findall(r"!\[[^]]+\]\(img/([^)]+)\)", documents()))
    kept = {path.name: path.stat().st_size for path in (ROOT / "deploy" / "img").iterdir()}
    assert shown == set(kept)
    assert max(kept.values()) < 200_000


@pytest.mark.parametrize("page", figures.PAGES)
def test_figures_are_those_of_one_file(page: str) -> None:
    """README, the buyer's page and "Following cards" cannot differ."""
    assert (ROOT / page).read_text("utf-8") == figures.written(page), "python -m tests.figures"


def test_rooms_are_drawn_as_they_are() -> None:
    """The drawing of the architecture page is what the command prints."""
    page = PAGE.read_text("utf-8")
    assert page == written(page, drawing(House(ROOT))), "python -m tests.house.draw --write"


def _write_faults() -> None:
    path = ROOT / "deploy" / "faults.md"
    head, _, _ = path.read_text("utf-8").partition("| code |")
    path.write_text(head + "\n".join(fault_rows()) + "\n", "utf-8")


# Bytes of all pages that people write; a buyer or an installer reads no more. The indexes that are
# made from the program are looked up, not read.
PAGES_LIMIT = 180_000
INDEXES = ("messages.md", "states.md", "odds.md")


def test_pages_are_short_enough_to_be_read() -> None:
    """All pages together stay below the limit, without the indexes made from the program."""
    pages = [page for page in (*DOCS, ROOT / "CONTRIBUTING.md") if page.name not in INDEXES]
    assert sum(page.stat().st_size for page in pages) <= PAGES_LIMIT


if __name__ == "__main__":
    _write_faults()
    draw.main(["--write"])
