"""The recipes themselves, small: make data, train, export, compare, write a card."""

import argparse
import itertools
import shutil
import tomllib
from pathlib import Path
from typing import cast

import pytest

pytest.importorskip("torch", reason="needs the train extra")
pytest.importorskip("ultralytics", reason="needs the train extra")

import numpy as np
import onnx
import torch
from torch import nn

from datasets.training.crops import NO_CARD, crops
from datasets.training.scene import Still, stills
from models.evaluate import classifier as measure_classifier
from models.evaluate import compare_detectors
from models.evaluate import corners as measure_corners
from models.evaluate import detector as measure_detector
from models.evaluate.parity import (
    FILES,
    classifier_parity,
    corners_parity,
    detector_parity,
    letterboxed,
    restored,
    shipped,
    trained,
    trained_detector,
)
from models.networks import model_card
from models.networks.classifier import CardNet, CornerNet, onnx_runner
from models.networks.model_card import SHIPPED, write_card
from models.networks.restore import restore
from models.networks.yolo_obb import QuickOBB
from models.train import classifier as train_classifier
from models.train import corners as train_corners
from models.train import detector as train_detector
from models.train.average import average, mean_of
from models.train.detector import NETWORK, Classes, mixed, pieces
from models.train.sample_bank import Bank, fill
from vision.inference.load import load_model
from vision.sight.detection.classifier import Classifier
from vision.sight.detection.detector import KINDS, Detector, Kind, batch
from vision.sight.geometry.plane import overlap

pytestmark = [pytest.mark.train, pytest.mark.slow]
OWN_DECKS = ("casino", "harbour")


def test_bank_opened_at_another_size_keeps_its_pictures(tmp_path: Path) -> None:
    """A bank grows and is seen in part; opening one never costs what was stored."""
    picture = np.full((4, 3, 3), 7, np.uint8)
    fill(Bank(tmp_path, 5, size=(3, 4)), [(picture, number) for number in range(5)])
    assert Bank(tmp_path, 2, size=(3, 4)).slice(0, 2)[1].tolist() == [0, 1]
    grown = Bank(tmp_path, 8, size=(3, 4))
    assert grown.ready() == 5
    fill(grown, [(picture, 9)] * 3)
    assert grown.slice(0, 8)[1].tolist() == [0, 1, 2, 3, 4, 9, 9, 9]


