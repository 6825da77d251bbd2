"""Sums of products tiled by registers: the same results, and the loops that make them fast."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import te, topi

from tcl_core.domain import Candidate, Replay, Sketch
from tcl_core.network.kernels.convolutions import DENSE, from_plain, grouped, in_whole_tiles, of_first
from tcl_core.network.kernels.few_bits import expression
from tcl_core.network.kernels.volumes import channels_last
from tcl_core.network.kernels.winograd import product
from tcl_core.network.quantization.byte_convolutions import ByteConvolution
from tcl_core.network.quantization.byte_products import multiply
from tcl_core.space.design_space import DesignSpace
from tests.tcl_core.conftest import CPU_TARGET
from tests.tcl_core.space.kernel_tasks import task_of

LANES = 8
ONE_THREAD = json.dumps({**json.loads(CPU_TARGET), "num-cores": 1})


def convolution(size: int = 14, window: int = 3, *, chunks: int = 4) -> list[Any]:
    """16 channels to `chunks` x 8, a bias behind."""
    data = te.placeholder((1, 2, size, size, LANES), name="data")
    kernel = te.placeholder((chunks, 2, window, window, LANES, LANES), name="kernel")
    bias = te.placeholder((1, chunks, 1, 1, LANES), name="bias")
    layouts = (f"NCHW{LANES}c", f"NCHW{LANES}c", "float32")
    with tvm.target.Target(json.loads(CPU_TARGET)):
        result = topi.nn.conv2d_NCHWc(data, kernel, 1, window // 2, 1, *layouts)
    return [data, kernel, bias, topi.nn.relu(topi.add(result, bias))]


def strided() -> list[Any]:
    data = te.placeholder((1, 3, 15, 15), name="data")
    kernel = te.placeholder((4, 3, 3, 3, LANES), name="kernel")
    return [data, kernel, from_plain(data, kernel, [2, 2], [1, 1, 1, 1], [1, 1], 1)]


def in_groups() -> list[Any]:
    data = te.placeholder((1, 4, 8, 8, LANES), name="data")
    kernel = te.placeholder((4, 16, 3, 3, LANES), name="kernel")
    return [data, kernel, grouped(data, kernel, [1, 1], [1] * 4, [1, 1], 2)]


def in_groups_from_plain() -> list[Any]:
    """Of 5 channels each, into two blocks each."""
    data = te.placeholder((1, 10, 8, 8), name="data")
    kernel = te.placeholder((4, 5, 3, 3, LANES), name="kernel")
    return [data, kernel, from_plain(data, kernel, [1, 1], [1] * 4, [1, 1], 2)]


def of_first_channels(groups: int = 1) -> list[Any]:
    """12 of 16 channels, or two groups of 8."""
    data = te.placeholder((1, 2, 8, 8, LANES), name="data")
    kernel = te.placeholder((4, 3, 3, 12 if groups == 1 else LANES, LANES), name="kernel")
    return [data, kernel, of_first(data, kernel, [1, 1], [1] * 4, [1, 1], groups, DENSE)]


def whole_tiles(*, bias: bool) -> list[Any]:
    """13 columns, for which 15 are computed."""
    data, kernel = te.placeholder((1, 1, 4, 13, LANES), name="data"), te.placeholder((2, 3, 3, 8, LANES), name="kernel")
    result = in_whole_tiles(of_first, data, kernel, [1, 1], [1] * 4, [1, 1], 1, DENSE)
    behind = te.placeholder((1, 2, 1, 1, LANES), name="bias")
    return [data, kernel, behind, topi.nn.relu(topi.add(result, behind))] if bias else [data, kernel, result]


def of_volumes() -> list[Any]:
    data = te.placeholder((1, 4, 6, 8, 12), name="data")
    kernel = te.placeholder((2, 3, 3, 3, 12, LANES), name="kernel")
    return [data, kernel, topi.nn.relu(channels_last(data, kernel, [1] * 3, [1] * 6, [1] * 3))]


def matrices(rows: int = 24, columns: int = 48, inside: int = 20) -> list[Any]:
    left, right = te.placeholder((1, rows, inside), name="left"), te.placeholder((inside, columns), name="right")
    return [left, right, topi.nn.relu(topi.nn.matmul(left, right))]


def plus_a_choice() -> list[Any]:
    """A product plus what is chosen of another tensor, which MetaSchedule has no sketch of."""
    left, right = te.placeholder((24, 20), name="left"), te.placeholder((20, 48), name="right")
    other = te.placeholder((24, 48), name="other")
    chosen = topi.where(topi.greater(other, 0.0), other, topi.multiply(other, 0.5))
    return [left, right, other, topi.add(topi.nn.matmul(left, right), chosen)]


def panels(of: int = 16) -> list[Any]:
    """A matrix of 64 columns, each two vectors of them by themselves; unless `of` is 16, some are left out."""
    data, kernel = te.placeholder((12, 20), name="data"), te.placeholder((64 // of, 20, 16), name="kernel")
    k = te.reduce_axis((0, 20), name="k")
    result = te.compute((12, 64), lambda i, j: te.sum(data[i, k] * kernel[j // of, k, j % 16], axis=[k]))
    return [data, kernel, topi.nn.relu(result)]


def few_bits(rows: int, bits: int = 4) -> list[Any]:
    """Weights of 64 values in two blocks, 48 columns in panels of a vector."""
    data = te.placeholder((rows, 64), name="data")
    weights = te.placeholder((48 // LANES, 64 * bits // 8, LANES), "uint8", name="weights")
    factors = [te.placeholder((48 // LANES, 2, LANES), name=name) for name in ("scales", "shifts")]
    return [data, weights, *factors, topi.nn.relu(expression(64, 32, bits)(data, weights, *factors))]


def of_bytes(columns: int = 14, byte: str = "uint8", lanes: int = LANES) -> list[Any]:
    """32 channels in words to 4 blocks, a 3x3 window, the picture padded already."""
    how = ByteConvolution(byte=byte, offset=0, strides=(1, 1), padding=(0, 0, 0, 0), dilation=(1, 1), columns=columns)
    words = te.placeholder((1, 4, 16, 17 if columns == 13 else 16, lanes // 4), "int32", name="words")
    kernel = te.placeholder((4, 4, 3, 3, lanes // 4, lanes), "int32", name="kernel")
    bias = te.placeholder((1, 4, 1, 1, lanes), name="bias")
    return [words, kernel, bias, topi.nn.relu(topi.add(topi.cast(how.convolve(words, kernel), "float32"), bias))]


def product_of_bytes(rows: int, byte: str = "uint8", lanes: int = LANES) -> list[Any]:
    words = te.placeholder((rows, 20), "int32", name="words")
    kernel = te.placeholder((6, 20, lanes), "int32", name="kernel")
    return [words, kernel, topi.nn.relu(topi.cast(multiply(words, kernel, byte), "float32"))]


def heads() -> list[Any]:
    left, right = te.placeholder((3, 12, 20), name="left"), te.placeholder((3, 20, 16), name="right")
    return [left, right, topi.nn.batch_matmul(left, right, transpose_b=False)]


def winograd() -> list[Any]:
    data = te.placeholder((12, 2, 16, LANES), name="data")
    kernel = te.placeholder((16, 4, 2, LANES, LANES), name="kernel")
    return [data, kernel, product(data, kernel)]


KERNELS: dict[str, Callable[[], list[Any]]] = {
    "3x3": convolution,
    "1x1": lambda: convolution(7, 1),
    "seven rows": lambda: convolution(7),
    "strides, from a plain layout": strided,
    "groups of whole blocks": in_groups,
    "groups from a plain layout": in_groups_from_plain,
    "the first channels": of_first_channels,
    "groups by channel": lambda: of_first_channels(2),
    "columns that are computed for nothing": lambda: whole_tiles(bias=False),
    "such with a bias": lambda: whole_tiles(bias=True),
    "volumes": of_volumes,
    "matrices": matrices,
    "plus a choice": plus_a_choice,
    "panels": panels,
    "one row": lambda: matrices(1, 64),
    "seven lanes": lambda: matrices(24, 42),
    "a vector of five a row": lambda: matrices(24, 5),
    "one row by weights of few bits": lambda: few_bits(1),
    "four rows by such": lambda: few_bits(4),
    "by weights of bytes": lambda: few_bits(2, bits=8),
    "convolution of bytes": of_bytes,
    "such with columns computed for nothing": lambda: of_bytes(13),
    "product of bytes": lambda: product_of_bytes(12),
    "one row of bytes": lambda: product_of_bytes(1),
    "heads": heads,
    "winograd": winograd,
}


def drawn(sketch: Sketch, generator: np.random.Generator) -> Candidate:
    decisions = tuple(domain.values[generator.integers(len(domain.values))] for domain in sketch.domains)
    return Candidate(sketch.task_key, sketch.index, decisions)


def run(module: Any, arrays: Sequence[Any], shape: tuple[int, ...]) -> Any:
    result = tvm.runtime.tensor(np.zeros(shape, np.float32))
    tvm.compile(module, tvm.target.Target(json.loads(CPU_TARGET)))(*map(tvm.runtime.tensor, arrays), result)
    return result.numpy()


def some(generator: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Any:
    if dtype == "float32":
        return generator.standard_normal(shape).astype(np.float32)
    bounds = np.iinfo(dtype)
    return generator.integers(bounds.min, bounds.max, shape, dtype=np.dtype(dtype), endpoint=True)


@pytest.mark.parametrize("kind", KERNELS)
def test_every_sketch_computes_what_the_task_does(kind: str) -> None:
    tensors = KERNELS[kind]()
    space = DesignSpace(task_of(kind, tensors), CPU_TARGET)
    generator = np.random.default_rng(0)
    shapes = [tuple(int(extent) for extent in tensor.shape) for tensor in tensors]
    arrays = [some(generator, str(tensor.dtype), shape) for tensor, shape in zip(tensors, shapes[:-1], strict=False)]
    expected = run(tvm.ir.load_json(space.task.module_json), arrays, shapes[-1])
    for sketch in [*space.sketches] * 2:
        candidate = drawn(sketch, generator)
        replay = space.replay(candidate)
        assert isinstance(replay, Replay)
        assert replay.candidate == candidate
        found = run(tvm.ir.load_json(replay.module_json), arrays, shapes[-1])
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def loops_of(space: DesignSpace, sketch: Sketch, block: str) -> list[tuple[str, int]]:
    """Kind and extent of the loops around a block, outermost first, in the sketch's first candidate."""
    result = space.schedule(Candidate(sketch.task_key, sketch.index, tuple(each.values[0] for each in sketch.domains)))
    schedule = result.schedule  # type: ignore[union-attr]
    loops = [schedule.get(loop) for loop in schedule.get_loops(schedule.get_sblock(block))]
    return [(tvm.tirx.ForKind(int(loop.kind)).name.lower(), int(loop.extent)) for loop in loops]


