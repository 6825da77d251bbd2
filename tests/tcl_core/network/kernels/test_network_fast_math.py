from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
from scipy import special
from tvm import relax

from tcl_core.network.kernels.fast_math import fast_math

TARGET = tvm.target.Target({"kind": "llvm", "num-cores": 1})
ROWS = np.random.default_rng(0).standard_normal((4, 64), np.float32) * 3


def _gelu_tanh(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


CASES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "exp": (relax.op.exp, np.exp),
    "erf": (relax.op.erf, special.erf),
    "tanh": (relax.op.tanh, np.tanh),
    "sigmoid": (relax.op.sigmoid, special.expit),
    "softmax": (lambda x: relax.op.nn.softmax(x, axis=-1), lambda x: special.softmax(x, axis=-1)),
    "softmax of four": (lambda x: relax.op.nn.softmax(x, axis=0), lambda x: special.softmax(x, axis=0)),
    "softmax of sixteen": (
        lambda x: relax.op.nn.softmax(relax.op.reshape(x, [1, 16, 16]), axis=1),
        lambda x: special.softmax(x.reshape(1, 16, 16), axis=1),
    ),
    "log_softmax": (lambda x: relax.op.nn.log_softmax(x, axis=-1), lambda x: special.log_softmax(x, axis=-1)),
    "silu": (relax.op.nn.silu, lambda x: x * special.expit(x)),
    "gelu": (relax.op.nn.gelu, lambda x: 0.5 * x * (1 + special.erf(x / np.sqrt(2)))),
    "gelu_tanh": (relax.op.nn.gelu_tanh, _gelu_tanh),
    "log": (lambda x: relax.op.log(relax.op.abs(x)), lambda x: np.log(np.abs(x))),
    "sin": (relax.op.sin, np.sin),
    "cos": (relax.op.cos, np.cos),
    "tan": (relax.op.tan, np.tan),
    "atan": (relax.op.atan, np.arctan),
}


def module_of(operator: Callable[[Any], Any], dtype: str = "float32") -> Any:
    builder = relax.BlockBuilder()
    data = relax.Var("x", relax.TensorType(ROWS.shape, dtype))
    with builder.function("main", [data]):
        with builder.dataflow():
            result = builder.emit_output(operator(data))
        builder.emit_func_output(result)
    return builder.get()


def lower(module: Any) -> Any:
    with TARGET:
        return relax.get_pipeline("zero")(module)


@pytest.mark.parametrize("lanes", [0, 16])
@pytest.mark.parametrize("name", CASES)
def test_polynomials_are_as_good_as_libm(name: str, lanes: int) -> None:
    operator, exact = CASES[name]
    with TARGET:
        module = lower(fast_math(module_of(operator), lanes))
    assert ("softmax_sum_by_lane" in module.script()) == (name == "softmax" and lanes > 0)
    assert not re.search(r"T\.(exp|erf|tanh|sigmoid|log|sin|cos|tan|atan)\(", module.script())
    machine = relax.VirtualMachine(tvm.compile(module, TARGET), tvm.cpu())
    result = machine["main"](tvm.runtime.tensor(ROWS)).numpy()
    np.testing.assert_allclose(result, exact(ROWS.astype(np.float64)), rtol=3e-6, atol=1e-6)


def test_for_a_gpu_they_are_left_to_it() -> None:
    with tvm.target.Target({"kind": "cuda", "arch": "sm_80"}):
        module = fast_math(module_of(relax.op.sin), 0)
    assert "R.sin(" in module.script()


def test_other_types_are_left_alone() -> None:
    assert "T.exp(" in lower(fast_math(module_of(relax.op.exp, "float64"), 16)).script()
