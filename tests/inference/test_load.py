"""Model files and their cards: only what was measured is run."""

import hashlib
import tomllib
from pathlib import Path

import numpy as np
import pytest

from vision.errors import ConfigurationError
from vision.inference import load as load_module
from vision.inference.load import (
    OUTPUT_NAMES,
    load_model,
    open_models,
    packaged,
    quick,
)


def put(folder: Path, data: bytes, card: str | None = None) -> Path:
    """Write a model file and, unless another is given, a card with its true hash."""
    path = folder / "thing.onnx"
    path.write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    path.with_suffix(".toml").write_text(card or f'sha256 = "{digest}"\nlabels = ["a"]\n')
    return path


def digest_of(name: str) -> str:
    """Return the SHA-256 of a packaged model in 32 bits."""
    return hashlib.sha256(packaged(name).read_bytes()).hexdigest()


def test_load_without_the_model_file_names_it_and_the_cure(tmp_path: Path) -> None:
    """A wrong path is said as such, not as a missing card."""
    with pytest.raises(ConfigurationError, match=r"nix\.onnx: cannot read the model"):
        load_model(tmp_path / "nix.onnx", threads=1)


def test_load_without_a_card_says_that_every_model_needs_one(tmp_path: Path) -> None:
    """A model without its card is not run."""
    path = put(tmp_path, b"x")
    path.with_suffix(".toml").unlink()
    with pytest.raises(ConfigurationError, match=r"thing\.toml: the model card is missing"):
        load_model(path, threads=1)


@pytest.mark.parametrize("card", ["sha256 = ", "labels = [", "\x00"])
def test_load_with_a_card_that_is_no_toml_names_the_card(tmp_path: Path, card: str) -> None:
    """A spoilt card is named."""
    with pytest.raises(ConfigurationError, match=r"thing\.toml: cannot read the model card"):
        load_model(put(tmp_path, b"x", card), threads=1)


def test_load_of_a_file_that_differs_from_its_card_is_refused(tmp_path: Path) -> None:
    """One changed byte is enough."""
    path = put(tmp_path, packaged("classifier").read_bytes())
    path.write_bytes(path.read_bytes()[:-1] + b"\x00")
    with pytest.raises(ConfigurationError, match="SHA-256"):
        load_model(path, threads=1)


@pytest.mark.parametrize("keep", [0, 5, 5000])
def test_load_of_a_truncated_model_is_refused(tmp_path: Path, keep: int) -> None:
    """A file cut short is no usable model, even where a card vouches for it."""
    path = put(tmp_path, packaged("detector").read_bytes()[:keep])
    with pytest.raises(ConfigurationError, match="not a usable ONNX model"):
        load_model(path, threads=1)


def test_open_eyes_with_the_models_swapped_says_which_key_is_wrong() -> None:
    """A classifier in the detector's place is noticed before it runs."""
    with pytest.raises(ConfigurationError, match=r"\[models\] detector"):
        open_models({"detector": packaged("classifier")}, threads=1)


def test_open_eyes_gives_the_hashes_of_the_packaged_models() -> None:
    """What is said to be in use is what is in use."""
    hashes = open_models(threads=1, eight_bit=False).hashes
    table = packaged("mouth").with_name("following.toml")
    assert hashes.pop("following") == hashlib.sha256(table.read_bytes()).hexdigest()
    assert hashes == {name: digest_of(name) for name in OUTPUT_NAMES}


def eight_bit(folder: Path, made_from: str) -> tuple[Path, Path]:
    """Write a model and an 8-bit file that says what it was made from; return both paths."""
    model = put(folder, b"whole")
    small = folder / "int8" / model.name
    small.parent.mkdir()
    small.write_bytes(b"small")
    small.with_suffix(".toml").write_text(f'made_from = "{made_from}"\n')
    return model, small


@pytest.mark.parametrize(
    ("made_from", "has_dot_products", "used"),
    [
        (b"whole", True, "8 bits"),
        (b"earlier", True, "whole"),  # trained again since: itself, until its 8-bit file is new
        (b"whole", False, "whole"),  # 8 bits would be slower, and sums might overflow
    ],
)
def test_quick_gives_the_8_bit_file_of_the_very_model_where_the_processor_has_a_use_for_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    made_from: bytes,
    *,
    has_dot_products: bool,
    used: str,
) -> None:
    """Where the processor has dot products of bytes, the file made from this model is used."""
    monkeypatch.setattr(load_module, "has_dot_products", lambda: has_dot_products)
    model, small = eight_bit(tmp_path, hashlib.sha256(made_from).hexdigest())
    assert quick(model) == (small if used == "8 bits" else model)


def test_packaged_8_bit_files_are_made_from_the_packaged_models() -> None:
    """What ships in 8 bits is what ships in 32: `python -m models.quantise` was run last."""
    made = list((packaged("detector").parent / "int8").glob("*.onnx"))
    assert made
    for small in made:
        card = tomllib.loads(small.with_suffix(".toml").read_text("utf-8"))
        assert card["made_from"] == digest_of(small.stem), small.stem
        assert card["sha256"] == hashlib.sha256(small.read_bytes()).hexdigest(), small.stem


def test_model_whose_weights_lie_in_other_files_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No hash covers them, and they would come from the working folder."""
    onnx = pytest.importorskip("onnx")
    value = onnx.numpy_helper.from_array(np.full(2000, 7, np.float32), "w")
    node = onnx.helper.make_node("Add", ["x", "w"], ["y"])
    ends = [onnx.helper.make_tensor_value_info(name, 1, [2000]) for name in "xy"]
    graph = onnx.helper.make_graph([node], "g", ends[:1], ends[1:], [value])
    path = tmp_path / "m.onnx"
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, str(path), save_as_external_data=True, location="w.bin", size_threshold=0)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    path.with_suffix(".toml").write_text(f'sha256 = "{digest}"\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match="separate files, which no hash covers"):
        load_model(path, threads=1)
