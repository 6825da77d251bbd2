"""Resizes that TVM gets wrong, spelled out: onnxruntime's own results, and no change where TVM is right."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnxruntime
import pytest
import tvm
from tvm import relax

from tcl_core.config import NetworkConfig
from tcl_core.network.importer import import_network
from tcl_core.network.load import load_network
from tcl_core.network.rewrites.resizes import spell_out_resize
from tcl_core.network.rewrites.simplify import simplify

CPU = {"kind": "llvm", "num-cores": 1}
COORDINATES = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"]
ROUNDINGS = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
FLOAT, HALF, BYTE = onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.UINT8

ODD_SHAPE = (1, 2, 11, 13)
ODD = {"shape": ODD_SHAPE, "scales": (1, 1, 1.5, 1.5)}
DOWN = {"shape": (1, 2, 11, 13), "scales": (1, 1, 0.5, 0.6)}
MIXED = {"shape": (1, 2, 11, 13), "scales": (1, 1, 0.3, 2.3)}
CHANNELS_LAST = {"shape": (1, 11, 13, 3), "scales": (1, 1.5, 1.3, 1)}
PLANE = {"shape": (11, 13), "scales": (1.5, 0.7)}
THREE = {"shape": (4, 7, 13), "scales": (1, 0.5, 1.6)}
VOLUME = {"shape": (1, 2, 5, 6, 7), "scales": (1, 1, 1.3, 0.7, 2)}
AXES = {"shape": (2, 3, 11, 13), "scales": (0.4, 1.9), "axes": (3, 2)}
NOT_LARGER = {"shape": (1, 2, 11, 13), "sizes": (20, 20), "axes": (2, 3), "keep_aspect_ratio_policy": "not_larger"}
NOT_SMALLER = NOT_LARGER | {"keep_aspect_ratio_policy": "not_smaller"}
TO_ONE = {"shape": (1, 2, 11, 13), "sizes": (1, 2, 1, 20)}
FORMS = [ODD, DOWN, MIXED, CHANNELS_LAST, PLANE, THREE, VOLUME, AXES, NOT_LARGER, NOT_SMALLER, TO_ONE]


def resized(
    tools: Any,
    shape: tuple[int, ...],
    scales: tuple[float, ...] | None = None,
    sizes: tuple[int, ...] | None = None,
    *,
    kind: int = FLOAT,
    opset: int = 19,
    **attributes: Any,
) -> Any:
    """A model of one `Resize`."""
    weights, names = [], ["x", "", ""]
    if opset == 11:  # which knows no inputs that are left out in the middle
        weights.append(tools.tensor("roi", np.array([], np.float32)))
        names[1] = "roi"
    if scales is not None:
        weights.append(tools.tensor("scales", np.array(scales, np.float32)))
        names[2] = "scales"
    if sizes is not None:
        weights.append(tools.tensor("sizes", np.array(sizes, np.int64)))
        names.append("sizes")
    node = tools.node("Resize", names, ["y"], name="resize", **attributes)
    return tools.model([node], [tools.value("x", shape, kind)], [tools.value("y", None, kind)], weights, opset=opset)


def operators(model: Any) -> list[str]:
    return [node.op_type for node in model.graph.node]


def attributes_of(node: Any) -> dict[str, Any]:
    return {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}


def data(model: Any) -> Any:
    """Not on a grid: neighbours all differ."""
    kind = model.graph.input[0].type.tensor_type
    values = np.random.default_rng(0).uniform(0, 200, [dim.dim_value for dim in kind.shape.dim])
    return values.astype(onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type))


def run(model: Any, feed: Any) -> Any:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": feed})[0]


def compared(model: Any, **tolerances: float) -> Any:
    """The simplified model, after its results were found to be those of the model."""
    simplified = simplify(model).model
    feed = data(model)
    ours, theirs = run(simplified, feed), run(model, feed)
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, **({"rtol": 1e-5, "atol": 2e-3} | tolerances))
    return simplified


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_nearest_neighbours(tools: Any, form: dict[str, Any], coordinates: str, rounding: str) -> None:
    words = {"mode": "nearest", "coordinate_transformation_mode": coordinates, "nearest_mode": rounding}
    compared(resized(tools, **form, **words), rtol=0, atol=0)


@pytest.mark.parametrize("size", [14, 18, 20])
@pytest.mark.parametrize("coordinates", COORDINATES)
def test_ties_are_onnxruntimes(tools: Any, size: int, coordinates: str) -> None:
    """14 to 39 reads element 19 at 6.4999995, which is a tie; the frontend's kernel would see one or not."""
    for wanted in (1, 6, 19, 31, 39):
        for rounding in ("round_prefer_floor", "round_prefer_ceil"):
            words = {"mode": "nearest", "coordinate_transformation_mode": coordinates, "nearest_mode": rounding}
            compared(resized(tools, (1, 1, 1, size), sizes=(1, 1, 1, wanted), **words), rtol=0, atol=0)


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("filtered", [{}, {"antialias": 1}, {"antialias": 1, "exclude_outside": 1}], ids=str)
def test_linear_interpolation(tools: Any, form: dict[str, Any], coordinates: str, filtered: dict[str, int]) -> None:
    compared(resized(tools, **form, mode="linear", coordinate_transformation_mode=coordinates, **filtered))