@pytest.mark.parametrize("block", ["conv2d_NCHWc_update", "conv2d_NCHWc_init", "compute"])
def test_a_tile_is_unrolled_around_its_lanes(block: str) -> None:
    space = DesignSpace(task_of("3x3", convolution(12)), CPU_TARGET)
    for sketch, columns in zip(space.sketches, (2, 1), strict=True):
        *_, rows, across, lanes = loops_of(space, sketch, block)
        assert (rows[0], across, lanes) == ("unrolled", ("unrolled", columns), ("vectorized", LANES))
        assert columns * rows[1] + columns < 16


def test_columns_that_nothing_divides_get_tiles_of_several() -> None:
    for sketch in DesignSpace(task_of("13", whole_tiles(bias=True)), CPU_TARGET).sketches:
        assert {value[-1] for domain in sketch.domains for value in domain.values if math.prod(value) == 15} == {5}


def test_rows_are_shared_out_and_padded_by_who_reads_them() -> None:
    space = DesignSpace(task_of("3x3", convolution()), CPU_TARGET)
    for sketch in space.sketches:
        assert {value[0] for value in sketch.domains[0].values} == {2, 14}
        assert loops_of(space, sketch, "data_pad")[0] == ("parallel", sketch.domains[0].values[0][0])


def test_few_rows_share_their_columns_and_are_padded_before() -> None:
    space = DesignSpace(task_of("3x3", convolution(7)), CPU_TARGET)
    for sketch in space.sketches:
        assert loops_of(space, sketch, "data_pad")[0][0] == "parallel"
        around = [tile[0] * between[0] for tile in sketch.domains[0].values for between in sketch.domains[2].values]
        assert loops_of(space, sketch, "conv2d_NCHWc_update")[0][1] in around


