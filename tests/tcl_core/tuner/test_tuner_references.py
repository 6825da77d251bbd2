"""References: drawn at random among what was timed in full; what a batch shares is divided out."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tuner_records import record

from tcl_core.domain import Failure, Stage
from tcl_core.measure.requests import MeasureResult
from tcl_core.tuner.references import draw_references, in_first_units, slowdown


def result(id_: int, *latencies_s: float, cut_off: bool = False) -> MeasureResult:
    failure = None if latencies_s else Failure(stage=Stage.MEASURE, cause="timeout")
    return MeasureResult(id=id_, latencies_s=latencies_s, failure=failure, cut_off=cut_off)


def test_failures_and_cut_off_records_are_no_references() -> None:
    able = [record(1e-6), record(2e-6), record(3e-6)]
    unable = [record(None), replace(record(9e-6), cut_off=True)]
    drawn = draw_references([*unable, *able], 5, np.random.default_rng(0))
    assert drawn == able


def test_every_record_may_be_drawn_and_the_seed_decides() -> None:
    records = [record(float(index + 1)) for index in range(6)]
    drawn = [draw_references(records, 2, np.random.default_rng(seed)) for seed in range(40)]
    assert {len(some) for some in drawn} == {2}
    assert {each.latency_s for some in drawn for each in some} == {each.latency_s for each in records}
    assert drawn[3] == draw_references(records, 2, np.random.default_rng(3))


@given(
    first_s=st.lists(st.floats(1e-6, 1e-2), min_size=5, max_size=12),
    slower=st.floats(0.5, 2.0),
    references=st.integers(1, 4),
)
def test_a_batch_that_is_slower_as_a_whole_gives_the_same_latencies(
    first_s: list[float], slower: float, references: int
) -> None:
    results = [result(index, latency_s * slower) for index, latency_s in enumerate(first_s)]
    known_s = {index: first_s[index] for index in range(references)}
    found = in_first_units(results, known_s)
    assert [each.id for each in found] == list(range(references, len(first_s)))
    assert [median(each.latencies_s) for each in found] == pytest.approx(first_s[references:])


def test_one_reference_out_of_three_that_goes_astray_decides_nothing() -> None:
    known_s = {10: 1.0, 11: 1.0, 12: 1.0}
    (found,) = in_first_units([result(0, 4.0, 6.0), result(10, 2.0), result(11, 2.0), result(12, 50.0)], known_s)
    assert found.latencies_s == (2.0, 3.0)


def test_references_that_fail_say_nothing() -> None:
    known_s = {10: 1.0, 11: 1.0, 12: 1.0}
    batch = [result(0, 4.0), result(1), result(10), result(11)]
    assert in_first_units([*batch, result(12, 2.0)], known_s) == [result(0, 2.0), result(1)]
    assert slowdown(batch, known_s) is None
    assert in_first_units(batch, known_s) == [result(0, 4.0), result(1)]


def test_a_batch_so_slow_that_its_references_are_cut_off_is_known_by_them() -> None:
    known_s = {10: 1.0, 11: 2.0, 12: 4.0}
    batch = [result(0, 5.0, cut_off=True), *(result(id_, 2.5 * known_s[id_], cut_off=True) for id_ in known_s)]
    assert slowdown(batch, known_s) == pytest.approx(2.5)
    assert in_first_units(batch, known_s) == [result(0, 2.0, cut_off=True)]
