from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnxruntime
import pytest

from tcl_core.errors import UserError
from tests.tcl_core.network.agreement import BOOL, FLOAT, INT64, agree, module_of, run


def test_an_index_out_of_bounds_reads_the_nearest_entry(tools: Any, capfd: pytest.CaptureFixture[str]) -> None:
    """TVM's own reading ends the process for it, at best, and says so in a warning on every import."""
    model = tools.model(
        [tools.node("Gather", ["table", "x"], ["y"], axis=0)],
        [tools.value("x", [4], INT64)],
        [tools.value("y", [4, 2])],
        [tools.tensor("table", np.arange(6, dtype=np.float32).reshape(3, 2))],
    )
    module = module_of(tools.save(model))
    assert capfd.readouterr() == ("", "")
    assert run(module, np.array([1, 1 << 40, -1, 3]))[0].tolist() == [[2, 3], [4, 5], [4, 5], [4, 5]]


@pytest.mark.parametrize(
    ("dtype", "depth", "axis"),
    [("float32", 4, -1), ("int64", [4], -1), ("float32", [4], -3), ("int64", 4, -2), ("float32", 4, 1)],
)
def test_what_is_one_hot_has_the_type_of_its_values_and_its_axis(tools: Any, dtype: str, depth: Any, axis: int) -> None:
    node, kind = tools.node("OneHot", ["x", "depth", "values"], ["y"], axis=axis), np.dtype(dtype)
    result = tools.value("y", np.insert([3, 2], axis % 3, 4).tolist(), onnx.helper.np_dtype_to_tensor_dtype(kind))
    weights = [tools.tensor("depth", np.array(depth)), tools.tensor("values", np.array([0, 1], kind))]
    model = tools.model([node], [tools.value("x", [3, 2], INT64)], [result], weights)
    data = np.array([[2, 0], [3, -1], [1, 1]])
    (found,) = agree(tools.save(model), data)
    assert np.array_equal(found.argmax(axis=axis), data % 4)


def test_a_part_that_an_input_tells_is_resized_to_sizes_beside_empty_scales(tools: Any) -> None:
    """As tf2onnx writes a crop."""
    resize = tools.node(
        "Resize",
        ["x", "part", "scales", "sizes"],
        ["y"],
        mode="linear",
        coordinate_transformation_mode="tf_crop_and_resize",
    )
    model = tools.model(
        [resize],
        [tools.value("x", [1, 2, 8, 9]), tools.value("part", [8])],
        [tools.value("y", [1, 2, 5, 6])],
        [tools.tensor("scales", np.zeros(0, np.float32)), tools.tensor("sizes", np.array([1, 2, 5, 6]))],
    )
    data = np.random.default_rng(0).standard_normal((1, 2, 8, 9)).astype(np.float32)
    agree(tools.save(model), data, np.float32([0, 0, 0.1, 0.2, 1, 1, 0.8, 0.9]))


LIMITS = ("most", "overlap", "least")


def chosen(tools: Any, data: tuple[Any, Any], limits: dict[str, Any], given: str = "") -> Any:
    """A choice of boxes by constants, one of which may be an input; how many there are is told by onnxruntime."""
    weights = {name: np.array([limit], np.int64 if name == "most" else np.float32) for name, limit in limits.items()}
    names = ["boxes", "scores", *(name if name in limits else "" for name in LIMITS)]
    inputs = [tools.value(name, array.shape) for name, array in zip(names, data, strict=False)]
    inputs += [tools.value(given, [1], INT64 if given == "most" else FLOAT)] if given else []
    node = tools.node("NonMaxSuppression", names, ["y"], name="choice")
    constants = [tools.tensor(*each) for each in weights.items() if each[0] != given]
    model = tools.model([node], inputs, [tools.value("y", [None, 3], INT64)], constants)
    feeds = dict(zip(names, data, strict=False)) | ({given: weights[given]} if given else {})
    (found,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)
    model.graph.output[0].type.tensor_type.shape.dim[0].dim_value = len(found)
    return model


def boxes_and_scores() -> tuple[Any, Any]:
    """Boxes between the points of a grid, so that many overlap by the same share; scores of both signs."""
    generator = np.random.default_rng(0)
    corner = generator.integers(0, 5, (2, 20, 2))
    boxes = np.concatenate([corner, corner + generator.integers(1, 3, corner.shape)], axis=2)
    return boxes.astype(np.float32) / 4, generator.uniform(-1, 1, (2, 3, 20)).astype(np.float32)


