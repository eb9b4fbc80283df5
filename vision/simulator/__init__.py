"""The dealing simulator, as `vision.simulator` whether installed or run from a checkout.

The wheel lays the folders `render`, `faces` and `dealing` of `datasets/` beside this file, so that
it installs no top-level package `datasets`, the name of another well-known library. In a checkout
they stay where they are, and this package takes its modules from there. They import one another by
relative imports, which hold under both names.
"""

from pathlib import Path

_HERE = Path(__file__).parent
if not (_HERE / "dealing").is_dir():
    __path__ = [str(_HERE.parents[1] / "datasets")]
