"""Candidates carried over to similar tasks stay legal and keep what made them fast."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sketch_examples import location, sketch, tile

from tcl_core.domain import Candidate, DecisionDomain, DecisionKind, LoopAxis, Sketch, Task
from tcl_core.search.carrying import carry, distance


def steps(*literals: float) -> DecisionDomain:
    values = tuple((index,) for index in range(len(literals)))
    return DecisionDomain(instruction=0, kind=DecisionKind.CATEGORY, values=values, literals=literals)


def space(extent: int, *literals: float, loops: tuple[int, ...] = (-1, 0, 1), task_key: str = "task") -> Sketch:
    return sketch(tile(extent), steps(*literals), location(*loops), task_key=task_key)


SPACES = st.builds(
    space,
    st.integers(1, 96),
    st.floats(0, 512),
    st.floats(0, 512),
    loops=st.sets(st.integers(-2, 6), min_size=1).map(lambda loops: tuple(sorted(loops))),
)


def task(*loops: tuple[int, str], anchor: str = "matmul") -> Task:
    axes = tuple(LoopAxis(extent=extent, kind=kind) for extent, kind in loops)
    plain = {"module_json": "", "flops": 0.0, "bytes_moved": 0.0, "dtype": "float32", "arguments": ()}
    return Task(key="k", name="n", weight=1, axes=axes, anchor=anchor, **plain)  # type: ignore[arg-type]


@given(SPACES, SPACES, st.data())
def test_what_is_carried_over_is_legal_there(theirs: Sketch, own: Sketch, data: st.DataObject) -> None:
    decisions = tuple(data.draw(st.sampled_from(domain.values)) for domain in theirs.domains)
    carried = carry(Candidate("theirs", 0, decisions), theirs, replace(own, task_key="own", index=3))
    assert carried is not None and (carried.task_key, carried.sketch) == ("own", 3)
    assert all(value in domain.values for value, domain in zip(carried.decisions, own.domains, strict=True))


@given(SPACES, st.data())
def test_what_is_legal_there_stays_as_it_is(one: Sketch, data: st.DataObject) -> None:
    decisions = tuple(data.draw(st.sampled_from(domain.values)) for domain in one.domains)
    carried = carry(Candidate("task", 0, decisions), one, one)
    assert carried is not None
    tiles, (category,), place = carried.decisions
    assert (tiles, place) == (decisions[0], decisions[2])
    assert one.domains[1].literals[category] == one.domains[1].literals[decisions[1][0]]


@pytest.mark.parametrize(
    ("before", "extent", "after"),
    [
        ((4, 1, 1, 16), 128, (8, 1, 1, 16)),  # the outermost loop is longer, the vector is not
        ((4, 1, 1, 16), 48, (3, 1, 1, 16)),
        ((7, 1, 8, 1), 14, (2, 1, 7, 1)),
        ((2, 2, 2, 8), 7, (1, 1, 1, 7)),
    ],
)
def test_inner_tiles_are_kept(before: tuple[int, ...], extent: int, after: tuple[int, ...]) -> None:
    theirs, own = space(math.prod(before), 0.0), space(extent, 0.0)
    carried = carry(Candidate("task", 0, (before, (0,), (1,))), theirs, own)
    assert carried is not None and carried.decisions[0] == after


def test_categories_are_matched_by_what_they_mean_and_locations_by_their_loop() -> None:
    theirs, own = space(4, 0.0, 16.0, 64.0, 512.0, loops=(-1, 3)), space(4, 0.0, 4.0, 20.0, 70.0, loops=(-2, 2))
    carried = carry(Candidate("task", 0, ((4, 1, 1, 1), (1,), (3,))), theirs, own)
    assert carried is not None and carried.decisions[1:] == ((2,), (2,))


def test_nothing_is_carried_over_to_other_instructions_or_an_empty_domain() -> None:
    one = space(4, 0.0)
    candidate = Candidate("task", 0, ((4, 1, 1, 1), (0,), (1,)))
    other = replace(one, trace_json=json.dumps([[["Parallel", ["l0"], [], []]], []]))
    assert carry(candidate, one, other) is None
    assert carry(candidate, one, sketch(tile(4), steps(0.0), location())) is None


def test_distance_is_of_loops_that_match() -> None:
    one, other = task((64, "spatial"), (256, "reduce")), task((128, "spatial"), (64, "reduce"))
    assert distance(one, other) == distance(other, one) == pytest.approx(3.0)
    assert distance(one, one) == 0.0
    assert math.isinf(distance(one, task((64, "spatial"))))
    assert math.isinf(distance(one, task((64, "spatial"), (256, "spatial"))))
    assert math.isinf(distance(one, replace(one, anchor="conv")))
