from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnxruntime
import pytest

from tcl_core.config import NetworkConfig
from tcl_core.domain import TensorSpec
from tcl_core.errors import UserError
from tcl_core.network.load import load_network

ML = "ai.onnx.ml"
FOREIGN = (("SVMRegressor", "values"), ("TreeEnsembleRegressor", "trees"))


def refusal(path: Path, **shapes: tuple[int, ...]) -> str:
    with pytest.raises(UserError) as caught:
        load_network(path, NetworkConfig(shapes=tuple(shapes.items())))
    assert caught.value.stage == "network"
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    return sentence


def test_a_network_has_its_inputs_and_outputs(tools: Any) -> None:
    network = load_network(tools.save(tools.dense()), NetworkConfig()).network
    assert network.name == "net"
    assert network.inputs == (TensorSpec(name="x", dtype="float32", shape=(2, 4)),)
    assert network.outputs == (TensorSpec(name="y", dtype="float32", shape=(2, 3)),)


def test_every_node_gets_a_name(tools: Any) -> None:
    loaded = load_network(tools.save(tools.dense()), NetworkConfig())
    assert [node.name for node in loaded.model.graph.node] == ["product", "Relu_1"]


def test_a_file_with_its_nodes_in_another_order_is_read_as_onnxruntime_reads_it(tools: Any) -> None:
    model = tools.dense()
    first, *others = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend([*others, first])
    path = tools.save(model)
    assert onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).get_outputs()
    loaded = load_network(path, NetworkConfig())
    assert loaded.model.graph.node[0].name == "product"


PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)
NOISE = random.Random(0).randbytes(5000)


@pytest.mark.parametrize("content", [PNG, NOISE, b"just text\n" * 50, bytes(1000)])
def test_what_is_not_onnx_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "picture.onnx"
    path.write_bytes(content)
    assert "is not an ONNX model" in refusal(path)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_a_truncated_file_is_called_truncated(tools: Any, share: float) -> None:
    path = tools.save(tools.dense())
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    assert "truncated" in refusal(path)


def test_an_empty_file_is_called_empty(tmp_path: Path) -> None:
    path = tmp_path / "empty.onnx"
    path.touch()
    assert refusal(path) == f"'{path}' is empty; copy or export it again."


def test_missing_files_and_folders_are_told_apart(tmp_path: Path) -> None:
    assert "no file" in refusal(tmp_path / "none.onnx")
    assert "is a folder" in refusal(tmp_path)


def test_a_dynamic_dimension_is_named_with_the_flag_that_fixes_it(tools: Any) -> None:
    sentence = refusal(tools.save(tools.dense(batch="batch")))
    assert "Dimension 0 ('batch') of input 'x'" in sentence
    assert "--shape x=1,4" in sentence


def test_a_shape_fixes_a_dimension_and_changes_the_digest(tools: Any) -> None:
    path = tools.save(tools.dense(batch="batch"))
    two = load_network(path, NetworkConfig(shapes=(("x", (2, 4)),))).network
    three = load_network(path, NetworkConfig(shapes=(("x", (3, 4)),))).network
    assert two.inputs[0].shape == (2, 4)
    assert two.outputs[0].shape == (2, 3)
    assert two.digest != three.digest
    assert two.shapes == (("x", (2, 4)),)


def test_a_symbol_is_fixed_in_all_inputs(tools: Any) -> None:
    model = tools.model(
        [tools.node("Add", ["a", "b"], ["y"])],
        [tools.value("a", ["n", 4]), tools.value("b", ["n", 4])],
        [tools.value("y", ["n", 4])],
    )
    network = load_network(tools.save(model), NetworkConfig(shapes=(("a", (5, 4)),))).network
    assert [spec.shape for spec in (*network.inputs, *network.outputs)] == [(5, 4)] * 3
    assert "'n', which is 5 elsewhere" in refusal(tools.save(model), a=(5, 4), b=(6, 4))


@pytest.mark.parametrize("size", [-1, "?"])
def test_dimensions_that_paddle_does_not_know_are_open_each_by_itself(tools: Any, size: int | str) -> None:
    inputs = [tools.value(name, [size, 4]) for name in ("a", "b")]
    joined = tools.node("Concat", ["a", "b"], ["y"], axis=0)
    model = tools.model([joined], inputs, [tools.value("y", [size, 4])])
    path = tools.save(model)
    assert "Dimension 0 of input 'b' is dynamic" in refusal(path, a=(5, 4))
    network = load_network(path, NetworkConfig(shapes=(("a", (5, 4)), ("b", (6, 4))))).network
    assert [spec.shape for spec in (*network.inputs, *network.outputs)] == [(5, 4), (6, 4), (11, 4)]


