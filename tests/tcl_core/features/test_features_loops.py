"""Loops followed through a trace, by decisions alone: extents, axes, and where nothing is known."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tcl_core.domain import LoopAxis, Task
from tcl_core.features.loops import Column, Loop, LoopNest, product
from tcl_core.features.tokens import Instruction

AXES = (
    LoopAxis(extent=64, kind="spatial"),
    LoopAxis(extent=15, kind="spatial"),
    LoopAxis(extent=96, kind="reduce"),
)
TASK = Task(
    key="k", name="n", weight=1, module_json="", flops=1.0, bytes_moved=1.0, dtype="float32", axes=AXES, arguments=(),
    anchor="product",
)  # fmt: skip


def instruction(kind: str, *inputs: object, attributes: tuple[object, ...] = (), makes: str = "") -> Instruction:
    return Instruction(kind=kind, inputs=inputs, attributes=attributes, outputs=tuple(makes.split()))


def after(*read: Instruction, factors: Mapping[str, Column] | None = None) -> LoopNest:
    nest = LoopNest(TASK)
    for each in read:
        nest.read(each, factors or {})
    return nest


def seen(nest: LoopNest, *names: str) -> tuple[Loop, ...]:
    return nest.read(instruction("Reorder", *names), {})


ANCHOR = instruction("GetSBlock", attributes=("product", "main"), makes="b0")
BESIDE = instruction("GetSBlock", attributes=("T_add", "main"), makes="b1")
LOOPS = instruction("GetLoops", "b0", makes="l0 l1 l2")


def test_the_anchor_has_all_axes_and_a_block_beside_it_the_spatial_ones() -> None:
    nest = after(ANCHOR, BESIDE, LOOPS, instruction("GetLoops", "b1", makes="l3 l4"))
    found = seen(nest, "l0", "l1", "l2", "l3", "l4")
    assert [int(loop.extent[0]) for loop in found] == [64, 15, 96, 64, 15]
    assert [loop.axis for loop in found] == [0, 1, 2, 0, 1]


def test_as_many_loops_as_it_has_not_are_not_known() -> None:
    nest = after(ANCHOR, BESIDE, LOOPS, instruction("GetLoops", "b1", makes="l3 l4 l5"))
    assert seen(nest, "l0")
    assert not seen(nest, "l3")
    assert not seen(nest, "l0", "l3"), "one that is not known spoils the rest"


def test_a_moved_block_has_loops_that_are_not_known() -> None:
    nest = after(
        ANCHOR, BESIDE, LOOPS, instruction("ReverseComputeAt", "b1", "l1"), instruction("GetLoops", "b1", makes="l3 l4")
    )
    assert not seen(nest, "l3")


def test_splits_take_decisions_constants_and_what_is_left() -> None:
    factors = {"v3": np.array([2.0, 8.0]), "v4": np.array([32.0, 8.0])}
    nest = after(
        ANCHOR,
        LOOPS,
        instruction("Split", "l0", "v3", "v4", makes="l5 l6"),
        instruction("Split", "l1", "None", 4, makes="l7 l8"),
        factors=factors,
    )
    outer, inner, rest, four = seen(nest, "l5", "l6", "l7", "l8")
    assert outer.extent.tolist() == [2, 8] and inner.extent.tolist() == [32, 8]
    assert rest.extent.tolist() == [4], "fifteen by four takes four steps"
    assert four.extent.tolist() == [4]
    assert [loop.axis for loop in (outer, inner, rest, four)] == [0, 0, 1, 1]


def test_fused_loops_are_of_no_single_axis() -> None:
    nest = after(
        ANCHOR, LOOPS, instruction("Fuse", "l0", "l1", makes="l5"), instruction("AddUnitLoop", "b0", makes="l6")
    )
    fused, unit = seen(nest, "l5", "l6")
    assert (fused.extent.tolist(), fused.axis) == ([960], None)
    assert (unit.extent.tolist(), unit.axis) == ([1], None)


def test_what_is_unrolled_or_made_a_vector_adds_up() -> None:
    nest = after(
        ANCHOR, LOOPS, instruction("Unroll", "l1"), instruction("Vectorize", "l0"), instruction("Parallel", "l2")
    )
    assert nest.unrolled.tolist() == [960]


@given(st.lists(st.sampled_from([1, 2, 4, 8]), min_size=1, max_size=4))
def test_parts_of_a_loop_hold_all_of_it(given_factors: list[int]) -> None:
    names = [f"v{index + 10}" for index in range(len(given_factors))]
    made = " ".join(f"l{index + 20}" for index in range(len(names) + 1))
    factors = {name: np.full(1, float(factor)) for name, factor in zip(names, given_factors, strict=True)}
    nest = after(ANCHOR, LOOPS, instruction("Split", "l0", None, *names, makes=made), factors=factors)
    whole = product(seen(nest, *made.split()))
    assert 64 <= whole[0] < 64 + np.prod(given_factors)
