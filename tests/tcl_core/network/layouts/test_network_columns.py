"""Products whose columns fill no vectors: some more where vectors would be idle, and the same results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from hypothesis import given
from hypothesis import strategies as st
from tvm import relax

from tcl_core.network.layouts.columns import lengthen_columns, longer

TARGET = tvm.target.Target({"kind": "llvm", "num-cores": 1})
ROWS, INSIDE, COLUMNS, LANES = 24, 72, 49, 16


def constant(*shape: int) -> Any:
    return relax.const(np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32))


def module_of(columns: int = COLUMNS, rows: int = ROWS, inside: int = INSIDE, *, bare: bool = False) -> Any:
    """A product, a bias, an activation, a sum with what is no constant; `bare` ends with the product."""
    builder = relax.BlockBuilder()
    value = relax.Var("value", relax.TensorType((1, rows, inside), "float32"))
    with builder.function("main", [value]):
        with builder.dataflow():
            emit = builder.emit
            made = emit(relax.op.matmul(value, constant(inside, columns)))
            if not bare:
                made = emit(relax.op.nn.relu(emit(relax.op.add(made, constant(columns)))))
                turned = emit(relax.op.permute_dims(made, [0, 2, 1]))
                made = emit(relax.op.add(turned, emit(relax.op.mean(value, axis=[2]))))
            result = builder.emit_output(made)
        builder.emit_func_output(result)
    return builder.get()


def run(module: Any, value: Any) -> Any:
    with TARGET:
        lowered = relax.get_pipeline("zero")(module)
    return relax.VirtualMachine(tvm.compile(lowered, TARGET), tvm.cpu())["main"](tvm.runtime.tensor(value)).numpy()


def shapes(module: Any) -> dict[str, tuple[int, ...]]:
    """Of what each operator, or kernel, of a module makes."""
    found: dict[str, tuple[int, ...]] = {}

    def note(part: Any) -> None:
        if isinstance(part, relax.Call):
            name = part.args[0].name_hint if part.op.name == "relax.call_tir" else part.op.name.removeprefix("relax.")
            found[str(name)] = tuple(int(extent) for extent in part.ty.shape)

    relax.analysis.post_order_visit(module["main"], note)
    return found


def test_columns_of_zeros_go_as_far_as_each_is_worked_on_alone() -> None:
    module = module_of()
    lengthened = lengthen_columns(module, LANES)
    made = shapes(lengthened)
    assert made["matmul"] == made["nn.relu"] == (1, ROWS, 64)
    assert made["cut"] == (1, ROWS, COLUMNS)
    assert made["permute_dims"] == (1, COLUMNS, ROWS)
    value = np.random.default_rng(0).standard_normal((1, ROWS, INSIDE)).astype(np.float32)
    np.testing.assert_allclose(run(lengthened, value), run(module, value), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("rows", "inside"), [(ROWS, INSIDE), (1, 512)])
def test_a_product_that_is_given_out_is_cut_last(rows: int, inside: int) -> None:
    """The words of a language model, 50,257 of GPT-2's, are its largest product."""
    module = module_of(rows=rows, inside=inside, bare=True)
    lengthened = lengthen_columns(module, LANES)
    assert shapes(lengthened) == {"matmul": (1, rows, 64), "cut": (1, rows, COLUMNS)}
    value = np.random.default_rng(0).standard_normal((1, rows, inside)).astype(np.float32)
    np.testing.assert_allclose(run(lengthened, value), run(module, value), rtol=1e-4, atol=1e-5)


def test_what_is_cut_off_stays_out_of_the_products_kernel() -> None:
    annotated = relax.transform.AnnotateTIROpPattern()(lowered(lengthen_columns(module_of(), LANES)))
    fused = relax.transform.FuseOps()(annotated)
    names = [variable.name_hint for variable, _ in fused.functions_items()]
    assert [name for name in names if "fused_matmul" in name]
    assert not [name for name in names if "fused_matmul" in name and "cut" in name]


def lowered(module: Any) -> Any:
    with TARGET:
        return relax.transform.LegalizeOps()(module)


@pytest.mark.parametrize(
    "module",
    [module_of(48), module_of(60), module_of(12), module_of(rows=4), module_of(40, rows=1, inside=512)],
    ids=["whole vectors", "nearly whole ones", "one of its own", "few products", "one row of half vectors"],
)
def test_others_are_left_alone(module: Any) -> None:
    tvm.ir.assert_structural_equal(lengthen_columns(module, LANES), module)


@given(columns=st.integers(1, 5000), lanes=st.sampled_from([4, 8, 16]))
def test_more_columns_fill_vectors_better(columns: int, lanes: int) -> None:
    more = longer(columns, lanes)
    assert columns <= more < columns + lanes
    assert more == columns or more % lanes == 0
    whole = columns + -columns % lanes
    parts = max(each for each in range(1, lanes + 1) if more % each == 0)
    assert more == whole or columns / whole < 1.4 * parts / lanes


@pytest.mark.parametrize(("columns", "more"), [(49, 64), (40, 48), (1000, 1008), (17, 32), (60, 60), (12, 12)])
def test_of_awkward_numbers(columns: int, more: int) -> None:
    assert longer(columns, LANES) == more