def test_an_output_behind_a_norm_that_is_spelled_out_gets_the_shape_that_folding_finds(tools: Any) -> None:
    """As a recogniser of texts has it that Paddle wrote: rows as many as there are, by arithmetic on shapes."""
    nodes = [
        tools.node("Mul", ["x", "x"], ["squares"]),
        tools.node("ReduceMean", ["squares", "last"], ["mean"]),
        tools.node("Add", ["mean", "epsilon"], ["most"]),
        tools.node("Sqrt", ["most"], ["root"]),
        tools.node("Div", ["x", "root"], ["normal"]),
        tools.node("Mul", ["normal", "scale"], ["scaled"]),
        tools.node("Shape", ["x"], ["sizes"]),
        tools.node("Max", ["sizes", "none"], ["same"]),
        tools.node("Reshape", ["scaled", "same"], ["y"]),
    ]
    scale = tools.tensor("scale", np.ones(16, np.float32))
    weights = [tools.tensor("last", np.array([-1])), scale, tools.tensor("none", np.array([0, 0]))]
    weights.append(tools.tensor("epsilon", np.float32(1e-6)))
    model = tools.model(nodes, [tools.value("x", ["rows", 16])], [tools.value("y", [None, None])], weights)
    network = load_network(tools.save(model), NetworkConfig(shapes=(("x", (3, 16)),))).network
    assert network.outputs[0].shape == (3, 16)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ({"z": (1, 4)}, "the inputs are 'x'"),
        ({"x": (1, 4, 4)}, "has 3 dimensions, but input 'x' has 2 (batchx4)"),
        ({"x": (1, 5)}, "the file fixes it to 4"),
        ({"x": (0, 4)}, "size 0"),
        ({"x": (99_999_999_999_999_999_999, 4)}, "sizes up to 2,147,483,647"),
        ({"x": (1_000_000_000, 4)}, "Input 'x' (1000000000x4) has 4,000,000,000 elements, more than the 2,147,483,647"),
    ],
)
def test_a_shape_that_contradicts_the_file_is_refused(tools: Any, shape: dict[str, Any], expected: str) -> None:
    assert expected in refusal(tools.save(tools.dense(batch="batch")), **shape)


def test_a_shape_the_network_cannot_take_is_refused_by_node(tools: Any) -> None:
    sentence = refusal(tools.save(tools.dense(rows="rows")), x=(2, 7))
    assert "--shape x=2,7 does not fit" in sentence
    assert "product" in sentence


@pytest.mark.parametrize(
    ("told", "end"), [("FLOAT", [2, 4]), ("FLOAT16", [2, 5])], ids=["of a value between", "of the end"]
)
def test_types_and_shapes_that_a_converter_left_stale_are_found_anew(tools: Any, told: str, end: list[int]) -> None:
    nodes = [tools.node("Cast", ["x"], ["h"], to=onnx.TensorProto.FLOAT16), tools.node("Cast", ["h"], ["y"], to=1)]
    model = tools.model(nodes, [tools.value("x", [2, 4])], [tools.value("y", end)])
    kind = getattr(onnx.TensorProto, told)
    model.graph.value_info.append(onnx.helper.make_tensor_value_info("h", kind, [2, 4]))
    loaded = load_network(tools.save(model), NetworkConfig())
    assert loaded.network.outputs[0].shape == (2, 4)
    (between,) = [value for value in loaded.model.graph.value_info if value.name == "h"]
    assert between.type.tensor_type.elem_type == onnx.TensorProto.FLOAT16


def test_zero_size_dimensions_are_refused(tools: Any) -> None:
    assert "size zero" in refusal(tools.save(tools.dense(batch=0)))
    cut = tools.model(
        [tools.node("Slice", ["x", "start", "end"], ["y"])],
        [tools.value("x", [4, 4])],
        [tools.value("y", [0, 4])],
        [tools.tensor("start", np.array([2])), tools.tensor("end", np.array([2]))],
    )
    assert "Output 'y' has a zero-size dimension" in refusal(tools.save(cut))


def test_an_output_whose_shape_follows_from_a_definition_and_its_defaults(tools: Any) -> None:
    nodes = [tools.node("Relu", ["x"], ["h"]), tools.node("MeanVarianceNormalization", ["h"], ["y"])]
    model = tools.model(nodes, [tools.value("x", [1, 4, 8, 8])], [tools.value("y", None)])
    loaded = load_network(tools.save(model), NetworkConfig())
    assert loaded.network.outputs[0].shape == (1, 4, 8, 8)
    assert not loaded.model.graph.node[1].attribute