def test_a_single_thread_takes_all_rows() -> None:
    (sketch, *_) = DesignSpace(task_of("3x3", convolution()), ONE_THREAD).sketches
    assert {math.prod(value[1:]) for value in sketch.domains[0].values} == {1, 2, 7, 14}


@pytest.mark.parametrize("window", [1, 3])
def test_channels_are_summed_block_by_block(window: int) -> None:
    (sketch, *_) = DesignSpace(task_of("blocks", convolution(14, window)), CPU_TARGET).sketches
    assert {value[1] * value[2] for value in sketch.domains[-1].values} == {LANES}


def test_the_order_of_tiles_is_open() -> None:
    first = [sketch.domains[0] for sketch in DesignSpace(task_of("matrices", matrices()), CPU_TARGET).sketches]
    assert first and all(len(domain.values) > 1 for domain in first)


def test_panels_are_tiled_as_the_matrix_would_be() -> None:
    panelled, plain = (
        DesignSpace(task_of("product", each), CPU_TARGET).sketches for each in (panels(), matrices(12, 64))
    )
    assert [sketch.domains for sketch in panelled] == [sketch.domains for sketch in plain]


def test_weights_of_few_bits_are_worked_out_for_tiles_of_few_columns_too() -> None:
    space = DesignSpace(task_of("few bits", few_bits(1)), CPU_TARGET)
    assert len(space.sketches) > 1
    plain = DesignSpace(task_of("row", matrices(1, 48)), CPU_TARGET)
    assert len(plain.sketches) == 1
    assert all(math.prod(value[1:]) == 16 for each in space.sketches for value in each.domains[-1].values)