@pytest.mark.parametrize("form", [ODD, DOWN, MIXED, PLANE, AXES, NOT_LARGER, TO_ONE], ids=str)
@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("filtered", [0, 1])
@pytest.mark.parametrize("words", [{}, {"exclude_outside": 1, "cubic_coeff_a": -0.5}], ids=str)
def test_cubic_interpolation(
    tools: Any, form: dict[str, Any], coordinates: str, filtered: int, words: dict[str, Any]
) -> None:
    words = words | {"mode": "cubic", "coordinate_transformation_mode": coordinates, "antialias": filtered}
    compared(resized(tools, **form, **words))


@pytest.mark.parametrize("kind", [FLOAT, BYTE])
def test_neighbours_of_any_type(tools: Any, kind: int) -> None:
    simplified = compared(resized(tools, **ODD, kind=kind, opset=18, mode="nearest"), rtol=0, atol=0)
    assert operators(simplified) == ["Gather", "Gather"]


def test_products_of_halves_are_floats(tools: Any) -> None:
    """Now onnxruntime (1.32) resizes no halves and casts them itself; a later one may leave that to us."""
    model = resized(tools, **ODD, kind=HALF, mode="linear")
    compared(model, rtol=2e-3, atol=0)
    (node,) = model.graph.node
    made = spell_out_resize(
        node, {each.name: each for each in model.graph.initializer}, {"x": ODD_SHAPE}, {"x": HALF}, 19
    )
    assert made is not None
    assert [each.op_type for each in made[0]] == ["Cast", "MatMul", "MatMul", "Cast"]
    assert made[0][-1].output[0] == "y"
    assert {each.data_type for each in made[1]} == {FLOAT}


def test_the_batch_and_the_channels(tools: Any) -> None:
    model = resized(tools, (2, 3, 4, 5), (2, 1.5, 2, 2), mode="nearest")
    assert operators(compared(model, rtol=0, atol=0)) == ["Gather"] * 4


def test_the_shorter_axis_is_made_first(tools: Any) -> None:
    simplified = compared(resized(tools, (1, 2, 10, 11), (1, 1, 2.35, 0.3), mode="linear"))
    first, second = simplified.graph.node
    assert first.input[0] == "x", "the columns, which become fewer"
    assert second.input[1] == first.output[0]


def test_no_change_of_sizes_is_none(tools: Any) -> None:
    """It copies, whatever the scales are."""
    model = resized(tools, (1, 1, 5, 5), (1, 1, 1.1, 1.1), mode="linear")
    assert operators(compared(model, rtol=0, atol=0)) == ["Identity"]


@pytest.mark.parametrize(
    "form",
    [
        {"scales": (1, 1, 2, 2), "mode": "nearest"},
        {
            "scales": (1, 1, 2, 2),
            "mode": "nearest",
            "coordinate_transformation_mode": "asymmetric",
            "nearest_mode": "floor",
        },
        {
            "scales": (1, 1, 3, 3),
            "mode": "nearest",
            "coordinate_transformation_mode": "asymmetric",
            "nearest_mode": "floor",
        },
        {"scales": (1, 1, 0.5, 0.5), "mode": "nearest"},
        {"sizes": (1, 3, 36, 96), "mode": "nearest"},
        {"scales": (1, 1, 2, 4), "mode": "linear"},
        {"sizes": (1, 3, 33, 35), "mode": "linear"},
        {"sizes": (1, 3, 33, 35), "mode": "linear", "coordinate_transformation_mode": "align_corners"},
        {"scales": (1, 1, 1.3, 2.7), "mode": "linear", "coordinate_transformation_mode": "align_corners"},
        {"sizes": (1, 3, 1, 1), "mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"},
        {"scales": (1, 1, 2, 2), "mode": "linear", "antialias": 1},
        {"sizes": (1, 3, 21, 50), "mode": "cubic", "exclude_outside": 1},
    ],
    ids=str,
)
def test_what_tvm_gets_right_stays(tools: Any, form: dict[str, Any]) -> None:
    model = resized(tools, (1, 3, 20, 80), **form)
    (node,) = simplify(model).model.graph.node
    assert list(node.input) == list(model.graph.node[0].input)
    assert attributes_of(node).items() >= attributes_of(model.graph.node[0]).items()


