"""Tokens whose number nothing divides: more rows where rows are worked on one by one, and the same results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tvm import relax

from tcl_core.network.layouts.tokens import lengthen_rows, longer

TARGET = tvm.target.Target({"kind": "llvm", "num-cores": 1})
TOKENS, LONGER, WIDTH, HEADS = 37, 40, 12, 3
GENERATOR = np.random.default_rng(0)
Array = NDArray[np.float32]
Body = Callable[[Any, Any], tuple[Any, ...]]


def constant(*shape: int) -> Any:
    return relax.const(np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32))


def normed(emit: Any, value: Any) -> Any:
    return emit(relax.op.nn.layer_norm(value, constant(WIDTH), constant(WIDTH), axes=[-1]))


def heads(emit: Any, value: Any, axes: list[int]) -> Any:
    """[1, tokens, width] -> [1, heads, tokens, part], or as `axes` says."""
    parts = emit(relax.op.reshape(value, (1, TOKENS, HEADS, WIDTH // HEADS)))
    return emit(relax.op.permute_dims(parts, axes))


def block(builder: Any, tokens: Any) -> tuple[Any, ...]:
    """A transformer's: positions, attention, GELU and residuals; of the result the first token."""
    emit = builder.emit
    value = emit(relax.op.add(tokens, constant(1, TOKENS, WIDTH)))
    before = normed(emit, value)
    queries, keys, values = (emit(relax.op.matmul(before, constant(WIDTH, WIDTH))) for _ in range(3))
    scores = emit(relax.op.matmul(heads(emit, queries, [0, 2, 1, 3]), heads(emit, keys, [0, 2, 3, 1])))
    shares = emit(relax.op.nn.softmax(scores, axis=-1))
    safe = emit(relax.op.where(emit(relax.op.isnan(shares)), relax.const(0.0, "float32"), shares))
    mixed = emit(relax.op.matmul(safe, heads(emit, values, [0, 2, 1, 3])))
    joined = emit(relax.op.reshape(emit(relax.op.permute_dims(mixed, [0, 2, 1, 3])), (1, TOKENS, WIDTH)))
    value = emit(relax.op.add(value, emit(relax.op.matmul(joined, constant(WIDTH, WIDTH)))))
    inner = emit(relax.op.nn.gelu(emit(relax.op.matmul(normed(emit, value), constant(WIDTH, 4 * WIDTH)))))
    value = emit(relax.op.add(value, emit(relax.op.matmul(inner, constant(4 * WIDTH, WIDTH)))))
    return (emit(relax.op.take(value, relax.const(0, "int64"), axis=1)),)


def alone(builder: Any, tokens: Any) -> tuple[Any, ...]:
    """A product that is given out itself."""
    return (builder.emit(relax.op.matmul(tokens, constant(WIDTH, 8))),)


def summed_over(builder: Any, tokens: Any) -> tuple[Any, ...]:
    """Rows meet in a mean, in a concatenation and in a softmax over them."""
    product = builder.emit(relax.op.matmul(tokens, constant(WIDTH, WIDTH)))
    mean = builder.emit(relax.op.mean(product, axis=[1]))
    shares = builder.emit(relax.op.nn.softmax(product, axis=1))
    return mean, shares, builder.emit(relax.op.concat([product, tokens], axis=1))


def normed_over(builder: Any, tokens: Any) -> tuple[Any, ...]:
    """A layer norm over rows and columns, and rows that a reshape mixes with columns."""
    product = builder.emit(relax.op.matmul(tokens, constant(WIDTH, WIDTH)))
    scale = constant(TOKENS, WIDTH)
    over = builder.emit(relax.op.nn.layer_norm(product, scale, scale, axes=[-2, -1]))
    return over, builder.emit(relax.op.reshape(product, (1, TOKENS * WIDTH)))


def in_front(builder: Any, tokens: Any) -> tuple[Any, ...]:
    """Tokens before the batch of one, as PyTorch's attention has them; a product of each token's own matrix behind."""
    emit = builder.emit
    turned = emit(relax.op.permute_dims(normed(emit, tokens), [1, 0, 2]))
    made = emit(relax.op.nn.relu(emit(relax.op.add(emit(relax.op.matmul(turned, constant(WIDTH, 8))), constant(8)))))
    each = emit(relax.op.matmul(made, constant(TOKENS, 8, 4)))
    return (each, emit(relax.op.permute_dims(made, [1, 0, 2])))