@pytest.mark.parametrize(
    ("target", "byte", "lanes", "instruction", "plain"),
    [
        ({"mcpu": "cascadelake"}, "uint8", LANES, "vpdpbusd", "vpmulld"),
        ({"mtriple": "aarch64-linux-gnu", "mcpu": "cortex-a76"}, "int8", 4, "sdot", "mla\t"),
    ],
    ids=["x86", "ARM"],
)
@pytest.mark.parametrize("make", [partial(of_bytes, 14), partial(product_of_bytes, 12)], ids=["convolution", "product"])
def test_products_of_bytes_are_one_instruction_a_vector(
    make: Callable[..., list[Any]], target: dict[str, str], byte: str, lanes: int, instruction: str, plain: str
) -> None:
    whole = {"kind": "llvm", **target, "num-cores": 2}
    space = DesignSpace(task_of("bytes", make(byte, lanes)), json.dumps(whole))
    for sketch in space.sketches:
        replay = space.replay(drawn(sketch, np.random.default_rng(1)))
        assert isinstance(replay, Replay)
        with tvm.target.Target(whole):
            build = tvm.compile(tvm.ir.load_json(replay.module_json), tvm.target.Target(whole))
        text = build.mod.inspect_source("asm")
        assert text.count(instruction) > 1
        assert plain not in text, "none is computed byte by byte"


