"""Weights in panels: the same products, and only where weights are constant and fill panels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

from tcl_core.network.layouts.panels import lay_out_weights

TARGET = tvm.target.Target({"kind": "llvm", "num-cores": 1})
GENERATOR = np.random.default_rng(0)
LANES = 16


def drawn(*shape: int, dtype: str = "float32") -> Any:
    return GENERATOR.standard_normal(shape).astype(dtype)


def product(rows: tuple[int, ...], weights: Any, *, constant: bool = True) -> Any:
    """A module that multiplies its argument by a matrix and adds to each column."""
    dtype = str(weights.dtype)
    data, matrix = relax.Var("x", relax.TensorType(rows, dtype)), relax.const(weights, dtype)
    arguments = [data]
    if not constant:
        matrix = relax.Var("w", relax.TensorType(weights.shape, dtype))
        arguments.append(matrix)
    builder = relax.BlockBuilder()
    with builder.function("main", arguments):
        with builder.dataflow():
            made = builder.emit(relax.op.matmul(data, matrix))
            bias = relax.const(np.arange(weights.shape[-1]), dtype)
            given_out = builder.emit_output(relax.op.add(made, bias))
        builder.emit_func_output(given_out)
    return builder.get()


def panels_of(module: Any) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = []

    def note(part: Any) -> None:
        if isinstance(part, relax.Call) and part.op.same_as(tvm.ir.Op.get("relax.call_tir")):
            found.append(tuple(int(extent) for extent in part.args[1].fields[1].ty.shape.values))

    relax.analysis.post_order_visit(module["main"], note)
    return found


@pytest.mark.parametrize(
    ("rows", "columns", "panels"),
    [
        ((1, 7, 20), 48, (3, 20, 16)),
        ((5, 20), 24, (3, 20, 8)),
        ((2, 3, 4, 20), 16, (1, 20, 16)),
        ((1, 20), 8, (1, 20, 8)),
    ],
)
def test_results_are_the_same(rows: tuple[int, ...], columns: int, panels: tuple[int, ...]) -> None:
    weights, data = drawn(20, columns), drawn(*rows)
    with TARGET:
        module = lay_out_weights(product(rows, weights), LANES)
    assert panels_of(module) == [panels]
    machine = relax.VirtualMachine(tvm.compile(module, TARGET), tvm.cpu())
    found = machine["main"](tvm.runtime.tensor(data)).numpy()
    np.testing.assert_allclose(found, data @ weights + np.arange(columns), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("rows", "weights", "constant"),
    [
        ((7, 20), drawn(20, 30), True),
        ((7, 20), drawn(20, 48), False),
        ((7, 20), drawn(20, 48, dtype="float64"), True),
        ((2, 7, 20), drawn(2, 20, 48), True),
        ((20,), drawn(20, 48), True),
    ],
    ids=["columns that fill no panel", "weights given", "another type", "a matrix for each batch", "a vector"],
)
def test_left_alone(rows: tuple[int, ...], weights: Any, constant: bool) -> None:
    module = product(rows, weights, constant=constant)
    with TARGET:
        tvm.ir.assert_structural_equal(lay_out_weights(module, LANES), module)
