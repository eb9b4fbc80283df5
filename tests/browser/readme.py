"""Render README.md as people see it on a code host: `python -m tests.browser.readme [OUT.png]`.

Prints how many screens of Full HD it takes; the front door is to be about one and a half.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from markdown import markdown
from playwright.sync_api import sync_playwright

from tests.browser.conftest import CHROMIUM

ROOT = Path(__file__).parents[2]
OUT = ROOT / "out" / "readme.png"
WIDTH, HEIGHT = 1920, 1080
# Type and widths as on GitHub: a column of 1012 px, 16 px letters.
STYLE = """
body { font: 16px/1.5 "Noto Sans", "DejaVu Sans", sans-serif; margin: 0 auto; width: 1012px; padding: 24px; }
h1, h2 { border-bottom: 1px solid #d1d9e0; padding-bottom: .3em; margin: 24px 0 16px; }
h2 { font-size: 1.5em; } p, ul, pre, table { margin: 0 0 16px; } img { max-width: 100%; }
table { border-collapse: collapse; } td, th { border: 1px solid #d1d9e0; padding: 6px 13px; }
pre { background: #f6f8fa; padding: 16px; font-size: 85%; overflow: auto; }
code { font-family: "DejaVu Sans Mono", monospace; font-size: 85%; background: #eff1f3; }
"""  # noqa: E501 - a style sheet


def render(browser: Any, out: Path) -> float:
    """Write the picture with a browser of Playwright; return the height in screens."""
    text = (ROOT / "README.md").read_text("utf-8")
    body = markdown(text, extensions=["tables", "fenced_code"])
    page_file = ROOT / "README.rendered.html"
    page_file.write_text(f"<meta charset=utf-8><style>{STYLE}</style>{body}", "utf-8")
    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(page_file.as_uri())
        page.screenshot(path=out, full_page=True)
        return float(page.evaluate("document.documentElement.scrollHeight")) / HEIGHT
    finally:
        page_file.unlink()


if __name__ == "__main__":
    shown = Path(sys.argv[1]) if len(sys.argv) > 1 else OUT
    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path="/usr/bin/chromium", args=CHROMIUM)
        print(f"{shown}: {render(chromium, shown):.2f} screens of {WIDTH} x {HEIGHT}")
