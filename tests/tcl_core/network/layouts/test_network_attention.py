"""Attention over a number of tokens that vectors do not divide: wider inside, and the same results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
from numpy.typing import NDArray
from scipy import special
from tvm import relax

from tcl_core.network.layouts.attention import widen_attention, wider

TARGET = tvm.target.Target({"kind": "llvm", "num-cores": 1})
HEADS, TOKENS, WIDER, WIDTH, LANES = 2, 37, 40, 8, 16
GENERATOR = np.random.default_rng(0)
QUERIES, VALUES = (GENERATOR.standard_normal((1, HEADS, TOKENS, WIDTH)).astype(np.float32) for _ in range(2))
KEYS = GENERATOR.standard_normal((1, HEADS, WIDTH, TOKENS)).astype(np.float32)
MASK = np.where(GENERATOR.random((TOKENS, TOKENS)) < 0.3, -np.inf, 0.0).astype(np.float32)
MASK[0] = np.finfo(np.float32).min
MASK[1] = -np.inf
Array = NDArray[np.float32]
Body = Callable[[Any, Any, Any, Any], tuple[Any, ...]]


def masked(builder: Any, queries: Any, keys: Any, values: Any) -> tuple[Any, ...]:
    """As exporters write it: scaled scores, a constant mask, and zeros where a whole row is masked."""
    emit = builder.emit
    scores = emit(relax.op.add(emit(relax.op.matmul(queries, keys)), relax.const(MASK)))
    shares = emit(relax.op.nn.softmax(scores, axis=-1))
    safe = emit(relax.op.where(emit(relax.op.isnan(shares)), relax.const(0.0, "float32"), shares))
    return (emit(relax.op.matmul(safe, values)),)


def plain(builder: Any, queries: Any, keys: Any, values: Any, axis: int = -1) -> tuple[Any, ...]:
    shares = builder.emit(relax.op.nn.softmax(builder.emit(relax.op.matmul(queries, keys)), axis=axis))
    return shares, builder.emit(relax.op.matmul(shares, values))


def module_of(body: Body) -> Any:
    builder = relax.BlockBuilder()
    arguments = [
        relax.Var(name, relax.TensorType(array.shape, "float32"))
        for name, array in (("queries", QUERIES), ("keys", KEYS), ("values", VALUES))
    ]
    with builder.function("main", arguments):
        with builder.dataflow():
            results = body(builder, *arguments)
            outputs = [builder.emit_output(result) for result in results]
        builder.emit_func_output(outputs[0] if len(outputs) == 1 else relax.Tuple(outputs))
    return builder.get()


def run(module: Any) -> Array:
    with TARGET:
        lowered = relax.get_pipeline("zero")(module)
    machine = relax.VirtualMachine(tvm.compile(lowered, TARGET), tvm.cpu())
    result: Array = machine["main"](*(tvm.runtime.tensor(array) for array in (QUERIES, KEYS, VALUES))).numpy()
    return result


@pytest.mark.parametrize(
    ("extent", "lanes", "found"),
    [
        (197, 16, 208),
        (197, 8, 200),
        (197, 4, 200),
        (27, 4, 28),
        (5, 4, 5),
        (197, 2, 197),
        (50, 16, 56),
        (77, 16, 80),
        (128, 16, 128),
        (37, 16, 40),
        (5, 16, 5),
    ],
)
def test_how_wide(extent: int, lanes: int, found: int) -> None:
    assert wider(extent, lanes) == found


def test_results_stay_and_scores_are_whole_vectors() -> None:
    widened = widen_attention(module_of(masked), LANES)
    text = widened.script()
    assert f"{HEADS}, {TOKENS}, {WIDER})" in text and f"{HEADS}, {TOKENS}, {TOKENS})" not in text
    with np.errstate(invalid="ignore"):  # a row that is masked whole
        shares = special.softmax(QUERIES.astype(np.float64) @ KEYS + MASK, axis=-1)
    expected = np.where(np.isnan(shares), 0.0, shares) @ VALUES
    np.testing.assert_allclose(run(widened), expected, rtol=1e-5, atol=1e-6)
    assert not np.any(run(widened)[0, :, 1]), "a row that is masked whole gives zeros"


def in_windows(builder: Any, queries: Any, keys: Any, values: Any) -> tuple[Any, ...]:
    """Reshaped for a mask of each window, and back: attention in shifted windows."""
    emit = builder.emit
    scores = emit(relax.op.reshape(emit(relax.op.matmul(queries, keys)), [1, 1, HEADS, TOKENS, TOKENS]))
    seen = emit(relax.op.add(scores, relax.const(np.maximum(MASK, -8)[None])))
    shares = emit(relax.op.nn.softmax(emit(relax.op.reshape(seen, [1, HEADS, TOKENS, TOKENS])), axis=-1))
    return (emit(relax.op.matmul(shares, values)),)


def test_a_mask_of_each_window_is_no_hindrance() -> None:
    widened = widen_attention(module_of(in_windows), LANES)
    assert f"1, 1, {HEADS}, {TOKENS}, {WIDER})" in widened.script()
    shares = special.softmax(QUERIES.astype(np.float64) @ KEYS + np.maximum(MASK, -8), axis=-1)
    np.testing.assert_allclose(run(widened), shares @ VALUES, rtol=1e-5, atol=1e-6)


def transposed(builder: Any, queries: Any, keys: Any, values: Any) -> tuple[Any, ...]:
    """A reshape that moves what stands in the last axis."""
    emit = builder.emit
    scores = emit(relax.op.reshape(emit(relax.op.matmul(queries, keys)), [1, HEADS * TOKENS * TOKENS]))
    shares = emit(relax.op.nn.softmax(emit(relax.op.reshape(scores, [1, HEADS, TOKENS, TOKENS])), axis=-1))
    return (emit(relax.op.matmul(shares, values)),)


def without_shares(axis: int) -> Body:
    return lambda builder, *arguments: plain(builder, *arguments, axis=axis)[1:]


def without_softmax(builder: Any, queries: Any, keys: Any, values: Any) -> tuple[Any, ...]:
    return (builder.emit(relax.op.matmul(builder.emit(relax.op.matmul(queries, keys)), values)),)


def read_twice(builder: Any, queries: Any, keys: Any, values: Any) -> tuple[Any, ...]:
    shares, result = plain(builder, queries, keys, values)
    return (builder.emit(relax.op.add(result, builder.emit(relax.op.sum(shares, [-1], keepdims=True)))),)


def divided(builder: Any, queries: Any, keys: Any, values: Any) -> tuple[Any, ...]:
    divisors = relax.const(np.arange(1, TOKENS + 1, dtype=np.float32))
    scores = builder.emit(relax.op.divide(builder.emit(relax.op.matmul(queries, keys)), divisors))
    return (builder.emit(relax.op.matmul(builder.emit(relax.op.nn.softmax(scores, axis=-1)), values)),)


def gated(builder: Any, queries: Any, keys: Any, values: Any) -> tuple[Any, ...]:
    """Where a row of the keys is positive."""
    emit = builder.emit
    row = emit(relax.op.strided_slice(keys, [2], [0], [1]))
    kept = emit(relax.op.greater(row, relax.const(0.0, "float32")))
    scores = emit(relax.op.where(kept, emit(relax.op.matmul(queries, keys)), relax.const(-1e9, "float32")))
    return (emit(relax.op.matmul(emit(relax.op.nn.softmax(scores, axis=-1)), values)),)


@pytest.mark.parametrize(
    "body", [plain, without_softmax, read_twice, without_shares(axis=-2), divided, gated, transposed]
)
def test_what_is_no_attention_or_is_read_elsewhere_stays(body: Body) -> None:
    assert str(WIDER) not in widen_attention(module_of(body), LANES).script()


def test_without_vectors_nothing_changes() -> None:
    assert str(WIDER) in widen_attention(module_of(without_shares(axis=-1)), LANES).script()
    assert str(WIDER) not in widen_attention(module_of(without_shares(axis=-1)), 0).script()