def together(builder: Any, tokens: Any) -> tuple[Any, ...]:
    """Queries, keys and values of one product, taken from it as PyTorch's attention does; and by slices of it."""
    emit = builder.emit
    turned = emit(relax.op.permute_dims(normed(emit, tokens), [1, 0, 2]))
    product = emit(relax.op.matmul(turned, constant(WIDTH, 3 * WIDTH)))
    parts = emit(relax.op.expand_dims(emit(relax.op.reshape(product, (TOKENS, 1, 3, WIDTH))), [0]))
    parts = emit(relax.op.squeeze(emit(relax.op.permute_dims(parts, [3, 1, 2, 0, 4])), [3]))
    queries, keys = (emit(relax.op.take(parts, relax.const(at, "int64"), axis=0)) for at in range(2))
    first = emit(relax.op.strided_slice(product, axes=[-1], begin=[2 * WIDTH], end=[3 * WIDTH]))
    values = emit(relax.op.squeeze(emit(relax.op.take(first, relax.const([3, 1], "int64"), axis=-1)), [-2]))
    of_head = [emit(relax.op.reshape(each, (TOKENS, HEADS, WIDTH // HEADS))) for each in (queries, keys)]
    scores = emit(
        relax.op.matmul(
            emit(relax.op.permute_dims(of_head[0], [1, 0, 2])), emit(relax.op.permute_dims(of_head[1], [1, 2, 0]))
        )
    )
    few = emit(relax.op.strided_slice(product, axes=[0], begin=[0], end=[3]))
    return emit(relax.op.negative(emit(relax.op.matmul(scores, values)))), few


def rotated(builder: Any, tokens: Any) -> tuple[Any, ...]:
    """An attention whose queries are rotated without their class token, with a mask."""
    emit = builder.emit
    queries = heads(emit, emit(relax.op.matmul(tokens, constant(WIDTH, WIDTH))), [0, 2, 1, 3])
    first = emit(relax.op.strided_slice(queries, axes=[2], begin=[0], end=[1]))
    others = emit(relax.op.negative(emit(relax.op.strided_slice(queries, axes=[2], begin=[1], end=[TOKENS]))))
    turned = emit(relax.op.concat([first, others], axis=2))
    scores = emit(relax.op.matmul(turned, constant(1, HEADS, WIDTH // HEADS, TOKENS)))
    masked = emit(relax.op.add(scores, constant(1, 1, TOKENS, TOKENS)))
    shares = emit(relax.op.nn.softmax(masked, axis=-1))
    mixed = emit(relax.op.matmul(shares, constant(1, HEADS, TOKENS, WIDTH // HEADS)))
    joined = emit(relax.op.reshape(emit(relax.op.permute_dims(mixed, [0, 2, 1, 3])), (1, TOKENS, WIDTH)))
    return (emit(relax.op.nn.relu(emit(relax.op.matmul(joined, constant(WIDTH, WIDTH))))),)


def of_few_columns(builder: Any, tokens: Any) -> tuple[Any, ...]:
    """A product of heads that would cost its rows of zeros and gain little."""
    of_head = heads(builder.emit, tokens, [0, 2, 1, 3])
    return (builder.emit(relax.op.nn.relu(builder.emit(relax.op.matmul(of_head, constant(1, HEADS, 4, 8))))),)


BODIES: dict[str, Body] = {
    "block": block,
    "alone": alone,
    "summed": summed_over,
    "normed": normed_over,
    "in front": in_front,
    "together": together,
    "rotated": rotated,
    "of few columns": of_few_columns,
}


def module_of(body: Body) -> Any:
    builder = relax.BlockBuilder()
    tokens = relax.Var("tokens", relax.TensorType((1, TOKENS, WIDTH), "float32"))
    with builder.function("main", [tokens]):
        with builder.dataflow():
            outputs = [builder.emit_output(result) for result in body(builder, tokens)]
        builder.emit_func_output(outputs[0] if len(outputs) == 1 else relax.Tuple(outputs))
    return builder.get()


def run(module: Any, tokens: Array) -> list[Array]:
    with TARGET:
        lowered = relax.get_pipeline("zero")(module)
    machine = relax.VirtualMachine(tvm.compile(lowered, TARGET), tvm.cpu())
    results = machine["main"](tvm.runtime.tensor(tokens))
    return [each.numpy() for each in results] if not hasattr(results, "numpy") else [results.numpy()]


def products(module: Any) -> list[tuple[int, ...]]:
    """Shapes of what a module's products make."""
    found: list[tuple[int, ...]] = []

    def note(part: Any) -> None:
        if isinstance(part, relax.Call) and getattr(part.op, "name", "") == "relax.matmul":
            found.append(tuple(int(extent) for extent in part.ty.shape))

    relax.analysis.post_order_visit(module["main"], note)
    return found


@pytest.mark.parametrize("name", BODIES)
def test_the_results_are_the_same(name: str) -> None:
    module = module_of(BODIES[name])
    lengthened = lengthen_rows(module)
    tokens = GENERATOR.standard_normal((1, TOKENS, WIDTH)).astype(np.float32)
    for ours, theirs in zip(run(lengthened, tokens), run(module, tokens), strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_every_product_of_a_transformer_has_more_rows_and_they_are_added_once() -> None:
    module = lengthen_rows(module_of(block))
    made = products(module)
    assert len(made) == 8
    assert all(shape[-2] == LONGER for shape in made)
    script = module.script()
    assert script.count("R.call_tir(cls.pad_zeros") == 1
    assert (1, HEADS, LONGER, TOKENS) in made, "keys are cut: no query meets the rows added"


def test_tokens_in_front_of_the_batch_are_rows_for_a_matrix_that_all_share() -> None:
    assert products(lengthen_rows(module_of(in_front))) == [(LONGER, 1, 8), (TOKENS, 1, 4)]


def test_queries_taken_from_a_product_of_all_three_are_more_rows() -> None:
    made = products(lengthen_rows(module_of(together)))
    assert made == [(LONGER, 1, 3 * WIDTH), (HEADS, LONGER, TOKENS), (HEADS, LONGER, 2)]


def test_queries_that_were_cut_are_more_rows_again() -> None:
    module = lengthen_rows(module_of(rotated))
    every = [(1, LONGER, WIDTH), (1, HEADS, LONGER, TOKENS), (1, HEADS, LONGER, WIDTH // HEADS), (1, LONGER, WIDTH)]
    assert products(module) == every
    assert module.script().count("R.call_tir(cls.pad_zeros") == 2  # tokens and queries


def test_heads_of_few_columns_stay() -> None:
    assert products(lengthen_rows(module_of(of_few_columns))) == [(1, HEADS, TOKENS, 8)]


def test_a_product_that_is_given_out_stays() -> None:
    assert products(lengthen_rows(module_of(alone))) == [(1, TOKENS, 8)]


def test_a_function_without_awkward_rows_is_left_alone() -> None:
    builder = relax.BlockBuilder()
    tokens = relax.Var("tokens", relax.TensorType((1, 40, WIDTH), "float32"))
    with builder.function("main", [tokens]):
        with builder.dataflow():
            product = builder.emit(relax.op.matmul(tokens, constant(WIDTH, WIDTH)))
            result = builder.emit_output(relax.op.nn.relu(product))
        builder.emit_func_output(result)
    module = builder.get()
    tvm.ir.assert_structural_equal(lengthen_rows(module), module)


def test_a_product_of_two_vectors_has_no_rows() -> None:
    builder = relax.BlockBuilder()
    vector = relax.Var("vector", relax.TensorType((WIDTH,), "float32"))
    with builder.function("main", [vector]):
        with builder.dataflow():
            product = builder.emit(relax.op.matmul(vector, constant(WIDTH)))
            result = builder.emit_output(relax.op.nn.relu(product))
        builder.emit_func_output(result)
    module = builder.get()
    tvm.ir.assert_structural_equal(lengthen_rows(module), module)


@given(rows=st.integers(1, 5000))
def test_rows_are_divided_well_at_little_cost(rows: int) -> None:
    more = longer(rows)
    assert rows <= more < rows + 8
    assert more == rows or more % 8 == 0
    assert rows < 32 or any(more % divisor == 0 for divisor in range(4, 17))
