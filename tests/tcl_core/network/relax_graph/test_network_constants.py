from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

from tcl_core.network.relax_graph.constants import fold_constants

DATA = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
DATA[0, 0, 0] = np.nan
INDICES = np.array([-1, 2, 3])


def constant(array: Any) -> Any:
    return relax.const(np.asarray(array))


CASES: dict[str, tuple[Callable[[], Any], Any]] = {
    "reshape": (lambda: relax.op.reshape(constant(DATA), (4, 6)), DATA.reshape(4, 6)),
    "permute_dims": (lambda: relax.op.permute_dims(constant(DATA), [2, 0, 1]), DATA.transpose(2, 0, 1)),
    "permute_dims, reversed": (lambda: relax.op.permute_dims(constant(DATA)), DATA.T),
    "expand_dims": (lambda: relax.op.expand_dims(constant(DATA), [0]), DATA[None]),
    "squeeze": (lambda: relax.op.squeeze(constant(DATA[:1])), DATA[0]),
    "isnan": (lambda: relax.op.isnan(constant(DATA)), np.isnan(DATA)),
    "where": (
        lambda: relax.op.where(relax.op.isnan(constant(DATA)), constant(np.float32(7)), constant(DATA)),
        np.where(np.isnan(DATA), np.float32(7), DATA),
    ),
    "add": (lambda: relax.op.add(constant(DATA), constant(np.float32(3))), DATA + np.float32(3)),
    "less": (lambda: relax.op.less(constant(INDICES), constant(np.int64(0))), INDICES < 0),
    "take, by the nearest": (
        lambda: relax.op.take(constant(DATA), constant(INDICES), axis=1, mode="clip"),
        DATA[:, [0, 2, 2]],
    ),
    "take, around": (
        lambda: relax.op.take(constant(DATA), constant(INDICES), axis=1, mode="wrap"),
        DATA[:, [2, 2, 0]],
    ),
    "a shape": (lambda: relax.op.shape_to_tensor(relax.ShapeExpr([2, 5])), np.array([2, 5])),
    "a chain": (
        lambda: relax.op.reshape(relax.op.permute_dims(constant(DATA), [1, 0, 2]), (24,)),
        DATA.transpose(1, 0, 2).reshape(24),
    ),
}


def module_of(make: Callable[[], Any]) -> Any:
    builder = relax.BlockBuilder()
    with builder.function("main", []):
        with builder.dataflow():
            result = builder.emit_output(builder.normalize(make()))
        builder.emit_func_output(result)
    return builder.get()


@pytest.mark.parametrize("name", CASES)
def test_calls_on_constants_become_their_values(name: str) -> None:
    make, expected = CASES[name]
    folded = fold_constants(module_of(make))
    calls = [
        binding.value.op.name
        for block in folded["main"].body.blocks
        for binding in block.bindings
        if isinstance(binding.value, relax.Call)
    ]
    assert calls == []
    machine = relax.VirtualMachine(tvm.compile(folded, tvm.target.Target("llvm")), tvm.cpu())
    result = machine["main"]().numpy()
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)


def of_input(make: Callable[[Any, Any], Any]) -> str:
    """What is left of a call on a tensor of two rows of three."""
    builder = relax.BlockBuilder()
    data = relax.Var("x", relax.TensorType((2, 3), "float32"))
    with builder.function("main", [data]):
        with builder.dataflow():
            result = builder.emit_output(make(builder, data))
        builder.emit_func_output(result)
    return str(fold_constants(builder.get()).script())


def test_a_call_on_an_input_stays() -> None:
    assert "R.reshape" in of_input(lambda _, data: relax.op.reshape(data, (6,)))


def test_what_is_asked_of_an_inputs_shape_is_known() -> None:
    def extent(builder: Any, data: Any) -> Any:
        extents = builder.emit(relax.op.shape_to_tensor(builder.emit(relax.op.shape_of(data))))
        return relax.op.take(extents, relax.const(1, "int64"), axis=0, mode="wrap")

    script = of_input(extent)
    assert "R.take" not in script
    assert "R.const(3" in script


NUMBERED = re.compile(r"(call_tir\(\w+?)\d*(?=,)")


def kernels_of(module: Any) -> dict[str, Any]:
    """A module's functions by name, without what numbers it, which counts those that were folded, too."""
    of = {variable.name_hint.rstrip("0123456789"): function for variable, function in module.functions_items()}
    return {
        name: function if name == "main" else function.without_attr("global_symbol") for name, function in of.items()
    }


def test_what_stock_tvm_makes_of_a_network_is_the_same(tools: Any) -> None:
    """A gather with its tests of indices, a bias and a transposed weight, folded here first or by its pipeline."""
    nodes = [
        tools.node("Conv", ["x", "kernel", "bias"], ["a"]),
        tools.node("Gather", ["a", "places"], ["b"], axis=1),
        tools.node("Flatten", ["b"], ["c"]),
        tools.node("Gemm", ["c", "weight"], ["y"], transB=1),
    ]
    random = np.random.default_rng(0)
    arrays = {"kernel": (4, 3, 1, 1), "bias": (4,), "weight": (5, 8)}
    weights = [tools.tensor(name, random.standard_normal(shape).astype(np.float32)) for name, shape in arrays.items()]
    weights.append(tools.tensor("places", np.array(-1)))
    model = tools.model(nodes, [tools.value("x", [1, 3, 2, 4])], [tools.value("y", [1, 5])], weights)
    imported = from_onnx(model)
    folded = fold_constants(imported)
    assert str(folded).count("R.") < str(imported).count("R.")
    with tvm.target.Target("llvm"):
        stock, ours = (relax.get_pipeline("zero")(each) for each in (imported, folded))
    kernels = [kernels_of(module) for module in (stock, ours)]
    assert kernels[0].keys() == kernels[1].keys() > {"main", "matmul", "take"}
    assert all(
        tvm_ffi.structural_equal(kernel, kernels[1][name]) for name, kernel in kernels[0].items() if name != "main"
    )
    assert re.sub(NUMBERED, r"\1", str(stock["main"])) == re.sub(NUMBERED, r"\1", str(ours["main"]))
