from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx.backend
import pytest
import tvm

from tcl_core.config import NetworkConfig
from tcl_core.domain import LoopAxis
from tcl_core.errors import UserError
from tcl_core.network import importer
from tcl_core.network.importer import ImportedNetwork, import_network
from tcl_core.network.load import load_network
from tcl_core.network.tasks import task_key

TARGET = json.dumps({"kind": "llvm", "mcpu": "x86-64-v3", "num-cores": 2})


def imported(path: Path, *, fast_math: bool = True) -> ImportedNetwork:
    config = NetworkConfig(fast_math=fast_math)
    return import_network(load_network(path, config), TARGET, config)


def convolution(tools: Any) -> Path:
    """Input [1, 3, 10, 10] -> 3x3 convolution to 8 channels -> ReLU."""
    weight = np.ones((8, 3, 3, 3), np.float32)
    nodes = [tools.node("Conv", ["x", "w"], ["h"], kernel_shape=[3, 3]), tools.node("Relu", ["h"], ["y"])]
    return tools.save(
        tools.model(
            nodes, [tools.value("x", [1, 3, 10, 10])], [tools.value("y", [1, 8, 8, 8])], [tools.tensor("w", weight)]
        )
    )


def test_a_matrix_product_is_described_as_by_hand(tools: Any) -> None:
    (task,) = imported(tools.save(tools.dense())).tasks
    assert task.name == "fused_matmul_relu"
    assert task.anchor == "matmul"
    assert task.axes == (
        LoopAxis(extent=2, kind="spatial"),
        LoopAxis(extent=3, kind="spatial"),
        LoopAxis(extent=4, kind="reduce"),
    )
    # A multiplication and an addition for each of 2 x 3 x 4, and a maximum for each of 2 x 3.
    assert task.flops == 2 * 2 * 3 * 4 + 2 * 3
    assert task.bytes_moved == 4 * (2 * 4 + 4 * 3 + 2 * 3)
    assert task.dtype == "float32"
    assert [argument.shape for argument in task.arguments] == [(2, 4), (4, 3), (2, 3)]


def test_a_convolution_is_described_as_by_hand(tools: Any) -> None:
    (task,) = imported(convolution(tools)).tasks
    assert task.anchor == "conv2d_nchw"
    assert task.flops == 2 * (8 * 8 * 8) * (3 * 3 * 3) + 8 * 8 * 8
    assert task.bytes_moved == 4 * (3 * 10 * 10 + 8 * 3 * 3 * 3 + 8 * 8 * 8)
    assert [axis.extent for axis in task.axes if axis.kind == "reduce"] == [3, 3, 3]


def test_a_task_that_occurs_twice_has_weight_two_and_the_order_is_the_networks(tools: Any) -> None:
    square = tools.tensor("w", np.ones((4, 4), np.float32))
    head = tools.tensor("v", np.ones((4, 3), np.float32))
    nodes = [
        tools.node("MatMul", ["x", "w"], ["a"]),
        tools.node("Relu", ["a"], ["b"]),
        tools.node("MatMul", ["b", "w"], ["c"]),
        tools.node("Relu", ["c"], ["d"]),
        tools.node("MatMul", ["d", "v"], ["y"]),
    ]
    model = tools.model(nodes, [tools.value("x", [2, 4])], [tools.value("y", [2, 3])], [square, head])
    assert [(task.arguments[-1].shape, task.weight) for task in imported(tools.save(model)).tasks] == [
        ((2, 4), 2),
        ((2, 3), 1),
    ]


def test_the_key_is_that_of_the_stored_module(tools: Any) -> None:
    (task,) = imported(tools.save(tools.dense())).tasks
    assert task_key(tvm.ir.load_json(task.module_json)) == task.key


KEYS = """
import sys
from pathlib import Path
from tcl_core.config import NetworkConfig
from tcl_core.network.importer import import_network
from tcl_core.network.load import load_network
loaded = load_network(Path(sys.argv[1]), NetworkConfig())
sys.stdout.write(" ".join(task.key for task in import_network(loaded, sys.argv[2], NetworkConfig()).tasks))
"""


