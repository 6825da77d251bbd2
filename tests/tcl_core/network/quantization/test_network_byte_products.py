"""Products of whole numbers by matrices as sums of products of bytes: onnxruntime's very results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.tcl_core.network.byte_networks import both_targets, compared

GENERATOR = np.random.default_rng(0)
INSIDE, COLUMNS = 37, 32


def weights_of(*shape: int) -> Any:
    return GENERATOR.integers(-128, 128, shape).astype(np.int8)


def in_pairs(tools: Any, zero: Any, rows: tuple[int, ...], *, channels: bool, operator: str = "MatMul") -> Any:
    scale = np.linspace(0.01, 0.02, COLUMNS, dtype=np.float32) if channels else np.float32(0.015)
    tensors = {
        "scale": np.float32(0.03),
        "zero": zero,
        "out_scale": np.float32(1.5),
        "weights": weights_of(INSIDE, COLUMNS),
        "weight_scale": scale,
        "weight_zero": np.zeros_like(scale, np.int8),
    }
    node = tools.node
    nodes = [
        node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
        node("DequantizeLinear", ["q", "scale", "zero"], ["d"]),
        node(
            "DequantizeLinear", ["weights", "weight_scale", "weight_zero"], ["w"], **({"axis": 1} if channels else {})
        ),
        node(operator, ["d", "w"], ["c"]),
        node("QuantizeLinear", ["c", "out_scale", "zero"], ["e"]),
        node("DequantizeLinear", ["e", "out_scale", "zero"], ["y"]),
    ]
    constants = [tools.tensor(name, array) for name, array in tensors.items()]
    return tools.model(nodes, [tools.value("x", [*rows, INSIDE])], [tools.value("y", None)], constants)


@both_targets
@pytest.mark.parametrize("zero", [np.uint8(0), np.uint8(255), np.int8(-128), np.int8(11)])
@pytest.mark.parametrize("channels", [False, True], ids=["one scale", "one for each column"])
def test_products_in_pairs_are_of_bytes(tools: Any, zero: Any, channels: bool, target: dict[str, Any]) -> None:
    names = compared(tools, Path(tools.save(in_pairs(tools, zero, (2, 5), channels=channels))), GENERATOR, target)
    assert any("byte_matmul" in name for name in names), names


@pytest.mark.parametrize("rows", [(1,), (20,), (3, 1, 4)])
def test_rows_may_be_few_and_many(tools: Any, rows: tuple[int, ...]) -> None:
    names = compared(tools, Path(tools.save(in_pairs(tools, np.uint8(100), rows, channels=True))), GENERATOR)
    assert any("byte_matmul" in name for name in names), names


def test_a_gemm_is_one_too(tools: Any) -> None:
    names = compared(
        tools, Path(tools.save(in_pairs(tools, np.uint8(100), (4,), channels=False, operator="Gemm"))), GENERATOR
    )
    assert any("byte_matmul" in name for name in names), names


@both_targets
@pytest.mark.parametrize("rows", [(1, 5), (1, 29)], ids=["few", "as many as are lengthened"])
def test_what_is_quantised_as_the_network_runs_is_of_bytes(
    tools: Any, rows: tuple[int, ...], target: dict[str, Any]
) -> None:
    tensors = {"weights": weights_of(INSIDE, COLUMNS), "weight_zero": np.int8(0), "scale": np.float32(0.02)}
    node = tools.node
    nodes = [
        node("DynamicQuantizeLinear", ["x"], ["q", "x_scale", "x_zero"]),
        node("MatMulInteger", ["q", "weights", "x_zero", "weight_zero"], ["sums"]),
        node("Cast", ["sums"], ["floats"], to=1),
        node("Mul", ["x_scale", "scale"], ["both"]),
        node("Mul", ["floats", "both"], ["y"]),
    ]
    constants = [tools.tensor(name, array) for name, array in tensors.items()]
    model = tools.model(nodes, [tools.value("x", [*rows, INSIDE])], [tools.value("y", None)], constants)
    names = compared(tools, Path(tools.save(model)), GENERATOR, target)
    assert any("byte_matmul" in name for name in names), names


def test_a_matrix_that_is_computed_stays_of_floats(tools: Any) -> None:
    tensors = {"scale": np.float32(0.03), "zero": np.uint8(100), "out_scale": np.float32(2)}
    node = tools.node
    nodes = [
        node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
        node("DequantizeLinear", ["q", "scale", "zero"], ["d"]),
        node("Transpose", ["d"], ["t"], perm=[1, 0]),
        node("MatMul", ["d", "t"], ["c"]),
        node("QuantizeLinear", ["c", "out_scale", "zero"], ["e"]),
        node("DequantizeLinear", ["e", "out_scale", "zero"], ["y"]),
    ]
    constants = [tools.tensor(name, array) for name, array in tensors.items()]
    model = tools.model(nodes, [tools.value("x", [16, 24])], [tools.value("y", None)], constants)
    assert not any("byte" in name for name in compared(tools, Path(tools.save(model)), GENERATOR))