@pytest.mark.nightly
def test_classifier_trained_a_little_exports_to_the_same_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Train, export, open through our own loader: same logits, and it has learned something."""
    monkeypatch.setattr(train_classifier, "RUNS", tmp_path)
    arguments = argparse.Namespace(
        minutes=0.25, steps=60, bank=384, held_out=64, batch=32, rate=2e-3, makers=1, every=600.0,
        resume=None, seed=1, real=None, teacher=None,
    )  # fmt: skip
    held_out = train_classifier.bank_of("held_out", 64)
    train_classifier.make("test", held_out, 0, 1)
    training = train_classifier.Training(arguments, held_out)
    train_classifier.make("train", training.bank, 0, 1)
    begun = training.step(0.0)
    checkpoint = training.run(tmp_path / "classifier.pt")
    assert training.step(1.0) < begun
    assert "held-out right" in training.measured()
    exported = tmp_path / "classifier.onnx"
    train_classifier.export(checkpoint, exported)
    pictures = [crop for crop, _ in itertools.islice(crops(5, decks=OWN_DECKS), 16)]
    parity = classifier_parity(trained(CardNet(), checkpoint), exported, pictures)
    assert parity.unmatched == 0
    assert parity.largest_gap < 1e-3
    monkeypatch.setattr("sys.argv", ["measure_classifier", str(exported), "--crops", "64"])
    measure_classifier.main()
    arguments.resume = arguments.teacher = exported
    taught = train_classifier.Training(arguments, held_out)
    assert taught.step(0.0) < begun
    assert "calibration_error_pct" in capsys.readouterr().out
    assert not exported.with_suffix(".toml").exists()
    write_card(exported, {"name": "classifier", "labels": ["x"], "settings": {"temperature": 1.5}})
    model = load_model(exported, threads=1)
    assert model.settings == {"temperature": 1.5}
    observations = Classifier(model, temperature=1.5).observations(model(batch(pictures)))
    assert len(observations) == len(pictures)


def test_teacher_counts_only_where_it_is_right() -> None:
    """What it answers rightly, and of what is no card, is kept; what it misreads is not."""
    reported = torch.full((3, 20), -4.0)
    reported[:, 4] = reported[:, 14] = 4.0  # a five of diamonds
    truth = torch.tensor([[17, 2, 2, 0], [22, 2, 2, 0], [NO_CARD, 0, 0, 0]])
    lost = torch.zeros(3, 20)
    apart = [
        train_classifier.kept(lost[i : i + 1], reported[i : i + 1], truth[i : i + 1]).item()
        for i in range(3)
    ]
    assert apart[0] == apart[2] > 2
    assert apart[1] == 0
    assert train_classifier.kept(reported, reported, truth).item() == pytest.approx(0)


@pytest.mark.nightly
def test_corner_finder_trained_a_little_exports_to_the_same_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Train, export, find: same shifts in torch and ONNX, and corners nearer than the boxes'."""
    monkeypatch.setattr(train_corners, "RUNS", tmp_path)
    arguments = argparse.Namespace(
        minutes=0.3, steps=80, bank=256, held_out=64, batch=32, rate=2e-3, makers=1, every=600.0,
        resume=None, seed=1,
    )  # fmt: skip
    held_out = train_corners.bank_of("held_out", 64)
    train_corners.make("test", held_out, 0, 1)
    training = train_corners.Training(arguments, held_out)
    train_corners.make("train", training.bank, 0, 1)
    checkpoint = training.run(tmp_path / "corners.pt")
    before, after = train_corners.measure(training.net, training.bank, training.device)
    assert after < before
    exported = tmp_path / "corners.onnx"
    train_corners.export(checkpoint, exported)
    pictures = [crop for crop, _ in itertools.islice(crops(5, decks=OWN_DECKS), 16)]
    parity = corners_parity(trained(CornerNet(), checkpoint), exported, pictures)
    assert parity.unmatched == 0
    monkeypatch.setattr("sys.argv", ["measure_corners", str(exported), "--stills", "3"])
    measure_corners.main()
    assert "boxes" in capsys.readouterr().out
    assert not exported.with_suffix(".toml").exists()