def test_keys_are_the_same_in_another_process(tools: Any) -> None:
    path = tools.save(tools.dense())
    environment = os.environ | {"PYTHONHASHSEED": "77"}
    done = subprocess.run(
        [sys.executable, "-c", KEYS, str(path), TARGET], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.split() == [task.key for task in imported(path).tasks]


def test_keys_tell_shapes_apart_and_not_weights(tools: Any) -> None:
    def key(batch: int, scale: float) -> str:
        model = tools.dense(batch=batch)
        model.graph.initializer[0].CopyFrom(tools.tensor("w", np.full((4, 3), scale, np.float32)))
        return imported(tools.save(model)).tasks[0].key

    assert key(2, 1.0) == key(2, 5.0) != key(3, 1.0)


def gelu(tools: Any) -> Path:
    nodes = [
        tools.node("MatMul", ["x", "w"], ["h"]),
        tools.node("Gelu", ["h"], ["g"]),
        tools.node("Softmax", ["g"], ["y"]),
    ]
    weight = tools.tensor("w", np.ones((8, 8), np.float32))
    return tools.save(
        tools.model(nodes, [tools.value("x", [4, 8])], [tools.value("y", [4, 8])], [weight], opset=20)
    )  # fmt: skip


def libm_calls(network: ImportedNetwork) -> set[str]:
    script = network.module.script()
    return {name for name in ("exp", "erf", "tanh") if f"T.{name}(" in script}


def test_fast_math_leaves_no_libm_call_in_the_kernels(tools: Any) -> None:
    path = gelu(tools)
    assert libm_calls(imported(path, fast_math=False)) == {"exp", "erf"}
    assert libm_calls(imported(path, fast_math=True)) == set()


def test_all_unsupported_nodes_are_named(tools: Any) -> None:
    nodes = [
        tools.node("Det", ["x"], ["d"], name="first"),
        tools.node("Relu", ["d"], ["r"]),
        tools.node("Odd", ["r"], ["y"], domain="my.own", name="second"),
    ]
    model = tools.model(nodes, [tools.value("x", [2, 3, 3])], [tools.value("y", [2])], domains=["my.own"])
    with pytest.raises(UserError, match=r"Nodes 'first' \(Det\), 'second' \(my.own::Odd\)"):
        imported(tools.save(model))


def test_random_numbers_are_asked_for_as_an_input(tools: Any) -> None:
    nodes = [tools.node("RandomNormalLike", ["x"], ["noise"], name="draw"), tools.node("Add", ["x", "noise"], ["y"])]
    model = tools.model(nodes, [tools.value("x", [2, 3])], [tools.value("y", [2, 3])])
    with pytest.raises(UserError, match=r"'draw' \(RandomNormalLike\) .*; export .* random numbers as an input"):
        imported(tools.save(model))


def test_what_is_all_decided_by_data_is_refused_for_that(tools: Any) -> None:
    nodes = [
        tools.node("NonZero", ["x"], ["places"]),
        tools.node("Transpose", ["places"], ["rows"]),
        tools.node("GatherND", ["x", "rows"], ["chosen"]),
        tools.node("ReduceSum", ["chosen"], ["y"], keepdims=0),
    ]
    model = tools.model(nodes, [tools.value("x", [2, 3])], [tools.value("y", [])])
    with pytest.raises(UserError, match="holds nothing to tune: the sizes of all that it computes depend on data"):
        imported(tools.save(model))


def test_what_an_index_reads_goes_into_a_product(tools: Any) -> None:
    """As the first token of a transformer's output does."""
    nodes = [tools.node("Gather", ["x", "first"], ["token"], axis=1), tools.node("Gemm", ["token", "w"], ["y"])]
    constants = [tools.tensor("first", np.int64(0)), tools.tensor("w", np.ones((4, 2), np.float32))]
    model = tools.model(nodes, [tools.value("x", [1, 3, 4])], [tools.value("y", [1, 2])], constants)
    assert any("matmul" in task.name for task in imported(tools.save(model)).tasks)


def test_of_a_network_in_whole_numbers_pairs_are_asked_for(tools: Any) -> None:
    """Where an operator has one scale for each row, and not for each column."""
    parameters = [f"{name}{of}" for name in ("scale", "zero") for of in "xwy"]
    node = tools.node("QLinearMatMul", ["x", "scalex", "zerox", "w", "scalew", "zerow", "scaley", "zeroy"], ["y"])
    weights = [tools.tensor(name, np.float32(1) if name.startswith("s") else np.uint8(0)) for name in parameters[1:]]
    weights += [tools.tensor("w", np.ones((4, 4), np.uint8)), tools.tensor("scalex", np.ones(2, np.float32))]
    byte = onnx.TensorProto.UINT8
    model = tools.model([node], [tools.value("x", [2, 4], byte)], [tools.value("y", [2, 4], byte)], weights)
    with pytest.raises(UserError, match=r"\(QLinearMatMul\) cannot be imported by TVM; quantise it with pairs"):
        imported(tools.save(model))


def test_a_node_that_the_frontend_trips_over_is_named_and_nothing_is_printed(
    tools: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    """TVM knows Pad, but not with pads that are another input's."""
    nodes = [tools.node("Pad", ["x", "p"], ["h"], name="border"), tools.node("ReduceSum", ["h"], ["y"], keepdims=0)]
    model = tools.model(
        nodes, [tools.value("x", [1, 4]), tools.value("p", [4], onnx.TensorProto.INT64)], [tools.value("y", [])]
    )
    with pytest.raises(UserError, match=r"Node 'border' \(Pad\).*pads"):
        imported(tools.save(model))
    assert capfd.readouterr() == ("", "")


def test_an_infinite_scale_is_read_without_a_warning(tools: Any) -> None:
    """Of a mask of minus infinity: NumPy warns of what is computed with it, and warnings are errors here."""
    tensors = {"scale": np.float32(np.inf), "zero": np.uint8(7), "mask": np.arange(5, 9, dtype=np.uint8)}
    nodes = [
        tools.node("DequantizeLinear", ["mask", "scale", "zero"], ["m"]),
        tools.node("Add", ["x", "m"], ["s"]),
        tools.node("QuantizeLinear", ["s", "scale", "zero"], ["q"]),
        tools.node("DequantizeLinear", ["q", "scale", "zero"], ["d"]),
        tools.node("Add", ["d", "m"], ["t"]),
        tools.node("QuantizeLinear", ["t", "scale", "zero"], ["u"]),
        tools.node("DequantizeLinear", ["u", "scale", "zero"], ["y"]),
    ]
    constants = [tools.tensor(name, array) for name, array in tensors.items()]
    model = tools.model(nodes, [tools.value("x", [2, 4])], [tools.value("y", [2, 4])], constants)
    assert imported(tools.save(model)).tasks


def test_a_network_without_computation_is_refused(tools: Any) -> None:
    model = tools.model([tools.node("Identity", ["x"], ["y"])], [tools.value("x", [2])], [tools.value("y", [2])])
    with pytest.raises(UserError, match="nothing to tune"):
        imported(tools.save(model))


def test_what_cannot_be_simplified_is_imported_as_it_is_and_reported(tools: Any) -> None:
    """There is no convolution in float64 in onnxruntime; TVM has one."""
    double = onnx.TensorProto.DOUBLE
    model = tools.model(
        [tools.node("Conv", ["x", "w"], ["y"], kernel_shape=[3, 3])],
        [tools.value("x", [1, 1, 4, 4], double)],
        [tools.value("y", [1, 1, 2, 2], double)],
        [tools.tensor("w", np.ones((1, 1, 3, 3)))],
    )
    network = imported(tools.save(model))
    assert network.tasks[0].dtype == "float64"
    (issue,) = network.report.issues
    assert "could not simplify" in issue.problem


def test_the_simplified_model_is_made_anew_and_not_kept(tools: Any) -> None:
    network = imported(convolution(tools))
    assert not any(isinstance(value, onnx.ModelProto) for value in vars(network).values())
    first, second = network.simplified(), network.simplified()
    assert first is not second and first == second
    assert [node.op_type for node in first.graph.node] == ["Conv", "Relu"]


def test_the_report_counts_the_operators_of_the_file(tools: Any) -> None:
    assert imported(tools.save(tools.dense())).report.operators == (("MatMul", 1), ("Relu", 1))


def test_convolution_normalisation_and_sum_fuse_in_a_real_topology() -> None:
    """As TVM imports it, shufflenet has 43 tasks, with stacked sums and separate normalisations."""
    folder = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    network = imported(folder / "light_shufflenet.onnx")
    names = [task.name for task in network.tasks]
    assert len(names) < 40
    assert not any("stack" in name or "batch_norm" in name for name in names)
    assert network.network.outputs[0].shape == (1, 1000)


def test_a_network_that_cannot_be_blocked_is_imported_plainly_and_says_so(
    tools: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tripping(*_: Any, **__: Any) -> Any:
        raise ValueError("no such layout")

    monkeypatch.setattr(importer, "block_convolutions", tripping)
    config = NetworkConfig()
    network = import_network(load_network(tools.save(tools.dense()), config), TARGET, config, vector_bits=512)
    assert network.tasks
    (issue,) = network.report.issues
    assert "no such layout" in issue.problem
    assert "slower" in issue.mend