def test_an_output_that_depends_on_data_is_named(tools: Any) -> None:
    model = tools.model(
        [tools.node("NonZero", ["x"], ["y"], name="where")],
        [tools.value("x", [2, 3])],
        [tools.value("y", [2, "found"], onnx.TensorProto.INT64)],
    )
    assert "node 'where' (NonZero)" in refusal(tools.save(model))


def test_an_operator_of_an_unknown_domain_is_named_where_no_shape_is_known_behind_it(tools: Any) -> None:
    """It was the output's shape that was complained of, which a person can do nothing about."""
    odd = [onnx.helper.make_node(kind, ["x"], [name], name=name, domain=ML) for kind, name in FOREIGN]
    outputs = [tools.value(name, None) for _, name in FOREIGN]
    model = tools.model(odd, [tools.value("x", [2, 3])], outputs, domains=[ML])
    assert refusal(tools.save(model)) == (
        "Nodes 'values' (ai.onnx.ml::SVMRegressor), 'trees' (ai.onnx.ml::TreeEnsembleRegressor) cannot be imported by "
        "TVM; export the network without such operators."
    )


def test_an_output_that_is_no_tensor_is_named(tools: Any) -> None:
    """scikit-learn's classifiers end so by default; the sizes of inputs are told."""
    classes = onnx.helper.make_node("LinearClassifier", ["x"], ["y", "p"], coefficients=[1.0, 2.0], domain=ML)
    as_maps = onnx.helper.make_node("ZipMap", ["p"], ["maps"], classlabels_int64s=[0, 1], domain=ML)
    entry = onnx.helper.make_map_type_proto(
        onnx.TensorProto.INT64, onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [])
    )
    output = onnx.helper.make_value_info("maps", onnx.helper.make_sequence_type_proto(entry))
    model = tools.model([classes, as_maps], [tools.value("x", ["rows", 1])], [output], domains=[ML])
    assert "Output 'maps' is not a numeric tensor" in refusal(tools.save(model), x=(2, 1))


def test_two_nodes_of_one_name_are_told_apart(tools: Any) -> None:
    """Such a network is refused by onnxruntime, and then nothing is checked."""
    nodes = [tools.node("Relu", ["x"], ["h"], name="n"), tools.node("Tanh", ["h"], ["y"], name="n")]
    model = tools.model(nodes, [tools.value("x", [2, 3])], [tools.value("y", [2, 3])])
    loaded = load_network(tools.save(model), NetworkConfig())
    assert len({node.name for node in loaded.given.graph.node}) == 2
    onnxruntime.InferenceSession(loaded.given.SerializeToString())


def test_an_unknown_operator_is_named(tools: Any) -> None:
    model = tools.model(
        [tools.node("Floop", ["x"], ["y"], name="odd")], [tools.value("x", [2])], [tools.value("y", [2])]
    )
    assert "Node 'odd' uses operator Floop, which ONNX does not have; its converter left" in refusal(tools.save(model))


def test_a_detector_is_asked_for_all_of_its_boxes(tools: Any) -> None:
    """How many it chooses depends on its picture."""
    nodes = [
        tools.node("NonMaxSuppression", ["boxes", "scores", "most"], ["chosen"]),
        tools.node("Cast", ["chosen"], ["y"], to=onnx.TensorProto.FLOAT),
    ]
    model = tools.model(
        nodes,
        [tools.value("boxes", [1, 9, 4]), tools.value("scores", [1, 2, 9])],
        [tools.value("y", None)],
        [tools.tensor("most", np.array([5]))],
    )
    sentence = refusal(tools.save(model))
    assert "has a shape that depends on data" in sentence
    assert "export the network up to all of its boxes and scores, and choose among them behind it" in sentence


@pytest.mark.parametrize(("size", "few"), [([2], True), ([1, 3, 32, 32], False)])
def test_a_value_is_asked_for_only_of_inputs_that_hold_few_numbers(tools: Any, size: list[int], few: bool) -> None:
    """Nobody fixes a picture."""
    branches = {
        f"{name}_branch": onnx.helper.make_graph(
            [tools.node(operator, ["x"], [name])], "g", [], [tools.value(name, None)]
        )
        for name, operator in (("then", "NonZero"), ("else", "Shape"))
    }
    for branch in branches.values():
        branch.output[0].type.tensor_type.elem_type = onnx.TensorProto.INT64
    nodes = [
        tools.node("ReduceMax", ["x"], ["most"], keepdims=0),
        tools.node("Cast", ["most"], ["told"], to=onnx.TensorProto.BOOL),
        tools.node("If", ["told"], ["y"], **branches),
    ]
    model = tools.model(nodes, [tools.value("x", size)], [tools.value("y", None, onnx.TensorProto.INT64)])
    assert ("(--value)" in refusal(tools.save(model))) is few


