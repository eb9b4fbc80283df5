"""The fixed films that any pipeline can be measured on: `shoe-reader simulate bench DIR`.

Forty minutes on held-out decks, tables, hands and motions, every second film with incidents. The
same program with the same libraries draws the same bytes; `SHA256SUMS` says which they were. What
was whole when it was interrupted is not drawn again, unless it was changed since.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from vision.errors import ConfigurationError, OutsideError

from .score import SUMS, changed, sum_of
from .style import COUNT, Manner
from .video_writer import write_text

FILES = ("truth.json", "table.toml", "deal.mp4")
# The first film is a short one to try with. Seeds that nothing was trained or tuned on.
FILMS, COUPS, SEED = 19, 6, 651_000
# Own designs, which every machine draws alike; a shoe late enough for the cut card to come.
DECKS, LATE = ("meridian", "tideway", "beacon"), 376
DEALING = ("face-up", "face-down", "punto-first")
# Sizes and pictures a second of cameras that tables have.
CAMERAS = (("960x540", "15"), ("1280x720", "20"), ("960x540", "25"), ("1280x720", "15"))
# Manners that films have beside their styles, one in three.
MANNERS = (
    Manner.TIDIED, Manner.SQUEEZED_IN_PLACE, Manner.THIRDS_ABOVE, Manner.PAY_OUT_BETWEEN,
    Manner.TWO_IN_HAND, Manner.COLOURED_SLEEVES, Manner.REACHES_OVER,
)  # fmt: skip
# What decides the bytes beside the program.
LIBRARIES = ("numpy", "opencv-python", "av")
LICENCE = """Films and truth of the bench of Shoe Reader, drawn by its simulator (Apache-2.0).
Licence of films, table files and truth: CC BY 4.0, https://creativecommons.org/licenses/by/4.0/
Cite the project as its CITATION.cff says, with the two lines of this bench's identity:
"""


def words_of(number: int) -> list[str]:
    """Return the words with which `simulate` deals a film of the bench."""
    size, fps = CAMERAS[number // 2 % len(CAMERAS)]
    squeezed = number % 3 == 2
    manner = MANNERS[number // 3 % len(MANNERS)]
    dealing = DEALING[number % len(DEALING)]
    words = [
        "--seed", str(SEED + number), "--coups", str(COUPS if number else 1),
        "--split", "test", "--style", str((5 * number) % COUNT["test"]),
        "--deck", DECKS[number // 3 % len(DECKS)], "--dealing", dealing,
        "--size", size, "--fps", fps,
        "--tilt", str(number % 5 * 4), "--noise", str(1 + number % 4),
        "--lens", f"{(number % 3 - 1) * 0.04:.2f}", "--pace", f"{1 + number % 4 * 0.15:.2f}",
    ]  # fmt: skip
    if number % 2:
        words += ["--fault-every", "2"]
    if squeezed:
        words += ["--manner", str(manner)]
    if number % 7 == 6:
        words += ["--from", str(LATE)]
    return words


def deal(folder: Path, films: int, film: Callable[[list[str]], int], *, quiet: bool) -> int:
    """Deal the first films of the bench that a folder lacks, and write what it is; exit code 0."""
    if not 1 <= films <= FILMS:
        raise ConfigurationError(f"--films: {films} is out of range; choose 1 to {FILMS}")
    altered = {Path(name).parent.name for name in changed(folder)}
    for number in range(films):
        out = folder / f"film-{number:02d}"
        if (out / FILES[-1]).exists() and out.name not in altered:
            continue  # it is named so last, when all is written
        for name in FILES:
            (out / name).unlink(missing_ok=True)
        print(f"bench: film {number + 1} of {films}", flush=True)
        if code := film([str(out), *words_of(number), *["--quiet"] * quiet]):
            return code
    names = [f"film-{number:02d}/{name}" for number in range(films) for name in FILES]
    try:
        write_text(folder / SUMS, "".join(f"{sum_of(folder / n)}  {n}\n" for n in names))
        libraries = ", ".join(f"{n} {version(n)}" for n in LIBRARIES)
        identity = f"{films} of {FILMS} films, SHA-256 of {SUMS} {sum_of(folder / SUMS)}"
        write_text(
            folder / "README.txt", f"{LICENCE}{identity}\n{libraries}, {platform.machine()}\n"
        )
    except OSError as error:
        raise OutsideError(f"{folder}: cannot be written: {error.strerror or error}") from error
    print(f"bench: {identity}")
    return 0