def test_detector_measured_again_keeps_what_its_card_says_of_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who only measures a shipped file cannot know how it was trained: the card still says it."""
    for suffix in ("onnx", "toml"):
        shutil.copy(SHIPPED / f"detector.{suffix}", tmp_path)
    monkeypatch.setattr(model_card, "SHIPPED", tmp_path)
    monkeypatch.setattr(
        "sys.argv", ["measure_detector", str(tmp_path / "detector.onnx"), "--stills", "2", "--ship"]
    )
    before = tomllib.loads((SHIPPED / "detector.toml").read_text("utf-8"))
    measure_detector.main()
    after = tomllib.loads((tmp_path / "detector.toml").read_text("utf-8"))
    assert after["trained"] == before["trained"]
    assert after["labels"] == before["labels"]
    assert after["measured"]["stills"] == 2


@pytest.mark.nightly
def test_network_restored_from_its_export_is_the_same(tmp_path: Path) -> None:
    """What was exported can be trained on: restored, it says the same, and training moves it."""
    torch.manual_seed(3)
    net = CardNet()
    checkpoint, exported = tmp_path / "net.pt", tmp_path / "net.onnx"
    pictures = torch.rand(64, 3, 136, 96)
    net(pictures)
    torch.save(net.state_dict(), checkpoint)
    train_classifier.export(checkpoint, exported)
    again = CardNet()
    restore(again, exported, pictures)
    with torch.no_grad():
        assert torch.allclose(net.eval()(pictures), again.eval()(pictures), atol=1e-3)
        # In training the normalisations see the same statistics, so nothing jumps.
        cast("nn.Dropout", again.head[0]).p = 0.0
        assert torch.allclose(again.eval()(pictures), again.train()(pictures), atol=1e-2)


@pytest.mark.nightly
def test_wider_network_gives_what_the_narrower_one_gave(tmp_path: Path) -> None:
    """Weights taken over from a narrower file say the same, and what is new can be learned."""
    torch.manual_seed(4)
    narrow, wide = CardNet((8, 16, 24, 32)), CardNet((12, 20, 24, 40))
    checkpoint, exported = tmp_path / "net.pt", tmp_path / "net.onnx"
    pictures = torch.rand(64, 3, 136, 96)
    narrow(pictures)
    torch.save(narrow.state_dict(), checkpoint)
    train_classifier.export(checkpoint, exported, (8, 16, 24, 32))
    restore(wide, exported, pictures)
    reported = wide.eval()(pictures)
    assert torch.allclose(narrow.eval()(pictures), reported, atol=1e-3)
    reported.sum().backward()
    head = cast("nn.Linear", wide.head[1]).weight.grad
    assert head is not None
    assert (head[:, 32:40] != 0).any()
    with pytest.raises(ValueError, match="layers"):
        restore(CardNet((8, 16, 24, 24)), exported, pictures)


@pytest.mark.nightly
def test_average_of_two_networks_says_the_mean_of_their_weights(tmp_path: Path) -> None:
    """Two files that differ in their last layer alone average to the mean of what they say."""
    torch.manual_seed(5)
    widths = (8, 16, 24, 32)
    net, pictures = CardNet(widths), torch.rand(64, 3, 136, 96)
    net(pictures)
    files = [tmp_path / "one.onnx", tmp_path / "other.onnx", tmp_path / "wider.onnx"]
    reported = []
    for file, raised in zip(files[:2], (0.0, 2.0), strict=True):
        with torch.no_grad():
            cast("nn.Linear", net.head[1]).bias.add_(raised)
            reported.append(net.eval()(pictures))
        torch.save(net.state_dict(), tmp_path / "net.pt")
        train_classifier.export(tmp_path / "net.pt", file, widths)
    mean = CardNet(widths)
    average(files[:2], mean, pictures)
    with torch.no_grad():
        assert torch.allclose(mean.eval()(pictures), (reported[0] + reported[1]) / 2, atol=1e-3)
    onnx.save(mean_of(files[:2]), str(tmp_path / "mean.onnx"))
    _, infer = onnx_runner(tmp_path / "mean.onnx", threads=1)
    assert np.allclose(infer(pictures.numpy()), (reported[0] + reported[1]) / 2, atol=1e-3)
    torch.save(CardNet((8, 16, 24, 40)).state_dict(), tmp_path / "net.pt")
    train_classifier.export(tmp_path / "net.pt", files[2], (8, 16, 24, 40))
    with pytest.raises(ValueError, match="one network"):
        average(files, mean, pictures)


@pytest.mark.nightly
def test_detector_trained_a_little_exports_to_the_same_network(tmp_path: Path) -> None:
    """Render, train, export: torch and ONNX give the same boxes through our own decoding."""
    train_detector.make(tmp_path / "data", "train", first=0, count=4)
    train_detector.make(tmp_path / "data", "test", first=0, count=1)
    data = train_detector.describe(tmp_path / "data")
    arguments = argparse.Namespace(minutes=0.3, epochs=1, resume=None, seed=1, rate=1e-3)
    checkpoint = train_detector.train(data, arguments, tmp_path)
    exported = train_detector.export(checkpoint, tmp_path / "detector.onnx")
    pictures = [still.image for still in itertools.islice(stills(9, decks=OWN_DECKS), 2)]
    parity = detector_parity(trained_detector(checkpoint), exported, pictures, threshold=0.001)
    assert parity.largest_gap < 0.05
    assert parity.cards > 0


@pytest.mark.nightly
def test_detector_goes_on_from_what_ships(tmp_path: Path) -> None:
    """Trained at next to no rate it finds what it found."""
    train_detector.make(tmp_path / "data", "train", first=0, count=4)
    train_detector.make(tmp_path / "data", "test", first=0, count=1)
    data = train_detector.describe(tmp_path / "data")
    shipped = SHIPPED / "detector.onnx"
    arguments = argparse.Namespace(minutes=0.1, epochs=1, resume=str(shipped), seed=1, rate=1e-7)
    checkpoint = train_detector.train(data, arguments, tmp_path)
    exported = train_detector.export(checkpoint, tmp_path / "detector.onnx")
    runs = [onnx_runner(path, threads=1)[1] for path in (shipped, exported)]
    for still in itertools.islice(stills(10, decks=OWN_DECKS), 4):
        before, after = (Detector(run)(still.image) for run in runs)
        for one in before:
            assert max((overlap(one.quad, other.quad) for other in after), default=0) > 0.5


def test_stills_differ_and_a_hand_has_its_class() -> None:
    """No two of the stills are the same; without that class none is labelled."""
    shown = list(itertools.islice(mixed(3, "train"), 4))
    assert not np.array_equal(shown[0].image, shown[2].image)
    held = Still(shown[0].image, (), (shown[0].labels[0].quad,))
    lines = [line for _, labels in pieces(held) for line in labels]
    assert {int(line.split()[0]) for line in lines} == {KINDS.index(Kind.HAND)}
    assert [labels for _, labels in pieces(held, Classes(KINDS[:-1])) if labels] == []


def test_shipped_files_say_in_torch_what_they_say_in_onnx_runtime() -> None:
    """Without checkpoints: the files' weights, back in torch, give the same cards."""
    scenes = [still.image for still in itertools.islice(stills(11, decks=OWN_DECKS), 4)]
    faces = [crop for crop, _ in itertools.islice(crops(11, decks=OWN_DECKS), 32)]
    detector, corners, classifier = shipped(scenes, faces)
    found = detector_parity(detector, FILES["detector"], scenes)
    assert found.cards > 0
    assert found.unmatched == 0
    assert corners_parity(corners, FILES["corners"], faces).unmatched == 0
    assert classifier_parity(classifier, FILES["classifier"], faces).unmatched == 0


