"""The test picture: read by the packaged models, and not by damaged ones."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from vision.errors import ConfigurationError
from vision.inference.load import PICTURE, ModelSet, SelfTest, load_self_test, open_models
from vision.sight.detection.detector import Tensor

Cards = tuple[tuple[str, float, float], ...]  # name, x, y in pixels


@pytest.fixture(scope="module")
def eyes() -> ModelSet:
    """Open the packaged models."""
    return open_models(threads=1)


def test_packaged_models_read_the_test_picture(eyes: ModelSet) -> None:
    """Every card, and nothing else."""
    assert eyes.self_test is not None
    assert eyes.self_test.complaint() is None


@pytest.mark.parametrize("part", ["detector", "classifier"])
@pytest.mark.parametrize("harm", ["nothing", "not numbers", "shuffled"])
def test_damaged_models_are_found(part: str, harm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network that gives zeros, no numbers, or another order of its channels is told."""
    broken = open_models(threads=1)
    stage = getattr(broken, part)
    true = stage._infer

    def infer(tensor: Tensor) -> Tensor:
        result = true(tensor)
        if harm == "nothing":
            return np.zeros_like(result)
        if harm == "not numbers":
            return np.full_like(result, np.nan)
        return np.ascontiguousarray(result[:, ::-1])

    monkeypatch.setattr(stage, "_infer", infer)
    assert broken.self_test is not None
    complaint = broken.self_test.complaint()
    assert complaint is not None
    assert "shoe-reader check" in complaint


@pytest.mark.parametrize("spoilt", ["picture", "answer", "missing"])
def test_damaged_test_picture_is_reported(tmp_path: Path, spoilt: str) -> None:
    """The canary itself may be what is broken: said before anything starts."""
    for name in (PICTURE, PICTURE.with_suffix(".toml")):
        shutil.copy(name, tmp_path)
    picture = tmp_path / PICTURE.name
    if spoilt == "picture":
        picture.write_bytes(b"no picture")
    elif spoilt == "answer":
        picture.with_suffix(".toml").write_text("cards = 3", "utf-8")
    else:
        picture.unlink()
    with pytest.raises(ConfigurationError, match="test picture is damaged"):
        load_self_test(lambda _: [], picture)


def _found(cards: Cards, _: object) -> Cards:
    """Return these cards, whatever is shown."""
    return cards


def test_canary_wants_each_card_once_and_no_other() -> None:
    """A wrong name, a missing card and one too many are all faults."""
    cards = (("As", 10.0, 10.0), ("Kd", 200.0, 10.0))
    image = np.zeros((4, 4, 3), np.uint8)
    for found, good in (
        (cards, True),
        (cards[:1], False),
        ((*cards, ("2c", 100.0, 100.0)), False),
        ((("Ah", 10.0, 10.0), cards[1]), False),
        ((("", 10.0, 10.0), cards[1]), False),
    ):
        assert (SelfTest(image, cards, partial(_found, found)).complaint() is None) is good
