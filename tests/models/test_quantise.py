"""8-bit files: what stays whole, what counts as worse, what is asked for."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from models.networks.classifier import onnx_runner
from models.networks.model_card import SHIPPED
from models.quantise import Inputs, chosen, last_layers, of_size, with_sums, worse

BEFORE = {"found_pct": 80.0, "wrong_kind_pct": 1.0}


def chain(layers: int) -> onnx.ModelProto:
    """Return convolutions one behind the other, named by their number."""
    nodes = [
        helper.make_node("Conv", [f"x{i}", "w"], [f"x{i + 1}"], name=f"conv{i}")
        for i in range(layers)
    ]
    ends = [helper.make_tensor_value_info(name, 1, None) for name in ("x0", f"x{layers}")]
    return helper.make_model(helper.make_graph(nodes, "chain", ends[:1], ends[1:]))


@pytest.mark.parametrize(("layers", "names"), [(0, []), (1, ["conv3"]), (2, ["conv2", "conv3"])])
def test_last_layers_are_those_with_few_others_behind(layers: int, names: list[str]) -> None:
    """The answer itself stays in 32 bits: so many layers from the end."""
    assert last_layers(chain(4), layers) == names


def test_last_layers_of_the_detector_have_few_convolutions() -> None:
    """Nearly all of the detector's work is done in 8 bits."""
    model = onnx.load(str(SHIPPED / "detector.onnx"))
    convolutions = {node.name for node in model.graph.node if node.op_type == "Conv"}
    assert 0 < len(convolutions.intersection(last_layers(model, 1))) < len(convolutions) / 4


def test_means_are_the_same_without_softmax(tmp_path: Path) -> None:
    """The detector's boxes are where they were, to a thousandth of a pixel."""
    whole, quick = SHIPPED / "detector.onnx", tmp_path / "quick.onnx"
    model = with_sums(onnx.load(str(whole)))
    onnx.save(model, str(quick))
    picture = np.random.default_rng(1).random((1, 3, 96, 128), np.float32)
    answer, same = (onnx_runner(path, threads=1)[1](picture) for path in (whole, quick))
    assert np.abs(answer - same).max() < 1e-3
    assert [node.op_type for node in model.graph.node].count("Softmax") == 1  # of its attention


@pytest.mark.parametrize(
    ("after", "lost"),
    [
        ({"found_pct": 79.8, "wrong_kind_pct": 0.5}, []),
        ({"found_pct": 78.0, "wrong_kind_pct": 1.0}, ["found_pct"]),
        ({"found_pct": 90.0, "wrong_kind_pct": 1.5}, ["wrong_kind_pct"]),
    ],
    ids=["noise, and better", "finds less", "takes backs for faces"],
)
def test_worse_names_the_figures_that_fell(after: dict[str, float], lost: list[str]) -> None:
    """A file passes only if no figure is worse by more than is allowed; better is never worse."""
    assert worse(BEFORE, after) == lost


def test_inputs_keep_single_pictures_of_batches_up_to_a_limit() -> None:
    """Calibration takes inputs of one shape, however many crops a call had."""
    inputs = Inputs()
    run = inputs.kept("corners", lambda tensor: tensor)
    for count in (3, 60):
        assert len(run(np.zeros((count, 3, 4, 4), np.float32))) == count
    assert {one.shape for one in inputs.given["corners"]} == {(1, 3, 4, 4)}
    assert len(inputs.given["corners"]) == 48


@pytest.mark.parametrize("size", [(100, 300), (2000, 900), (720, 1280)])
def test_photograph_is_cut_to_the_shape_of_a_table_picture(size: tuple[int, int]) -> None:
    """Upright or wide, small or large: one shape comes out."""
    assert of_size(np.zeros((*size, 3), np.uint8)).shape == (720, 1280, 3)


def test_ship_of_a_network_that_there_is_not_says_how_to_write_it() -> None:
    """A slip of the keyboard ships nothing."""
    assert chosen(["detector=percentile"]) == {"detector": "percentile"}
    with pytest.raises(SystemExit, match="NETWORK=METHOD"):
        chosen(["detektor=percentile"])
