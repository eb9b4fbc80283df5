"""Score the reader on real photographs: `python -m models.evaluate.photographs FOLDER`.

FOLDER holds `score.py` (or `--scorer` names it) and sources under `train/` and `measure/`. Each
picture is read once, alone, without enrolment, by `shoe-reader read`; rectified crops go straight
to the classifier. The last column counts the cards whose name was read in their picture, wherever
the outline lies. `--every N` takes each N-th picture of a source.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path

import cv2
import numpy as np

from models.evaluate.classifier import Outcome, calibration_error
from vision.game.cards import Card
from vision.inference.load import for_pictures

COLUMNS = ("right", "wrong", "abstained", "missed", "false", "back_read_as_face", "named")
# Narrower cards are counted apart: what a table camera gives is wider.
WIDE_PX = 60
ASPECT = 1.4


def pictures(source: Path) -> list[Path]:
    """Return the pictures of a source in order."""
    kinds = {".jpg", ".jpeg", ".png"}
    return sorted(p for p in (source / "images").glob("*") if p.suffix.lower() in kinds)


def read_pictures(shown: Sequence[Path], reads: Path) -> float:
    """Read pictures into a file; return the processor time of a picture, in seconds."""
    command = [
        sys.executable, "-m", "vision.cli", "read", "--json", "--threads", "1",
        "--annotate", str(reads.with_suffix("")), *map(str, shown),
    ]  # fmt: skip
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with reads.open("w", encoding="utf-8") as file:
        subprocess.run(command, check=True, stdout=file)  # noqa: S603
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent / max(len(shown), 1)


def scored(reads: Path, source: Path, scorer: Path) -> dict[str, object]:
    """Return the score of what was read."""
    printed = subprocess.run(  # noqa: S603
        [sys.executable, str(scorer), str(reads), str(source), "--json"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    result: dict[str, object] = json.loads(printed)
    result["named"] = sum(
        (Counter(names_of(source / "labels", read)) & Counter(named(read))).total()
        for read in json.loads(reads.read_text("utf-8"))
    )
    return result


def names_of(labels: Path, read: dict[str, str]) -> list[str]:
    """Return the names of the cards that are labelled in a picture that was read."""
    lines = lines_of(labels / f"{Path(read['image']).stem}.txt") or []
    return [str(Card.of(int(line.split()[0]))) for line in lines]


def named(read: dict[str, list[dict[str, str]]]) -> list[str]:
    """Return the names that were read in a picture."""
    return [card["card"] for card in read["cards"] if card["card"]]


def narrow_ones_ignored(reads: Path, source: Path, folder: Path) -> Path:
    """Write a source's labels again, cards narrower than `WIDE_PX` to be ignored; return where."""
    root = folder / source.name
    for kind in ("labels", "labels_back", "labels_ignore"):
        (root / kind).mkdir(parents=True, exist_ok=True)
    for read in json.loads(reads.read_text("utf-8")):
        name = f"{Path(read['image']).stem}.txt"
        cards, backs, ignored = (
            lines_of(source / kind / name) for kind in ("labels", "labels_back", "labels_ignore")
        )
        if cards is None:
            continue
        wide = [line for line in cards if width_of(line, read) >= WIDE_PX]
        narrow = [line for line in cards if line not in wide]
        written = {
            "labels": wide, "labels_back": backs or [], "labels_ignore": [*(ignored or []), *narrow]
        }  # fmt: skip
        for kind, lines in written.items():
            (root / kind / name).write_text("\n".join(lines), "utf-8")
    return root


def lines_of(path: Path) -> list[str] | None:
    """Return the labels in a file, or None where there is no such file."""
    if not path.exists():
        return None
    return [line for line in path.read_text("utf-8").splitlines() if line.strip()]


def width_of(line: str, read: dict[str, int]) -> float:
    """Return the width in pixels of a card, 1.4 times as long, that has the box of a label.

    Turned by an angle with cosine c and sine s, its box measures w (c + 1.4 s) by w (s + 1.4 c).
    """
    across, down = (float(v) for v in line.split()[3:5])
    across, down = across * read["width"], down * read["height"]
    cosine, sine = max(ASPECT * down - across, 0.0), max(ASPECT * across - down, 0.0)
    return float(np.hypot(cosine, sine)) / (ASPECT**2 - 1)


