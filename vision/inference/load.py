"""Open the models: the ONNX files, checked against their cards, put together for sight.

A model is two files of one name: `NAME.onnx`, and `NAME.toml`, its card with labels, settings and
the SHA-256 of the file. A file that is not the one that its card describes is refused. In the
folder `int8` beside it may lie the same network in 8 bits (`python -m models.quantise`); its card
names the file that it was made from, and it is used in the place of that file only, see `quick`.

The self-test finds models that are damaged or run wrong on this machine: they read a picture of
known cards, part of the program, made by `python -m datasets.training.self_test_picture`.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort

from vision.errors import ConfigurationError
from vision.game.cards import Card
from vision.inference.deck_file import open_deck
from vision.pictures import open_picture
from vision.sight.detection.classifier import RANKS, SUITS, CardModels, Classifier
from vision.sight.detection.detector import KINDS, CornerFinder, Detector, Infer, Kind, Model
from vision.sight.detection.mouth import LABELS as MOUTH_LABELS
from vision.sight.following.evidence import SymbolTable
from vision.sight.geometry.plane import Image
from vision.sight.reading.deck import DeckClassifier

PICTURE = Path(__file__).with_name("self_test.jpg")
# Pixels that a card may be found away from where it lies: less than half a card of the picture,
# so that no neighbour is taken for it. Chosen by hand; working models are well within.
NEAR_PX = 40.0
CURE = "install the program and its models again; `shoe-reader check` tests them"
# Confidence from which an observation counts as a card's name in the self-test: 0.5 is "rather this
# card than none". The test picture is easy, so its exact value does not matter.
LEAST_SURE = 0.5
# How many outputs each network may have: kinds of object (a detector of before knows no hands),
# four corners, ranks with suits and what is seen, what the mouth of the shoe shows,
# whether that is the cut card.
OUTPUT_NAMES = {
    "detector": (len(KINDS), KINDS.index(Kind.HAND)),
    "corners": (2 * 4,),
    "classifier": (RANKS + SUITS + 3,),
    "mouth": (len(MOUTH_LABELS),),
    "cut": (1,),
}
# What a processor is asked for before 8-bit files are used: dot products of bytes, by their names
# in /proc/cpuinfo. Without them 8 bits are no faster, and on older x86 processors sums overflow.
DOT_PRODUCTS = frozenset({"avx512_vnni", "avx_vnni", "asimddp"})
# Characters of an error of ONNX Runtime that are shown; the rest repeats the file.
ERROR_CHARACTERS = 200
# Messages of ONNX Runtime that are written: errors and worse (its levels run from 0 to 4).
LOG_ERRORS = 3

# ONNX Runtime's own errors have no common base short of `Exception`.
_ONNX_ERRORS: tuple[type[Exception], ...] = (
    RuntimeError,
    ValueError,
    *(
        error
        for error in vars(ort.capi.onnxruntime_pybind11_state).values()
        if isinstance(error, type) and issubclass(error, Exception)
    ),
)


def packaged(name: str) -> Path:
    """Return the path of a model of the program's own: one of `OUTPUT_NAMES`."""
    inside = Path(str(files("vision"))) / "models" / f"{name}.onnx"
    return inside if inside.exists() else Path(__file__).parents[2] / "models" / f"{name}.onnx"


def quick(path: Path) -> Path:
    """Return the 8-bit file that was made from a model, or the model where there is none to use.

    A model that was trained again since, or a processor without 8-bit dot products, has none.
    """
    small = path.parent / "int8" / path.name
    if not small.exists() or not has_dot_products():
        return path
    made_from = _read_card(small.with_suffix(".toml")).get("made_from")
    return small if made_from == _read_card(path.with_suffix(".toml")).get("sha256") else path


@cache
def has_dot_products() -> bool:
    """Whether the processor multiplies and adds bytes in one step; False where nobody says."""
    try:
        words = Path("/proc/cpuinfo").read_text("utf-8").split()
    except OSError:
        return False
    return not DOT_PRODUCTS.isdisjoint(words)


