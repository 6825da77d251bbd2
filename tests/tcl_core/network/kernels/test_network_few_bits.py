"""Products by weights of few bits: where they stay so, and what for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tcl_core.config import NetworkConfig
from tcl_core.network.importer import ImportedNetwork, import_network
from tcl_core.network.kernels.few_bits import has_few_rows
from tcl_core.network.load import load_network
from tests.tcl_core.network.conftest import make_model, tensor, value
from tests.tcl_core.network.contributed_cases import TARGET, Case, X, expected, floats, found, whole

CUDA = '{"kind": "cuda", "arch": "sm_90", "max_threads_per_block": 1024, "max_shared_memory_per_block": 49152}'
SIZES = {"K": 64, "N": 16, "block_size": 32, "bits": 4}
WEIGHTS = {"w": whole(16, 2, 16), "scales": floats(32)}


def imported(tools: Any, case: Case, target: str = TARGET) -> ImportedNetwork:
    for output in case.model.graph.output:
        shape = expected(case.model, case.given)[0].shape
        output.type.tensor_type.shape.Clear()
        for extent in shape:
            output.type.tensor_type.shape.dim.add().dim_value = extent
    return import_network(load_network(Path(tools.save(case.model)), NetworkConfig()), target, NetworkConfig(), 256)


def product(rows: int, **changes: Any) -> Case:
    constants = changes.pop("constants", ["w", "scales"])
    return Case("MatMulNBits", {X: floats(rows, 64), **WEIGHTS}, constants=constants, **SIZES | changes)


def test_few_rows_read_bytes_and_many_read_floats(tools: Any) -> None:
    few, many = (imported(tools, product(rows)) for rows in (8, 9))
    (task,) = few.tasks
    assert task.name == "few_bits"
    assert task.flops == 2 * 8 * 64 * 16
    assert [task.name for task in many.tasks] == ["matmul"]


@pytest.mark.parametrize("case", [product(2, constants=["scales"]), product(2, constants=["w"])], ids=repr)
def test_weights_that_are_no_constants_become_floats(tools: Any, case: Case) -> None:
    assert not any(task.name == "few_bits" for task in imported(tools, case).tasks)


def test_an_output_of_unknown_shape_is_told_once(tools: Any) -> None:
    """As a file's with a batch of any size is, once that is fixed."""
    model = product(2).model
    model.graph.output[0].type.tensor_type.shape.Clear()
    model.graph.output[0].type.tensor_type.shape.dim.add().dim_param = "rows"
    model.graph.output[0].type.tensor_type.shape.dim.add().dim_value = 16
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "rows"
    config = NetworkConfig(shapes=((X, (2, 64)),))
    network = import_network(load_network(Path(tools.save(model)), config), TARGET, config, 256)
    assert [task.name for task in network.tasks] == ["few_bits"]


def test_a_gpu_gets_floats(tools: Any) -> None:
    assert not any("few_bits" in task.name for task in imported(tools, product(2), CUDA).tasks)


def test_stock_tvm_is_given_what_it_can_read(tools: Any) -> None:
    nodes = imported(tools, product(2)).simplified().graph.node
    assert not any(node.op_type == "MatMulNBits" for node in nodes)


@pytest.mark.parametrize(("size", "few"), [((64,), True), ((8, 64), True), ((2, 4, 64), True), ((3, 3, 64), False)])
def test_rows_are_counted_over_all_axes(size: tuple[int, ...], few: bool) -> None:
    assert has_few_rows(size) is few


def test_what_reads_a_result_knows_its_shape(tools: Any) -> None:
    """To turn values their shape has to be known, and no shape inference knows that of the product."""
    tables = {name: floats(8, 4) for name in ("cosines", "sines")}
    nodes = [
        tools.node("MatMulNBits", [X, *WEIGHTS], ["h"], domain="com.microsoft", **SIZES),
        tools.node("RotaryEmbedding", ["h", "at", *tables], ["y"], domain="com.microsoft"),
    ]
    inputs = [value(X, [1, 2, 64]), value("at", [1, 2], onnx.TensorProto.INT64)]
    weights = [tensor(name, array) for name, array in (WEIGHTS | tables).items()]
    model = make_model(nodes, inputs, [value("y", [1, 2, 16])], weights, domains=["com.microsoft"])
    given = {X: floats(1, 2, 64), "at": np.array([[1, 5]])}
    (mine,) = found(Path(tools.save(model)), given)
    np.testing.assert_allclose(mine, expected(model, given)[0], rtol=1e-4, atol=1e-4)