def test_an_operator_that_an_opset_withdrew_is_named(tools: Any) -> None:
    scales = tools.tensor("scales", np.full(3, 2, np.float32))
    node = tools.node("Upsample", ["x", "scales"], ["y"], name="old")
    model = tools.model([node], [tools.value("x", [1, 4, 2])], [tools.value("y", [2, 8, 4])], [scales])
    assert "Node 'old' uses operator Upsample, which opset 18 does not have" in refusal(tools.save(model))


@pytest.mark.parametrize("kind", ["BFLOAT16", "FLOAT8E5M2", "INT4", "COMPLEX64"])
def test_ends_that_numpy_has_no_numbers_for_are_refused(tools: Any, kind: str) -> None:
    """Onnxruntime neither takes them from Python nor gives them, so nothing could be checked."""
    foreign = onnx.TensorProto.DataType.Value(kind)
    for end, cast in (("x", onnx.TensorProto.FLOAT), ("y", foreign)):
        ends = {"x": onnx.TensorProto.FLOAT, "y": onnx.TensorProto.FLOAT, end: foreign}
        values = [tools.value(name, [4], each) for name, each in ends.items()]
        model = tools.model([tools.node("Cast", ["x"], ["y"], to=cast)], values[:1], values[1:])
        assert f"'{end}' is of type {kind.lower()}" in refusal(tools.save(model))


def test_text_inputs_are_refused(tools: Any) -> None:
    text = onnx.TensorProto.STRING
    model = tools.model(
        [tools.node("Identity", ["x"], ["y"])], [tools.value("x", [1], text)], [tools.value("y", [1], text)]
    )
    assert "not a numeric tensor" in refusal(tools.save(model))


def test_versions_outside_the_range_are_refused(tools: Any) -> None:
    assert "opset 3" in refusal(tools.save(tools.model(
        [tools.node("Relu", ["x"], ["y"])], [tools.value("x", [2])], [tools.value("y", [2])], opset=3
    )))  # fmt: skip
    model = tools.dense()
    model.ir_version = onnx.IR_VERSION + 1
    assert "IR version" in refusal(tools.save(model))


def test_operators_of_another_domain_alone_are_refused_by_its_name(tools: Any) -> None:
    model = tools.dense()
    del model.opset_import[:]
    assert "names no opset, so it is probably cut short" in refusal(tools.save(model))
    model.opset_import.append(onnx.helper.make_opsetid("ai.onnx.ml", 3))
    assert "has operators of ai.onnx.ml alone" in refusal(tools.save(model))


def test_initializers_among_the_inputs_are_constants(tools: Any) -> None:
    model = tools.dense()
    model.ir_version = 3
    model.graph.input.append(tools.value("w", [4, 3]))
    loaded = load_network(tools.save(model), NetworkConfig())
    assert [spec.name for spec in loaded.network.inputs] == ["x"]


def test_each_node_of_a_branch_has_a_name_of_its_own_there(tools: Any) -> None:
    """Messages name them; onnxruntime refuses two of one name in one graph."""
    yes = [
        tools.node("Neg", ["x"], ["a"]),
        tools.node("Neg", ["a"], ["b"], name="neg0"),
        tools.node("Exp", ["b"], ["p"]),
    ]
    bodies = {
        "then_branch": onnx.helper.make_graph(yes, "yes", [], [tools.value("p", [2])]),
        "else_branch": onnx.helper.make_graph([tools.node("Neg", ["x"], ["q"])], "no", [], [tools.value("q", [2])]),
    }
    inputs = [tools.value("x", [2]), tools.value("c", [], onnx.TensorProto.BOOL)]
    model = tools.model([tools.node("If", ["c"], ["y"], **bodies)], inputs, [tools.value("y", [2])])
    given = load_network(tools.save(model), NetworkConfig()).given
    named = {a.name: [node.name for node in a.g.node] for a in given.graph.node[0].attribute}
    assert named == {"then_branch": ["neg0", "neg0_1", "exp2"], "else_branch": ["neg0"]}
    onnxruntime.InferenceSession(given.SerializeToString(), providers=["CPUExecutionProvider"])