@pytest.mark.parametrize(
    "limits",
    [
        {"most": 5, "overlap": 0.5, "least": 0.1},
        {"most": 20, "overlap": 1 / 3, "least": 0.0},
        {"most": 20, "overlap": 0.0, "least": -0.5},
        {"most": 2**62, "overlap": 1.0},
        {"most": 20, "least": 0.1},
        {"most": 20},
    ],
)
def test_boxes_are_chosen_as_the_standard_says(tools: Any, limits: dict[str, Any]) -> None:
    data = boxes_and_scores()
    found = agree(tools.save(chosen(tools, data, limits)), *data)
    assert len(found[0]) > 4


@pytest.mark.parametrize(
    ("given", "what"), [("most", "number of boxes"), ("overlap", "greatest overlap"), ("least", "least score")]
)
def test_a_choice_of_boxes_by_what_comes_in_is_refused_by_name(tools: Any, given: str, what: str) -> None:
    """The frontend would take some other number for it."""
    model = chosen(tools, boxes_and_scores(), {"most": 5, "overlap": 0.5, "least": 0.1}, given)
    with pytest.raises(UserError, match=rf"'choice' \(NonMaxSuppression\) .* its {what} is no constant"):
        module_of(tools.save(model))


def test_a_dropout_tells_in_truths_that_it_kept_all(tools: Any) -> None:
    nodes = [tools.node("Dropout", ["x"], ["d", "kept"]), tools.node("Relu", ["d"], ["y"])]
    outputs = [tools.value("y", [2, 3]), tools.value("kept", [2, 3], BOOL)]
    model = tools.model(nodes, [tools.value("x", [2, 3])], outputs)
    agree(tools.save(model), np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3))


@pytest.mark.parametrize("read", [("y",), ("y", "mean"), ("y", "mean", "deviation")])
def test_a_layer_normalization_tells_its_mean_and_deviation(tools: Any, read: tuple[str, ...]) -> None:
    sizes = {"y": [2, 3, 8], "mean": [2, 3, 1], "deviation": [2, 3, 1]}
    model = tools.model(
        [tools.node("LayerNormalization", ["x", "scale", "bias"], list(sizes))],
        [tools.value("x", [2, 3, 8])],
        [tools.value(name, sizes[name]) for name in read],
        [tools.tensor(name, np.linspace(0.5, 1.5, 8, dtype=np.float32)) for name in ("scale", "bias")],
    )
    path = tools.save(model)
    agree(path, np.random.default_rng(0).normal(size=(2, 3, 8)).astype(np.float32))
    whole = any("layer_norm" in variable.name_hint for variable in module_of(path).get_global_vars())
    assert whole is (read == ("y",))  # taken apart only where that is needed


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("axis", [-1, 1])
@pytest.mark.parametrize("results", [["y"], ["y", "mean", "deviation"]], ids=len)
def test_a_layer_normalization_of_doubles_is_one(tools: Any, axis: int, bias: bool, results: list[str]) -> None:
    """As exact as they are: TVM's own operator takes none."""
    double, shape = onnx.TensorProto.DOUBLE, (3, 5)[axis:]
    generator = np.random.default_rng(0)
    weights = [tools.tensor(name, generator.standard_normal(shape)) for name in ("scale", "bias")[: 1 + bias]]
    node = tools.node("LayerNormalization", ["x", *(each.name for each in weights)], results, axis=axis, epsilon=0.7)
    model = tools.model([node], [tools.value("x", [2, 3, 5], double)], [tools.value("y", [2, 3, 5], double)], weights)
    x, axes = 3 + generator.standard_normal((2, 3, 5)), tuple(range(axis % 3, 3))
    scale, *shift = map(onnx.numpy_helper.to_array, weights)
    centred = x - x.mean(axes, keepdims=True)
    expected = centred / np.sqrt(centred.var(axes, keepdims=True) + np.float32(0.7)) * scale + sum(shift)
    (found,) = agree(tools.save(model), x)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_scale_and_bias_of_a_layer_normalization_may_be_broadcast(tools: Any) -> None:
    """What is normalised goes by the axis, not by how many axes the scale has."""
    forms = {"one": ([], 2, True), "row": ([1, 8], -1, True), "matrix": ([8], 1, False), "column": ([8, 1], -2, True)}
    generator = np.random.default_rng(0)
    nodes, weights = [], []
    for name, (shape, axis, biased) in forms.items():
        parts = [f"{name}.scale", f"{name}.bias"][: 1 + biased]
        weights += [tools.tensor(part, generator.normal(size=shape).astype(np.float32)) for part in parts]
        nodes.append(tools.node("LayerNormalization", ["x", *parts], [name], axis=axis))
    size = [2, 8, 8]
    model = tools.model(nodes, [tools.value("x", size)], [tools.value(name, size) for name in forms], weights)
    agree(tools.save(model), generator.normal(size=size).astype(np.float32))


