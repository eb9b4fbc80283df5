"""Make the boards' Chinese font: `python -m tests.browser.font NotoSansCJK-Regular.ttc`.

A subset of Noto Sans CJK (Debian: fonts-noto-cjk; SIL Open Font License 1.1, (c) Adobe) with every
sign of the words files, so that no screen shows boxes. Run it again when words are added.
"""

from __future__ import annotations

import sys
from pathlib import Path

from fontTools.subset import Options, Subsetter  # type: ignore[import-untyped]
from fontTools.ttLib import TTCollection, TTFont  # type: ignore[import-untyped]

PAGES = Path(__file__).parents[2] / "vision" / "board" / "pages"
FONT = PAGES / "noto-sans-cjk.woff2"
FIRST = 0x2E80  # of the blocks of Chinese signs and their punctuation; below it other fonts do
NAME = "Noto Sans CJK SC"


def signs() -> set[int]:
    """Return the Chinese signs of all words, as numbers."""
    text = "".join(path.read_text("utf-8") for path in (PAGES / "words").glob("*.json"))
    return {ord(sign) for sign in text if ord(sign) >= FIRST}


def held() -> set[int]:
    """Return the signs that the shipped font has."""
    return set(TTFont(FONT).getBestCmap())


def main() -> None:
    """Write the font."""
    fonts = TTCollection(sys.argv[1]).fonts
    font = next(one for one in fonts if one["name"].getDebugName(4).startswith(NAME))
    options = Options(flavor="woff2", layout_features=["locl"], name_IDs=[0, 1, 2, 13, 14])
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=signs())
    subsetter.subset(font)
    font.flavor = "woff2"
    font.save(FONT)
    print(f"{FONT.name}: {len(signs())} signs, {FONT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
