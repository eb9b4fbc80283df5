"""Deal a shoe on film: a table video with its ground truth and a table file, as files or frames.

The command `shoe-reader simulate` and `demo` write the files; other code takes frames and truth
from `rehearse`, without files.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from vision.errors import ConfigurationError, OutsideError
from vision.files import refuse_existing

from ..render.paint import Image
from .bench import FILMS
from .bench import deal as deal_bench
from .choreography import choreograph
from .deal import deal
from .film import film, frame_count
from .film_settings import Look, look_for
from .manners import in_manner
from .scenario import Dealing, Scenario, Slip, load, with_changes
from .style import PLAIN, Manner, Style, styles
from .table_places import Camera
from .timeline import Act
from .truth import table_toml, truth
from .video_writer import (
    CRF,
    KEY_EVERY_S,
    Encoding,
    Progress,
    write_folder,
    write_text,
    write_video,
)

VIDEO, FRAMES = "deal.mp4", "frames"


@dataclass(frozen=True, slots=True)
class Show:
    """A dealt scenario, ready to be filmed."""

    scenario: Scenario
    look: Look
    acts: tuple[Act, ...]

    @property
    def frame_count(self) -> int:
        """How many frames the film has."""
        return frame_count(self.acts, self.look.fps)

    def frames(self) -> Iterator[tuple[Image, int]]:
        """Yield the frames, uint8 (h, w, 3) BGR, with their instants in ms from the start."""
        return film(self.acts, self.look)

    def truth(self) -> dict[str, Any]:
        """Return the truth, as truth.json holds it."""
        return truth(self.acts, self.look, dealing=self.scenario.dealing)

    def table_file(self, *, source: str = VIDEO, profile: str = "punto-banco") -> str:
        """Return the text of a table file that reads the film at `source`."""
        kind = self.scenario.dealing
        plain = Dealing.FACE_UP if kind is Dealing.MIXED else kind
        return table_toml(self.look, source=source, dealing=plain, profile=profile)


def rehearse(scenario: Scenario, look: Look) -> Show:
    """Deal a scenario and set its times; ConfigurationError where it cannot be dealt."""
    return Show(scenario, look, choreograph(deal(scenario), scenario, look.style))


def main(argv: list[str]) -> int:
    """Run the command with the words of a command line; return its exit code."""
    parser = argparse.ArgumentParser("shoe-reader simulate", description=__doc__)
    add_arguments(parser)
    return run(parser.parse_args(argv))


def run(args: argparse.Namespace) -> int:
    """Deal and film the shoe, or all of the bench; return the exit code."""
    *what, out = map(Path, args.out)
    if what == [Path("bench")]:
        _refuse_choices(args)
        return deal_bench(out, FILMS if args.films is None else args.films, main, quiet=args.quiet)
    if what or args.films is not None or args.out == ["bench"]:
        raise ConfigurationError("OUT_DIR: give one folder, or `bench` and a folder")
    names = (FRAMES if args.frames else VIDEO, "truth.json", "table.toml")
    refuse_existing(*(out / name for name in names))
    show = _show(args)
    if len(show.scenario.plans) and show.acts[-1].coup.number < max(show.scenario.plans):
        raise ConfigurationError("coup: the shoe ends before the last coup laid down; see `from`")
    dealt = sum(act.coup.number > 0 for act in show.acts)
    if dealt < show.scenario.coups:
        print(f"simulate: the shoe ends after {dealt} coups", file=sys.stderr)
    _write(show, out, args)
    return 0


def show_of(words: list[str]) -> Show:
    """Return what `shoe-reader simulate OUT_DIR WORDS` films, without filming it."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return _show(parser.parse_args(["OUT_DIR", *words]))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add = parser.add_argument
    add("out", nargs="+", metavar="OUT_DIR", help=f"folder for {VIDEO}, truth.json, table.toml; "
        "`bench OUT_DIR` the fixed films that pipelines are compared on")  # fmt: skip
    add("--films", type=int, metavar="N", help="with `bench`: only its first N films (all)")
    add("--coups", type=int, help="how many coups to deal (12)")
    add("--seed", type=int, help="the seed of everything random (1)")
    add("--dealing", choices=list(map(str, Dealing)), help="how faces are shown (face-up)")
    add("--scenario", type=Path, metavar="FILE.toml", help="coups and faults laid down")
    add("--fault-every", type=int, metavar="K", help="a fault by chance in every K-th coup")
    add("--decks", type=int, help="decks in the shoe (8)")
    add("--from", type=int, dest="start", metavar="N", help="cards gone before the film begins")
    add("--burn", action="store_true", default=None, help="begin with the burn")
    add("--pace", type=float, help="speed of the dealer, 0.25 to 4 (1)")
    add(
        "--size", type=picture_size, default=(1920, 1080), metavar="WxH", help="picture (1920x1080)"
    )
    add("--fps", type=_between(1, 60), help="frames a second (15, or as the style's camera)")
    add("--tilt", type=_between(0, 25), default=8.0, metavar="DEG", help="lean of the camera (8)")
    add("--lens", type=_between(-0.15, 0.15), default=0.0, metavar="K", help="lens distortion (0)")
    add("--noise", type=_between(0, 20), default=2.5, help="sensor noise in grey levels (2.5)")
    add(
        "--crf",
        type=int,
        choices=range(52),
        default=CRF,
        metavar="N",
        help="quality of the H.264 video: lower is finer and larger (%(default)s)",
    )
    add(
        "--key-every",
        type=_between(0, 60),
        default=KEY_EVERY_S,
        metavar="S",
        help="seconds between key frames of the video, at which it can be cut (as x264 has them)",
    )
    add("--profile", default="punto-banco", help="house rules named in the table file")
    add("--frames", action="store_true", help=f"write a folder of frames, {FRAMES}, not a video")
    _add_choices(add)
    add("--quiet", action="store_true", help="no progress line")