def test_metaschedule_tiles_products_of_bytes_too() -> None:
    """Where something else than a sum's own results comes behind it."""
    space = DesignSpace(task_of("stock", product_of_bytes(12)), CPU_TARGET, stock=True)
    assert space.sketches
    generator = np.random.default_rng(0)
    for sketch in space.sketches:
        assert isinstance(space.replay(drawn(sketch, generator)), Replay)


@pytest.mark.parametrize(("columns", "lanes"), [(42, 7), (5, 5), (16, 8), (12, 6)])
def test_columns_that_fill_no_vectors_are_vectors_that_llvm_fills(columns: int, lanes: int) -> None:
    space = DesignSpace(task_of("product", matrices(24, columns)), CPU_TARGET)
    assert loops_of(space, space.sketches[0], "T_matmul_NN_update")[-1] == ("vectorized", lanes)


def test_a_choice_is_worked_out_for_each_tile() -> None:
    space = DesignSpace(task_of("choice", plus_a_choice()), CPU_TARGET)
    plain = DesignSpace(task_of("plain", matrices()), CPU_TARGET)
    ours, theirs = ([each.values for sketch in of.sketches for each in sketch.domains] for of in (space, plain))
    assert ours == theirs


@pytest.mark.parametrize(("rows", "by_columns"), [(49, True), (392, False)])
def test_threads_may_share_the_columns_of_many_weights(rows: int, by_columns: bool) -> None:
    space = DesignSpace(task_of("weights", matrices(rows, 2048, 256)), CPU_TARGET)
    for sketch in space.sketches:
        of_rows, of_columns, *_ = sketch.domains
        assert any(value[0] == 1 for value in of_rows.values) is by_columns
        assert all(value[0] % 2 == 0 or value[0] >= 8 for value in of_columns.values) is by_columns


@pytest.mark.parametrize(("threads", "shares"), [(2, {2, 14}), (8, {7, 14}), (16, {14}), (24, {14})])
def test_many_threads_have_a_part_each_of_few_rows(threads: int, shares: set[int]) -> None:
    """Whatever columns come to them: two parts of 14 rows keep no more than two of 16 busy."""
    target = json.dumps({**json.loads(CPU_TARGET), "num-cores": threads})
    for sketch in DesignSpace(task_of("few rows", convolution(14)), target).sketches:
        assert {value[0] for value in sketch.domains[0].values} == shares


def overlapping() -> list[Any]:
    return panels(8)


def plain() -> list[Any]:
    data, kernel = te.placeholder((1, 8, 9, 9), name="data"), te.placeholder((8, 8, 3, 3), name="kernel")
    return [data, kernel, topi.nn.conv2d_nchw(data, kernel, 1, 1, 1)]


def across() -> list[Any]:
    left, right = te.placeholder((16, 16), name="left"), te.placeholder((16, 16), name="right")
    return [left, right, topi.nn.matmul(left, right, transpose_b=True)]


def odd() -> list[Any]:
    return matrices(8, 22)


def summed() -> list[Any]:
    data = te.placeholder((16, 16), name="data")
    return [data, topi.sum(data, axis=0)]


@pytest.mark.parametrize("make", [plain, across, odd, summed, overlapping])
def test_what_has_no_lanes_is_left_to_metaschedule(make: Callable[[], list[Any]]) -> None:
    task = task_of("other", make())
    stock = DesignSpace(task, CPU_TARGET, stock=True)
    assert [each.trace_json for each in DesignSpace(task, CPU_TARGET).sketches] == [
        each.trace_json for each in stock.sketches
    ]
