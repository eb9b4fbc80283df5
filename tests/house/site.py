"""Put the documentation site together from the pages as they stand: the hooks of mkdocs.yml.

README.md is its first page and CONTRIBUTING.md one of them; links from page to page go on working
here and there. The rooms are drawn as `tests.house.draw` finds them. The pictures of the pages are
those of `python -m tests.browser.screens`, where it was run; without them that page says so.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from tests.house.draw import charts
from tests.house.graph import House

ROOT = Path(__file__).parents[2]
SCREENS = ROOT / "out" / "screens"
# Pages outside the folder of the documents, and what they are called in the site.
OUTSIDE = {"README.md": "index.md", "CONTRIBUTING.md": "CONTRIBUTING.md"}
# Wider than the theme's: the tables of the pages have long rows.
STYLE = ".md-grid { max-width: 85rem; }\n"
MERMAID = re.compile(r"```mermaid\n.*?```\n", re.DOTALL)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Give every page that has no place in `nav` one under "More"."""
    named = set(re.findall(r"[\w/.-]+\.md", str(config.nav)))
    pages = sorted(
        path.relative_to(config.docs_dir) for path in Path(config.docs_dir).rglob("*.md")
    )
    more = [str(page) for page in pages if str(page) not in named]
    if more and isinstance(config.nav, list):
        config.nav.append({"More": more})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages outside, and the pictures of the pages."""
    for name, called in OUTSIDE.items():
        files.append(File.generated(config, called, content=(ROOT / name).read_text("utf-8")))
    files.append(File.generated(config, "site.css", content=STYLE))
    pictures = sorted(SCREENS.glob("*.png"))
    for picture in pictures:
        files.append(File.generated(config, f"screens/{picture.name}", abs_src_path=str(picture)))
    files.append(File.generated(config, "screens.md", content=_screens(pictures)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Point links between the pages at where they are in the site, and draw the rooms."""
    source = page.file.src_uri
    if source in OUTSIDE.values():
        markdown = markdown.replace("](deploy/", "](")
        # What is no page stays a name.
        markdown = re.sub(
            r"\[([^]]+)\]\((?:datasets|models|vision|tests)/[^)]*\)", r"`\1`", markdown
        )
    for name, called in OUTSIDE.items():
        markdown = markdown.replace(f"](../{name}", f"]({called}").replace(
            f"]({name}", f"]({called}"
        )
    markdown = re.sub(r"\[([^]]+)\]\(([\w-]+\.service)\)", r"\1 (`deploy/\2`)", markdown)
    if source == "architecture.md":
        drawings = iter(charts(House(ROOT)))
        markdown = MERMAID.sub(lambda _: next(drawings) + "\n", markdown)
    return markdown


def _screens(pictures: list[Path]) -> str:
    """Return the page with the pictures; a file's name is its title: `2-surveillance-desk.png`."""
    parts = ["# What the pages look like\n"]
    if not pictures:
        parts.append("No pictures were taken: `python -m tests.browser.screens` takes them.\n")
    for picture in pictures:
        title = picture.stem.split("-", 1)[1].replace("-", " ").capitalize()
        parts.append(f"## {title}\n\n![{title}](screens/{picture.name})\n")
    return "\n".join(parts)