def _add_choices(add: Callable[..., argparse.Action]) -> None:
    """Declare what is chosen by name: faults, dealer, manner, cards."""
    add(
        "--fault",
        action="append",
        choices=list(map(str, Slip)),
        help="with --fault-every, a fault that it may be (any); may be given again",
    )
    add(
        "--split",
        choices=["train", "test"],
        default="test",
        help="which cards and tables to draw from; test ones were never trained on (test)",
    )
    add(
        "--style",
        type=int,
        metavar="N",
        help="the N-th dealer's style of the split, with its table and camera (a plain one)",
    )
    add(
        "--manner",
        choices=list(map(str, Manner)),
        help="what else dealer or players do, beside the style (nothing)",
    )
    add("--deck", help="face design (one of our own of the split)")
    add("--back", help="card back")
    add("--table", help="table cloth")


def picture_size(text: str) -> tuple[int, int]:
    """Parse 'WIDTHxHEIGHT', for `argparse`; ArgumentTypeError if it cannot be filmed."""
    try:
        width, height = (int(part) for part in text.lower().split("x"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is no size; write it as 1280x720") from None
    if not (320 <= width <= 7680 and 180 <= height <= 4320) or width % 2 or height % 2:
        raise argparse.ArgumentTypeError(
            f"'{text}' cannot be filmed; choose even numbers from 320x180 to 7680x4320"
        )
    return width, height


def _between(low: float, high: float) -> Callable[[str], float]:
    def number(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"'{text}' is not a number") from None
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text} is out of range; {low:g} to {high:g}")
        return value

    return number


def _show(args: argparse.Namespace) -> Show:
    base = load(args.scenario) if args.scenario else Scenario()
    scenario = with_changes(
        base,
        coups=args.coups,
        seed=args.seed,
        dealing=Dealing(args.dealing) if args.dealing else None,
        slip_every=args.fault_every,
        decks=args.decks,
        started_at=args.start,
        burn=args.burn,
        pace=args.pace,
        from_sight=None if args.style is None else True,
        slips=tuple(map(Slip, args.fault)) if args.fault else None,
    )
    if args.profile not in _profiles():
        raise ConfigurationError(
            f"--profile: no profile '{args.profile}'; there are: {', '.join(_profiles())}"
        )
    style = _style(args)
    camera = Camera(args.size, args.tilt, args.lens, style.optics.turned)
    look = look_for(
        args.split,
        scenario.seed,
        camera,
        deck=args.deck,
        back=args.back,
        table=args.table,
        fps=args.fps or style.optics.fps,
        noise=args.noise,
        style=style,
    )
    return rehearse(scenario, look)


def _style(args: argparse.Namespace) -> Style:
    """Return the style asked for; ConfigurationError where the split has none of that number."""
    known, style = styles(args.split), PLAIN
    if args.style is not None:
        number = int(args.style)
        if not 0 <= number < len(known):
            raise ConfigurationError(
                f"--style: no style {number} in split '{args.split}'; give 0 to {len(known) - 1}"
            )
        style = known[number]
    return in_manner(style, Manner(args.manner), args.seed or 1) if args.manner else style


def _profiles() -> list[str]:
    folder = files("vision.game") / "profiles"
    return sorted(file.name[:-5] for file in folder.iterdir() if file.name.endswith(".toml"))


def _refuse_choices(args: argparse.Namespace) -> None:
    """Raise ConfigurationError where a choice is given to the bench, whose films are fixed."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    usual = vars(parser.parse_args(["OUT_DIR"])) | {"films": args.films, "quiet": args.quiet}
    given = [name for name, value in usual.items() if name != "out" and vars(args)[name] != value]
    if given:
        raise ConfigurationError(f"bench: its films are fixed; leave out --{', --'.join(given)}")


def _write(show: Show, out: Path, args: argparse.Namespace) -> None:
    """Write all files under other names, and name them rightly when they are whole."""
    picture = FRAMES if args.frames else VIDEO
    # The extension stays: the writer chooses the container by it.
    partial = out / f"partial-{picture}"
    try:
        out.mkdir(parents=True, exist_ok=True)
        progress = Progress(show.frame_count, quiet=args.quiet)
        if args.frames:
            write_folder(partial, show.frames(), progress)
        else:
            encoding = Encoding(show.look.fps, args.crf, args.key_every)
            write_video(partial, show.frames(), progress, encoding)
        write_text(out / "truth.json", json.dumps(show.truth(), indent=1) + "\n")
        write_text(out / "table.toml", show.table_file(source=picture, profile=args.profile))
        partial.replace(out / picture)
    except OSError as error:
        raise OutsideError(f"{out}: cannot be written: {error.strerror or error}") from error
    finally:
        if partial.is_dir():
            shutil.rmtree(partial)
        elif out.is_dir():
            partial.unlink(missing_ok=True)