def load_model(path: Path, *, threads: int) -> Model:
    """Open a model and check it against its card.

    ConfigurationError names the file and the cure if either file is missing, unreadable, not an
    ONNX model, or if the SHA-256 differs from the card's.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f"{path}: cannot read the model ({error.strerror}); give the path of an .onnx file "
            "or leave the key empty to use the packaged one"
        ) from None
    card = _read_card(path.with_suffix(".toml"))
    digest = hashlib.sha256(data).hexdigest()
    if card.get("sha256") != digest:
        raise ConfigurationError(
            f"{path}: SHA-256 is {digest[:16]}…, but its card {path.with_suffix('.toml').name} "
            f"says {str(card.get('sha256'))[:16]}…; the file is damaged or not the one that was "
            "measured. Copy both files again from the release"
        )
    settings = {k: float(v) for k, v in card.get("settings", {}).items()}
    labels = tuple(str(label) for label in card.get("labels", ()))
    session = _open(path, data, threads)
    names = session.get_inputs()[0].name, session.get_outputs()[0].name
    return Model(path.stem, digest, settings, labels, session.run, *names)


def _read_card(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise ConfigurationError(
            f"{path}: the model card is missing; every model needs its card beside it"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path}: cannot read the model card: {error}") from None


NONE = "/nonexistent"  # a folder that is not there


def _open(path: Path, data: bytes, threads: int) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Idle threads that spin would burn the core that decodes the video.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = LOG_ERRORS
    _share_arena()
    options.add_session_config_entry("session.use_env_allocators", "1")
    # Weights in files of their own are covered by no hash: none are found.
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", NONE)
    try:
        return ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except _ONNX_ERRORS as error:
        if NONE in str(error):
            raise ConfigurationError(
                f"{path}: has its weights in separate files, which no hash covers; save the "
                "model as one file"
            ) from None
        words = str(error).strip().splitlines()[0][:ERROR_CHARACTERS]
        raise ConfigurationError(f"{path}: not a usable ONNX model: {words}") from None


@cache
def _share_arena() -> None:
    """Let all networks of the process take memory from one arena, which grows by what is asked.

    With an arena each, doubled whenever it is full, a table's networks hold 9 MB more.
    """
    arena, kind = ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, ort.OrtMemType.DEFAULT
    as_asked = ort.OrtArenaCfg(0, 1, -1, -1)  # no limit; grow as asked; the rest as it comes
    ort.create_and_register_allocator(ort.OrtMemoryInfo("Cpu", arena, 0, kind), as_asked)


# --- the self-test ---

# Reads a picture: the name of each card, "" where it is unread, and its middle in pixels.
Read = Callable[[Image], Sequence[tuple[str, float, float]]]


@dataclass(frozen=True, slots=True, eq=False)
class SelfTest:
    """The picture, its cards (name, x, y in pixels), and the function that reads it."""

    image: Image
    cards: tuple[tuple[str, float, float], ...]
    read: Read

    def complaint(self) -> str | None:
        """Read the picture; return what is wrong with the result, `None` where nothing is."""
        found = self.read(self.image)
        if not np.isfinite([[x, y] for _, x, y in found]).all():
            return f"the models give no numbers on the test picture; {CURE}"
        right = sum(self._names_near(found, x, y) == [name] for name, x, y in self.cards)
        if right == len(self.cards) == len(found):
            return None
        return (
            f"the models read {right} of {len(self.cards)} cards of the test picture, and see "
            f"{len(found)}; {CURE}"
        )

    def _names_near(
        self, found: Sequence[tuple[str, float, float]], x: float, y: float
    ) -> list[str]:
        return [name for name, a, b in found if np.hypot(a - x, b - y) < NEAR_PX]


def load_self_test(read: Read, picture: Path = PICTURE) -> SelfTest:
    """Open the self-test that comes with the program; ConfigurationError if it is damaged."""
    try:
        answer = tomllib.loads(picture.with_suffix(".toml").read_text("utf-8"))
        image = open_picture(picture)
        cards = tuple((str(name), float(x), float(y)) for name, x, y in answer["cards"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(
            f"{picture}: the test picture is damaged ({error}); {CURE}"
        ) from None
    if image is None or not cards:
        raise ConfigurationError(f"{picture}: the test picture is damaged; {CURE}")
    return SelfTest(image, cards, read)


def _reading(detector: Detector, classifier: Classifier) -> Read:
    """Return who reads the test picture: the same way that a frame goes, without time."""

    def read(image: Image) -> list[tuple[str, float, float]]:
        faces = [found for found in detector(image) if found.kind is Kind.FACE]
        observations = classifier(image, [face.quad for face in faces])
        found = []
        for face, observation in zip(faces, observations, strict=True):
            best = int(np.argmax(observation.log_p))
            sure = observation.confidence > LEAST_SURE
            x, y = face.quad.mean(axis=0)
            found.append((str(Card.of(best)) if sure else "", float(x), float(y)))
        return found

    return read


# --- the models of a table ---


@dataclass(frozen=True, slots=True, eq=False)
class ModelSet(CardModels):
    """The networks of a table, the SHA-256 of each file by name, and the test of what they see.

    `mouth` is the network that watches the shoe's mouth, `cut` the one that tells the cut card
    there from cards, `symbols` how likely what a slot shows is.
    """

    mouth: Infer
    cut: Infer
    symbols: SymbolTable
    hashes: dict[str, str] = field(default_factory=dict)
    self_test: SelfTest | None = None


def open_models(
    paths: Mapping[str, Path | None] = {},
    *,
    threads: int,
    deck: Path | None = None,
    eight_bit: bool = True,
) -> ModelSet:
    """Load the models, and an enrolled deck if there is one.

    `paths` has the `detector`, `corners` and `classifier` that are not the packaged ones.
    Detector and corner finder are opened in 8 bits where that is possible and `eight_bit` lets
    them. The classifier is opened as it is given: an enrolled deck belongs to
    one file. ConfigurationError if a file is missing, damaged or not a model of that kind, or if
    the deck is not one to read with.
    """
    load, lighter = partial(_load, threads=threads), quick if eight_bit else Path
    finder, outliner = (
        load(lighter(paths.get(kind) or packaged(kind)), kind) for kind in ("detector", "corners")
    )
    reader = load(paths.get("classifier") or packaged("classifier"), "classifier")
    settings = finder.settings
    seen_by = Detector(
        finder,
        size=int(settings["size_px"]),
        threshold=settings["threshold"],
        overlap=settings["overlap"],
        corners=CornerFinder(outliner),
    )
    generic = Classifier(
        reader,
        temperature=reader.settings["temperature"],
        seen_temperature=reader.settings["seen_temperature"],
        seen_shift=reader.settings["seen_shift"],
    )
    mouth, cut = (load(packaged(kind), kind) for kind in ("mouth", "cut"))
    networks = (finder, outliner, reader, mouth, cut)
    hashes = {model.name: model.sha256 for model in networks}
    read_by = generic
    if deck is not None:
        enrolled, hashes["deck"] = open_deck(deck, reader.sha256)
        read_by = DeckClassifier(generic, enrolled)
    symbols, hashes["following"] = open_symbols(packaged("mouth").with_name("following.toml"))
    # The test picture shows no house deck: it is read without one.
    test = load_self_test(_reading(seen_by, generic))
    return ModelSet(seen_by, read_by, mouth, cut, symbols, hashes, test)


def open_symbols(path: Path) -> tuple[SymbolTable, str]:
    """Read the fitted likelihoods of what a slot shows; return them with the file's SHA-256.

    ConfigurationError where the file is missing, damaged or fitted for other symbols.
    """
    try:
        content = path.read_bytes()
        table = SymbolTable.of(tomllib.loads(content.decode()))
    except (OSError, ValueError, KeyError) as error:
        raise ConfigurationError(
            f"{path} is not a table of symbols: {error}; install shoe-reader again"
        ) from error
    return table, hashlib.sha256(content).hexdigest()


# Loads the models for single pictures, all in 32 bits.
for_pictures = partial(open_models, eight_bit=False)


def _load(path: Path, kind: str, *, threads: int) -> Model:
    model = load_model(path, threads=threads)
    wanted = OUTPUT_NAMES[kind]
    if len(model.labels) not in wanted:
        raise ConfigurationError(
            f"{path}: its card lists {len(model.labels)} labels, but a {kind} has {wanted[0]}; "
            f"check [models] {kind} in the table file"
        )
    return model
