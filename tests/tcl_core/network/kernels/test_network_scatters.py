"""Elements that are written into a part of a tensor lie where onnxruntime writes them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import tvm
from tvm import relax

from tcl_core.config import NetworkConfig
from tcl_core.network.importer import import_network
from tcl_core.network.load import load_network

CPU = {"kind": "llvm", "num-cores": 1}
SIZE = (2, 3, 4, 5)
PART = (1, 2, 3, 4)
"""Fewer along every axis."""


def places(axis: int, dtype: Any) -> Any:
    """Of each row along the axis others, none of them twice, some counted from its end."""
    generator = np.random.default_rng(axis)
    rows = np.argsort(generator.random((*np.delete(PART, axis), SIZE[axis])))[..., : PART[axis]]
    counted = np.where(generator.random(rows.shape) < 0.5, rows - SIZE[axis], rows)
    return np.moveaxis(counted, -1, axis).astype(dtype)


def test_results_are_onnxruntimes(tools: Any) -> None:
    nodes = [
        tools.node("ScatterElements", ["x", "told", "u"], ["sums"], axis=0, reduction="add"),
        tools.node("ScatterElements", ["x", "known", "u"], ["y"], axis=-2),
    ]
    inputs = [tools.value("x", SIZE), tools.value("told", PART, onnx.TensorProto.INT32), tools.value("u", PART)]
    results = [tools.value(name, SIZE) for name in ("sums", "y")]
    path = tools.save(tools.model(nodes, inputs, results, [tools.tensor("known", places(2, np.int64))]))
    module = import_network(load_network(path, NetworkConfig()), json.dumps(CPU), NetworkConfig()).module
    generator = np.random.default_rng(0)
    data, updates = (generator.standard_normal(shape).astype(np.float32) for shape in (SIZE, PART))
    given = {"x": data, "told": places(0, np.int32), "u": updates}
    machine = relax.VirtualMachine(tvm.compile(module, tvm.target.Target(CPU)), tvm.cpu())
    found = machine["main"](*map(tvm.runtime.tensor, given.values()))
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    for mine, theirs in zip(found, session.run(None, given), strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs)


@pytest.mark.parametrize("axis", range(len(SIZE)))
def test_indices_are_counted_by_their_own_extents_where_that_is_the_same(tools: Any, axis: int) -> None:
    """In one kernel of its own axes: fewer along the axis, the outermost before it, the outermost behind it."""
    part = [PART[at] if at in {0, axis, axis + 1} else extent for at, extent in enumerate(SIZE)]
    node = tools.node("ScatterElements", ["x", "i", "u"], ["y"], axis=axis)
    inputs = [tools.value("x", SIZE), tools.value("i", part, onnx.TensorProto.INT64), tools.value("u", part)]
    model = tools.model([node], inputs, [tools.value("y", SIZE)])
    network = import_network(load_network(tools.save(model), NetworkConfig()), json.dumps(CPU), NetworkConfig())
    (task,) = network.tasks
    assert [each.shape for each in task.arguments] == [SIZE, tuple(part), tuple(part), SIZE]
