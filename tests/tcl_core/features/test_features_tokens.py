"""Tokens without TVM: vocabulary, structure, values, and traces longer than there is room."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from tcl_core.batches import Population
from tcl_core.domain import DecisionDomain, DecisionKind, LoopAxis, Sketch, Task
from tcl_core.features import LAYOUT, TokenTemplate
from tcl_core.features.reference import trace_tokens
from tcl_core.features.tokens import Instruction, filled, parse_trace, structure_fields, token_kind, write_values
from tcl_core.features.vocabulary import FIELDS, MAX_TOKENS, STEP_SLOTS, STEPS, UNKNOWN_KIND, Field, kind_id

TASK = Task(
    key="t", name="n", weight=1, module_json="", flops=1.0, bytes_moved=1.0, dtype="float32", axes=(), arguments=(),
    anchor="a",
)  # fmt: skip
PLATFORM = np.zeros(LAYOUT.platform, np.float32)


def sketch_of(rows: list[list[object]], domains: tuple[DecisionDomain, ...] = ()) -> Sketch:
    return Sketch(task_key="t", index=0, trace_json=json.dumps([rows, []]), domains=domains)


def test_ids_are_distinct_and_unknown_is_zero() -> None:
    assert kind_id("Split", None) != kind_id("Fuse", None)
    assert kind_id("Bind", "threadIdx.x") != kind_id("Bind", "blockIdx.x")
    assert kind_id("Bind", "somewhere new") == kind_id("Bind", None)
    assert kind_id("NoSuchInstruction", None) == UNKNOWN_KIND


def test_an_annotation_is_told_by_its_key() -> None:
    instructions, _ = parse_trace(json.dumps([[["Annotate", ["b0", 32], ["meta_schedule.parallel"], []]], []]))
    assert token_kind(instructions[0]) == kind_id("Annotate", "meta_schedule.parallel")


def test_postprocessing_is_not_looked_at() -> None:
    rows = [["GetSBlock", [], ["a", "main"], ["b0"]], ["EnterPostproc", [], [], []], ["Unroll", ["l1"], [], []]]
    instructions, decisions = parse_trace(json.dumps([rows, [[2, 1]]]))
    assert len(instructions) == 1
    assert decisions == {}


@pytest.mark.parametrize(
    ("kind", "inputs", "outputs", "expected"),
    [
        ("CacheRead", ("b3", 0), ("b4",), {Field.BLOCK_IN: 4, Field.BLOCK_OUT: 5, Field.DISTANCE: 6}),
        ("GetLoops", ("b0",), ("l1", "l2"), {Field.BLOCK_IN: 1, Field.LOOP_OUT: 2, Field.LOOPS_OUT: 2}),
        ("Reorder", ("l5", "l0"), (), {Field.LOOP_IN: 6, Field.LOOPS_IN: 2, Field.DISTANCE: 1}),
        (
            "SamplePerfectTile",
            ("l0",),
            ("v1",),
            {Field.LOOP_IN: 1, Field.LOOPS_IN: 1, Field.DISTANCE: 8, Field.SAMPLED: 32},
        ),
        (
            "Split",
            ("l5", "v6", None),
            ("l9",),
            {Field.LOOP_IN: 6, Field.LOOPS_IN: 1, Field.LOOP_OUT: 10, Field.LOOPS_OUT: 1, Field.DISTANCE: 1},
        ),
        ("Annotate", ("b", "l", "last"), (), {}),
    ],
)
def test_structure_is_what_is_read_and_made_and_how_long_ago(
    kind: str, inputs: tuple[object, ...], outputs: tuple[str, ...], expected: dict[Field, int]
) -> None:
    made_at = {"b3": 4, "l0": 2, "l5": 9, "v6": 7}
    row = structure_fields(Instruction(kind=kind, inputs=inputs, attributes=(), outputs=outputs), 10, made_at)
    assert {Field(place): row[place] * 32 for place in np.flatnonzero(row)} == {**expected, Field.POSITION: 10}


@pytest.mark.parametrize(
    ("last", "said"),
    [(4, "100-"), (8, "110-"), (12, "100-"), (16, "111-"), (6, "000-"), (0, "000-"), (-1, "000+"), (-16, "000+")],
)
def test_the_last_integer_says_what_divides_it_and_whether_it_is_negative(last: float, said: str) -> None:
    row = np.zeros(FIELDS, np.float32)
    write_values(row, (32.0, last))
    fields = row[[Field.DIVISIBLE_BY_4, Field.DIVISIBLE_BY_8, Field.DIVISIBLE_BY_16, Field.NEGATIVE]]
    assert fields.tolist() == [float(each in "1+") for each in said]


def test_values_are_logarithms_flags_and_suffixes() -> None:
    row = np.zeros(FIELDS, np.float32)
    write_values(row, (4.0, 1.0, 16.0))
    assert row[Field.VALUES] == pytest.approx(math.log2(5) / 4)
    assert list(row[Field.IS_ONE : Field.IS_ONE + 3]) == [0, 1, 0]
    assert row[Field.SUFFIXES] == pytest.approx(6 / 4)
    assert row[Field.SUFFIXES + 2] == pytest.approx(1.0)
    assert row[Field.DIVISIBLE_BY_16] == 1
    assert row[Field.EXTENT] == pytest.approx(6 / 4)


def test_small_factors_are_told_apart_and_large_ones_lie_between_edges() -> None:
    row = np.zeros(FIELDS, np.float32)
    write_values(row, (20.0, 3.0, 96.0, 1.0, 7.0))
    last, before, first = row[Field.FILLED : Field.KNOWN].reshape(STEP_SLOTS, STEPS)
    assert list(last) == [1] * 6 + [0] * 6  # seven: up to the edge of 7
    assert list(before) == [0] * 12  # one fills nothing
    assert list(first) == [1] * 10 + [0.5, 0]  # 20 lies half way from 16 to 24
    assert list(filled(96.0)) == [1] * 12
    assert list(filled(-2.0)) == [1] + [0] * 11


@pytest.mark.parametrize("values", [(6.0,), (4.0, 6.0)])
def test_a_factor_is_shown_once_where_there_are_few(values: tuple[float, ...]) -> None:
    row = np.zeros(FIELDS, np.float32)
    write_values(row, values)
    shown = row[Field.FILLED : Field.KNOWN].reshape(STEP_SLOTS, STEPS)
    assert list(shown[0]) == list(filled(6.0))
    assert not shown[len(values) :].any()


def test_a_split_shows_the_factors_its_sampling_instruction_decided() -> None:
    rows: list[list[object]] = [
        ["SamplePerfectTile", ["l0"], [2, 64], ["v1", "v2"]],
        ["Split", ["l0", "v1", "v2"], [True, False], ["l3", "l4"]],
    ]
    domain = DecisionDomain(instruction=0, kind=DecisionKind.TILE, values=((1, 8), (2, 4), (8, 1)))
    template = TokenTemplate(sketch_of(rows, (domain,)), TASK, PLATFORM)
    batch = template.featurise(Population(sketch=0, choices=np.array([[0], [2]], np.int32)))
    values = slice(Field.VALUES, Field.VALUES + 2)
    assert np.array_equal(batch.fields[:, 0, values], batch.fields[:, 1, values])
    assert not np.array_equal(batch.fields[0, 1], batch.fields[1, 1])


def test_a_loop_that_a_category_splits_is_as_long_as_it_says() -> None:
    """A GPU's threads share a sum: MetaSchedule draws their number from a list."""
    rows: list[list[object]] = [
        ["GetSBlock", [], ["a", "main"], ["b0"]],
        ["GetLoops", ["b0"], [], ["l1", "l2"]],
        ["SampleCategorical", [], [[4, 16], [0.5, 0.5]], ["v3"]],
        ["Split", ["l2", None, "v3"], [True, False], ["l4", "l5"]],
        ["Bind", ["l5"], ["threadIdx.x"], []],
    ]
    domain = DecisionDomain(instruction=2, kind=DecisionKind.CATEGORY, values=((0,), (1,)), literals=(4.0, 16.0))
    task = replace(TASK, axes=(LoopAxis(extent=8, kind="spatial"), LoopAxis(extent=512, kind="reduce")))
    template = TokenTemplate(sketch_of(rows, (domain,)), task, PLATFORM)
    fields = template.featurise(Population(sketch=0, choices=np.array([[0], [1]], np.int32))).fields
    assert fields[:, -1, Field.PRODUCT] == pytest.approx([math.log2(5) / 4, math.log2(17) / 4])
    for choice in (0, 1):
        _, expected = trace_tokens(json.dumps([rows, [[2, choice]]]), task, PLATFORM)
        np.testing.assert_array_equal(fields[choice], expected)


