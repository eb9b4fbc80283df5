"""The documentation as a site: every page has its place, and no link is dead."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent


def built(config: Path, out: Path) -> None:
    """Build the site strictly, as `make docs` does."""
    commands = pytest.importorskip("mkdocs.commands.build")
    load_config = pytest.importorskip("mkdocs.config").load_config
    commands.build(load_config(str(config), site_dir=str(out), strict=True))


def test_site_is_built_strictly_and_every_page_is_in_it(tmp_path: Path) -> None:
    """All pages of `deploy`, the first page, and the rooms drawn; nothing is fetched."""
    built(ROOT / "mkdocs.yml", tmp_path)
    pages = {
        path.relative_to(tmp_path).with_suffix("").as_posix() for path in tmp_path.rglob("*.html")
    }
    texts = (path.relative_to(ROOT / "deploy") for path in (ROOT / "deploy").rglob("*.md"))
    # A README is the first page of its folder.
    wanted = {
        path.with_name("index" if path.stem == "README" else path.stem).as_posix() for path in texts
    }
    assert pages >= {*wanted, "index", "CONTRIBUTING", "screens"}
    rooms = (tmp_path / "architecture.html").read_text("utf-8")
    assert rooms.count('<svg class="rooms"') == 2
    assert "flowchart TD" not in rooms
    first = (tmp_path / "index.html").read_text("utf-8")
    assert re.findall(r'<(?:script|link)[^>]+(?:src|href)="https?://', first) == []
    assert not (tmp_path / "Containerfile").exists()
    assert [*(tmp_path / "assets" / "stylesheets").glob("main.*.css")], "the site has no style"


def test_dead_link_ends_the_build(tmp_path: Path) -> None:
    """What makes the build strict is set: a page with a link to nowhere is refused."""
    exceptions = pytest.importorskip("mkdocs.exceptions")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("[here](nowhere.md) [or](#there)\n", "utf-8")
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    settings = yaml.safe_load(text)
    own = {"site_name": "x", "docs_dir": "docs", "validation": settings["validation"]}
    (tmp_path / "mkdocs.yml").write_text(yaml.safe_dump(own), "utf-8")
    with pytest.raises(exceptions.Abort):
        built(tmp_path / "mkdocs.yml", tmp_path / "site")