def test_a_cast_to_the_type_that_a_value_has_is_no_kernel(tools: Any) -> None:
    node = tools.node
    nodes = [
        node("Relu", ["x"], ["a"]),
        node("Cast", ["a"], ["y"], to=FLOAT),
        node("CastLike", ["a", "x"], ["z"]),
        node("Cast", ["a"], ["w"], to=INT64),
    ]
    outputs = [tools.value("y", [4]), tools.value("z", [4]), tools.value("w", [4], INT64)]
    path = tools.save(tools.model(nodes, [tools.value("x", [4])], outputs, opset=18))
    agree(path, np.array([-1.5, 0, 1.5, 2], np.float32))
    kernels = [name.name_hint for name, function in module_of(path).functions_items() if "cast" in name.name_hint]
    assert len(kernels) == 1


PARTS = {
    "uneven": (4, 1, [2, 4]),
    "of one": (7, 0, [6, 4]),
    "from the end": (2, -1, [2, 4]),
}


@pytest.mark.parametrize("case", PARTS)
def test_parts_of_a_sequence_are_onnxruntimes(tools: Any, case: str) -> None:
    """Of a network whose results have sizes: its sequences are left to the frontend, which made all parts equal."""
    size, place, shape = PARTS[case]
    nodes = [
        tools.node("SplitToSequence", ["x", "size"], ["s"]),
        tools.node("SequenceAt", ["s", "place"], ["part"]),
        tools.node("Relu", ["part"], ["y"]),
    ]
    numbers = [tools.tensor("size", np.array(size)), tools.tensor("place", np.array(place))]
    model = tools.model(nodes, [tools.value("x", [6, 4])], [tools.value("y", shape)], numbers)
    agree(tools.save(model), np.arange(-12, 12, dtype=np.float32).reshape(6, 4))


@pytest.mark.parametrize("place", [-1, -2, 0, 2])
def test_a_tensor_is_put_where_onnxruntime_puts_it(tools: Any, place: int) -> None:
    nodes = [
        tools.node("Neg", ["x"], ["a"]),
        tools.node("Relu", ["x"], ["b"]),
        tools.node("SequenceConstruct", ["x", "x"], ["s"]),
        tools.node("SequenceInsert", ["s", "a", "place"], ["longer"]),
        tools.node("ConcatFromSequence", ["longer"], ["joined"], axis=0),
        tools.node("Relu", ["joined"], ["y"]),
    ]
    numbers = [tools.tensor("place", np.array(place))]
    model = tools.model(nodes, [tools.value("x", [2, 2])], [tools.value("y", [6, 2])], numbers)
    agree(tools.save(model), np.array([[-1, 2], [3, -4]], np.float32))


def test_a_place_before_the_first_tensor_is_refused_by_name(tools: Any) -> None:
    nodes = [
        tools.node("SequenceConstruct", ["x", "x"], ["s"]),
        tools.node("SequenceAt", ["s", "place"], ["part"], name="at"),
        tools.node("Relu", ["part"], ["y"]),
    ]
    numbers = [tools.tensor("place", np.array(-3))]
    model = tools.model(nodes, [tools.value("x", [2, 2])], [tools.value("y", [2, 2])], numbers)
    with pytest.raises(UserError, match=r"Node 'at' \(SequenceAt\) .* its place is before the first tensor"):
        module_of(tools.save(model))


@pytest.mark.parametrize("largest", [0, 1])
def test_the_greatest_in_any_order_are_in_theirs(tools: Any, largest: int) -> None:
    """Which is one of those that the standard leaves open; it was refused."""
    values = np.random.default_rng(0).standard_normal((2, 20)).astype(np.float32)
    found = []
    for in_order in (0, 1):
        node = tools.node("TopK", ["x", "k"], ["y", "at"], sorted=in_order, largest=largest)
        outputs = [tools.value("y", [2, 5]), tools.value("at", [2, 5], INT64)]
        add = tools.node("Add", ["x0", "x0"], ["x"])  # something to tune
        model = tools.model([add, node], [tools.value("x0", [2, 20])], outputs, [tools.tensor("k", np.array([5]))])
        path = tools.save(model)
        found.append(run(module_of(path), values) if in_order == 0 else agree(path, values))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)