def test_a_long_trace_keeps_its_sampling_instructions_and_counts_the_rest() -> None:
    rows: list[list[object]] = [["Unroll", [f"l{i}"], [], []] for i in range(MAX_TOKENS + 5)]
    rows.append(["SampleCategorical", [], [[0, 16], [0.5, 0.5]], ["v1"]])
    domain = DecisionDomain(
        instruction=len(rows) - 1, kind=DecisionKind.CATEGORY, values=((0,), (1,)), literals=(0.0, 16.0)
    )
    template = TokenTemplate(sketch_of(rows, (domain,)), TASK, PLATFORM)
    assert len(template.kinds) == MAX_TOKENS
    assert template.dropped == 6
    batch = template.featurise(Population(sketch=0, choices=np.array([[0], [1]], np.int32)))
    assert batch.kinds[-1] == kind_id("SampleCategorical", None)
    assert not np.array_equal(batch.fields[0], batch.fields[1])


def test_fields_stay_in_a_sane_range() -> None:
    row = np.zeros(FIELDS, np.float32)
    write_values(row, (4096.0, -1.0, 512.0, 64.0))
    assert np.isfinite(row).all()
    assert np.abs(row).max() < 10


def test_what_only_names_blocks_has_no_token_unless_there_is_nothing_else() -> None:
    naming: list[list[object]] = [["GetSBlock", [], ["a", "main"], ["b0"]], ["GetConsumers", ["b0"], [], ["b1"]]]
    unroll: list[list[object]] = [["Unroll", ["l1"], [], []]]
    alone, before = (TokenTemplate(sketch_of(rows), TASK, PLATFORM) for rows in (naming, naming + unroll))
    assert [*before.kinds] == [kind_id("Unroll", None)]
    assert [*alone.kinds] == [kind_id("GetSBlock", "a"), kind_id("GetConsumers", None)]
    assert alone.dropped == before.dropped == 0
