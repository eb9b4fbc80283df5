"""The recipes themselves, small: make data, train, export, compare, write a card."""

import argparse
import itertools
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the train extra")
pytest.importorskip("ultralytics", reason="needs the train extra")

from datasets.crops import crops
from datasets.scene import stills
from models import measure_classifier, train_classifier, train_detector
from models.card import write_card
from models.parity import classifier_parity, detector_parity
from vision.edge.model import load
from vision.sight.classifier import Classifier, batch

pytestmark = [pytest.mark.train, pytest.mark.slow]
OWN_DECKS = ("casino", "harbour")


def test_classifier_trained_a_little_exports_to_the_same_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Train, export, open through our own loader: same logits, and it has learned something."""
    monkeypatch.setattr(train_classifier, "RUNS", tmp_path)
    monkeypatch.setattr(train_classifier, "FIRST_STOCK", 256)
    arguments = argparse.Namespace(
        minutes=0.25, bank=384, held_out=64, batch=32, rate=2e-3, makers=1, every=600.0,
        resume=None, seed=1,
    )  # fmt: skip
    training = train_classifier.Training(arguments)
    train_classifier.fill(training.bank, 1, 1, "train")
    begun = training.step(0.0)
    checkpoint = training.run()
    assert training.step(1.0) < begun
    exported = tmp_path / "classifier.onnx"
    measure_classifier.export(checkpoint, exported)
    pictures = [crop for crop, _ in itertools.islice(crops(5, decks=OWN_DECKS), 16)]
    parity = classifier_parity(checkpoint, exported, pictures)
    assert parity.unmatched == 0
    assert parity.largest_gap < 1e-3
    write_card(exported, {"name": "classifier", "labels": ["x"], "settings": {"temperature": 1.5}})
    model = load(exported)
    assert model.settings == {"temperature": 1.5}
    looks = Classifier(model, temperature=1.5).looks(model(batch(pictures)))
    assert len(looks) == len(pictures)


def test_detector_trained_a_little_exports_to_the_same_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Render, train, export: torch and ONNX give the same boxes through our own decoding."""
    monkeypatch.setattr(train_detector, "RUNS", tmp_path)
    train_detector.make(tmp_path / "data", "train", first=0, count=4)
    train_detector.make(tmp_path / "data", "test", first=0, count=1)
    data = train_detector.describe(tmp_path / "data")
    arguments = argparse.Namespace(minutes=0.3, epochs=1, resume=None, seed=1, rate=1e-3)
    checkpoint = train_detector.train(data, arguments)
    exported = train_detector.export(checkpoint, tmp_path / "detector.onnx")
    pictures = [still.image for still in itertools.islice(stills(9, decks=OWN_DECKS), 2)]
    parity = detector_parity(checkpoint, exported, pictures, threshold=0.001)
    assert parity.largest_gap < 0.05
    assert parity.cards > 0


def test_card_written_is_toml_with_the_hash_first(tmp_path: Path) -> None:
    """A card can be read back, tables and awkward keys included."""
    model = tmp_path / "thing.onnx"
    model.write_bytes(b"abc")
    card = tomllib.loads(
        write_card(model, {"name": "thing", "t": {"from 14 px": "1 of 2", "a": 1.5}}).read_text()
    )
    assert card["sha256"].startswith("ba7816bf")
    assert card["t"] == {"from 14 px": "1 of 2", "a": 1.5}