@pytest.mark.parametrize(
    "form",
    [
        {"scales": (2, 2), "axes": (2, 3)},
        {"sizes": (40, 80), "axes": (-1, -2), "mode": "linear"},
        {"sizes": (1, 3, 30, 27), "mode": "linear", "coordinate_transformation_mode": "half_pixel_symmetric"},
        {"sizes": (5, 10), "axes": (2, 3), "keep_aspect_ratio_policy": "not_larger"},
        {"scales": (), "sizes": (1, 3, 40, 50), "mode": "linear", "opset": 11},
    ],
    ids=str,
)
def test_other_words_for_what_tvm_gets_right(tools: Any, form: dict[str, Any]) -> None:
    """The last is what torch wrote for years: sizes, and scales without elements."""
    simplified = simplify(resized(tools, (1, 3, 20, 40), **form)).model
    (node,) = simplified.graph.node
    assert node.op_type == "Resize"
    assert list(node.input[1:3]) == ["", ""]
    words = attributes_of(node)
    assert not {"axes", "keep_aspect_ratio_policy", "antialias"} & set(words)
    assert words["coordinate_transformation_mode"] == b"half_pixel"


@pytest.mark.parametrize(
    "form",
    [
        {"shape": (1, 3, "h", 8), "scales": (1, 1, 1.3, 1.3), "mode": "linear"},
        {"shape": (1, 3, 8, 8), "scales": (1, 1, 1.3, 1.3), "mode": "linear", "kind": BYTE},
        {"shape": (1, 3, 9, 9), "scales": (1, 1.3, 1.3, 1), "coordinate_transformation_mode": "tf_crop_and_resize"},
    ],
    ids=str,
)
def test_what_cannot_be_spelled_out_stays(tools: Any, form: dict[str, Any]) -> None:
    """Shapes that are not known, interpolation of integers, crops."""
    if "coordinate_transformation_mode" in form:
        model = resized(tools, **form)
        model.graph.initializer.append(tools.tensor("roi", np.array([0, 0, 0.1, 0, 1, 1, 0.9, 1], np.float32)))
        model.graph.node[0].input[1] = "roi"
    else:
        model = resized(tools, **form)
    assert operators(simplify(model).model) == ["Resize"]


def test_computed_scales_stay(tools: Any) -> None:
    model = resized(tools, (1, 1, 5, 5), (1, 1, 1.3, 1.3))
    del model.graph.initializer[:]
    model.graph.input.append(tools.value("scales", [4]))
    assert operators(simplify(model).model) == ["Resize"]


@pytest.mark.parametrize(
    "form",
    [
        ODD | {"mode": "linear", "coordinate_transformation_mode": "asymmetric"},
        DOWN | {"mode": "cubic", "antialias": 1},
        CHANNELS_LAST | {"mode": "linear"},
        CHANNELS_LAST | {"mode": "nearest"},
        PLANE | {"mode": "linear"},
        AXES | {"mode": "nearest"},
        TO_ONE | {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
        {"shape": (1, 2, 9, 9), "scales": (), "sizes": (1, 2, 14, 20), "mode": "linear", "opset": 11},
        {"shape": (1, 2, 9, 9), "sizes": (14, 20), "axes": (2, 3), "mode": "linear"},
    ],
    ids=str,
)
def test_the_imported_network_gives_onnxruntimes_results(tools: Any, form: dict[str, Any]) -> None:
    model = resized(tools, **form)
    network = import_network(
        load_network(tools.save(model), NetworkConfig()), json.dumps(CPU), NetworkConfig(), vector_bits=256
    )
    assert not network.report.issues
    machine = relax.VirtualMachine(tvm.compile(network.module, tvm.target.Target(CPU)), tvm.cpu())
    feed = data(model)
    expected = run(model, feed)
    assert network.network.outputs[0].shape == expected.shape
    np.testing.assert_allclose(machine["main"](tvm.runtime.tensor(feed)).numpy(), expected, rtol=1e-4, atol=2e-3)