def looks_at(source: Path) -> Outcome:
    """Classify every crop of a source whose folders are named by card."""
    models = for_pictures(threads=1)
    found: list[tuple[float, int, int]] = []
    for folder in sorted((source / "crops").iterdir()):
        truth = Card.parse(folder.name)
        for path in sorted(folder.glob("*")):
            image = cv2.imread(str(path))
            if image is None:
                continue
            height, width = image.shape[:2]
            quad = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
            if width > height:
                quad = np.roll(quad, 1, axis=0)
            (look,) = models.classifier(np.asarray(image, np.uint8), [quad])
            best = int(look.log_p.argmax())
            found.append((look.confidence, best, truth.index))
    confidence, read, true = zip(*found, strict=True)
    return Outcome(np.array(confidence), np.array(read), np.array(true))


def row_of(name: str, result: dict[str, object]) -> str:
    """Return the row of a source of pictures."""
    row = "".join(f"{result[column]!s:>11}" for column in COLUMNS)
    return f"{name:34}{result['images']!s:>9}{result['cards']!s:>7}{row}"


def row_of_crops(name: str, looks: Outcome, bound: float) -> str:
    """Return the row of a source of crops, named where the risk is at most the bound."""
    named, right = looks.confidence >= 1 - bound, looks.right
    counts = ((named & right).sum(), (named & ~right).sum(), (~named).sum())
    row = "".join(f"{count:>11}" for count in counts)
    return f"{name:34}{'crops':>9}{len(right):>7}{row}   best guess right {right.sum()}"


def reliability(sources: list[Outcome]) -> str:
    """Return how well the confidence in all crops of several sources agrees with the truth."""
    every = Outcome(*(np.concatenate(part) for part in zip(*map(astuple, sources), strict=True)))
    sure = np.argsort(-every.confidence)[: round(0.95 * len(every.read))]
    return (
        f"{len(every.read)} crops to be measured on: calibration error "
        f"{calibration_error(every):.2%}, wrong among the surest 95 %: "
        f"{(~every.right[sure]).mean():.2%}"
    )


def sources_of(folder: Path, only: Sequence[str]) -> list[Path]:
    """Return the sources of a folder, those called so where any are named."""
    found = [path for part in ("train", "measure") for path in (folder / part).glob("*")]
    return sorted(path for path in found if not only or path.name in only)


def main() -> None:
    """Score every source and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=Path("runs/real"))
    parser.add_argument("--only", nargs="*", default=[], help="names of sources")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each N-th picture")
    parser.add_argument("--scorer", type=Path, help="instead of FOLDER/score.py")
    arguments = parser.parse_args()
    scorer = arguments.scorer or arguments.folder / "score.py"
    if not scorer.exists():
        parser.error(f"{scorer}: is not there")
    sources = sources_of(arguments.folder, arguments.only)
    if not sources:
        parser.error(f"{arguments.folder}: has no such source under train/ or measure/")
    if read := [s.name for s in sources if (arguments.out / f"{s.name}.json").exists()]:
        parser.error(f"{arguments.out}: has {read[0]} of another run; give another --out")
    arguments.out.mkdir(parents=True, exist_ok=True)
    print(f"{'source':34}{'pictures':>9}{'cards':>7}" + "".join(f"{c:>11.10}" for c in COLUMNS))
    measured: list[Outcome] = []
    for source in sources:
        name = f"{source.parent.name}/{source.name}"[:33]
        if (source / "labels").is_dir():
            reads = arguments.out / f"{source.name}.json"
            took_s = read_pictures(pictures(source)[:: arguments.every], reads)
            everything = scored(reads, source, scorer)
            print(f"{row_of(name, everything)}   {took_s:.2f} s of processor each", flush=True)
            wide_labels = narrow_ones_ignored(reads, source, arguments.out / "wide")
            wide = scored(reads, wide_labels, scorer)
            if wide["cards"] != everything["cards"]:
                print(row_of(f"  of these from {WIDE_PX} px", wide), flush=True)
        elif (source / "crops").is_dir():
            observations = looks_at(source)
            print(row_of_crops(name, observations, 0.02), flush=True)
            if source.parent.name == "measure":
                measured.append(observations)
    if measured:
        print(reliability(measured))


if __name__ == "__main__":
    main()