@pytest.mark.nightly
def test_detector_of_fewer_kinds_is_taken_over() -> None:
    """A file of one kind fewer can be trained on: of its kinds the network says the same."""
    scenes = [still.image for still in itertools.islice(stills(12, decks=OWN_DECKS), 4)]
    seen = np.concatenate([letterboxed(scene) for scene in scenes])
    net = QuickOBB(NETWORK, nc=len(KINDS) + 1, verbose=False)
    file = SHIPPED / "detector.onnx"
    _, infer = onnx_runner(file, threads=1)
    with torch.no_grad():
        reported = restored(net, file, seen).eval()(torch.from_numpy(seen))[0].numpy()
    known = len(load_model(file, threads=1).labels)
    mine = np.concatenate([reported[:, : 4 + known], reported[:, -1:]], axis=1)
    given = np.concatenate([infer(one[None]) for one in seen])
    assert reported.shape[1] == given.shape[1] + 1
    assert np.abs(mine - given).max() < 0.01


def test_card_written_is_toml_with_the_hash_first(tmp_path: Path) -> None:
    """A card can be read back, tables and awkward keys included."""
    model = tmp_path / "thing.onnx"
    model.write_bytes(b"abc")
    card = tomllib.loads(
        write_card(model, {"name": "thing", "t": {"from 14 px": "1 of 2", "a": 1.5}}).read_text()
    )
    assert card["sha256"].startswith("ba7816bf")
    assert card["t"] == {"from 14 px": "1 of 2", "a": 1.5}


def test_corners_as_keypoints_are_labelled_and_found_alike() -> None:
    """A card's label is the same from whichever corner, and what a network says of it is found."""
    quad = np.array([[0.5, 0.1], [0.6, 0.2], [0.4, 0.5], [0.3, 0.4]])

    def line(turn: int) -> str:
        numbers = np.roll(quad, turn, axis=0).reshape(-1)
        return compare_detectors.corners_line("1 " + " ".join(map(str, numbers)))

    assert len({line(turn) for turn in range(4)}) == 1
    row = np.array([*map(float, line(0).split()[1:])], np.float32) * 416
    output = np.concatenate([row[:4], [0.0, 0.9, 0.0, 0.0], row[4:]])
    hand = np.concatenate([row[:4], [0.0, 0.0, 0.0, 0.9], row[4:] / 2])
    outputs = np.stack([output, hand], axis=1).astype(np.float32)
    find = compare_detectors.corners_finder(lambda _: outputs[None])
    (found,) = find(np.zeros((416, 416, 3), np.uint8))
    assert (found.kind, found.score) == (Kind.BACK, pytest.approx(0.9))
    assert np.linalg.norm(found.quad[1] - found.quad[0]) < 80
    assert np.allclose(sorted(found.quad.tolist()), sorted((quad * 416).tolist()), atol=0.01)
