from __future__ import annotations

import dataclasses
import itertools
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_samples import failed, furnish, platform, record

from tcl_core.domain import Candidate, Failure, Rationale, Record, RecordCount, Source, Stage
from tcl_core.store import Workspace, record_table
from tcl_core.store.workspace import DATABASE

fresh_platform = itertools.count()

texts = st.text(max_size=30)
finite = st.floats(allow_nan=False, allow_infinity=False)
parts = st.none() | finite
candidates = st.builds(
    Candidate,
    st.sampled_from(["a1", "b2"]),
    st.integers(-(2**31), 2**31),
    st.lists(st.lists(st.integers(-2, 4096), max_size=5).map(tuple), max_size=6).map(tuple),
)
failures = st.builds(Failure, stage=st.sampled_from(Stage), cause=texts, message=texts)
records = st.builds(
    Record,
    candidate=candidates,
    platform=st.just(""),
    trace_json=texts,
    structural_hash=texts,
    latencies_s=st.lists(finite, min_size=1, max_size=4).map(tuple),
    failure=st.none(),
    rationale=st.builds(Rationale, score=parts, representativeness=parts, diversity=parts, uncertainty=parts),
    cut_off=st.booleans(),
    source=st.sampled_from(Source),
    round=st.integers(0, 1000),
    measured_at=finite,
) | st.builds(lambda number, failure: dataclasses.replace(failed(number), failure=failure), st.integers(0), failures)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with Workspace.open(tmp_path_factory.mktemp("records")) as opened:
        furnish(opened)
        yield opened


def on_a_fresh_platform(workspace: Workspace, drawn: Sequence[Record]) -> tuple[str, list[Record]]:
    fingerprint = f"{next(fresh_platform):x}"
    workspace.add_platform(platform(fingerprint))
    return fingerprint, [dataclasses.replace(item, platform=fingerprint) for item in drawn]


@settings(max_examples=60, deadline=None)
@given(drawn=st.lists(records, max_size=12))
def test_queries_agree_with_the_records_themselves(shared: Workspace, drawn: list[Record]) -> None:
    on, added = on_a_fresh_platform(shared, drawn)
    kept: dict[Candidate, Record] = {}
    for item in added:
        assert shared.add_record(item) is (item.candidate not in kept)
        kept.setdefault(item.candidate, item)

    assert shared.records(platform=on) == tuple(kept.values())
    best = shared.best_records(on, ("a1", "b2", "unknown"))
    counts = shared.record_counts(on)
    for key in ("a1", "b2"):
        mine = [item for item in kept.values() if item.candidate.task_key == key]
        assert shared.records(platform=on, task_key=key) == tuple(mine)
        lean = tuple(dataclasses.replace(item, trace_json="") for item in mine)
        assert shared.records(platform=on, task_key=key, traces=False) == lean
        assert [shared.record(item.candidate, on) for item in mine] == mine
        successes = [item for item in mine if item.failure is None]
        assert best.pop(key, None) == min(successes, key=lambda item: item.latency_s or 0.0, default=None)
        fastest = sorted(successes, key=lambda item: item.latency_s or 0.0)
        assert shared.fastest_records(on, [key], 3).get(key, ()) == tuple(fastest[:3])
        assert counts.pop(key, RecordCount()) == RecordCount(
            trials=len(mine),
            failures=len(mine) - len(successes),
            best_s=min((item.latency_s for item in successes if item.latency_s is not None), default=None),
        )
    assert not best
    assert not counts


def test_a_duplicate_is_ignored_but_another_platform_is_no_duplicate(workspace: Workspace) -> None:
    workspace.add_platform(platform("beef02"))
    assert workspace.add_record(record(1))
    assert not workspace.add_record(record(1, latencies_s=(1e-9,)))
    assert workspace.add_record(record(1, on="beef02"))
    assert workspace.records(platform="cafe01") == (record(1),)
    assert workspace.add_records([record(1), record(2), record(2)]) == 1


def test_failures_are_replaced_and_successes_are_not(workspace: Workspace) -> None:
    workspace.add_platform(platform("beef02"))
    elsewhere = failed(1, on="beef02")
    workspace.add_records([record(0), failed(1), failed(2), failed(3), elsewhere])
    workspace.replace_failures("cafe01", [item.candidate for item in (record(0), record(1), record(2))], [record(1)])
    assert workspace.records(task_key="a1", platform="cafe01") == (record(0), failed(3), record(1))
    assert workspace.records(platform="beef02") == (elsewhere,)
    with pytest.raises(sqlite3.IntegrityError):
        workspace.replace_failures("cafe01", [failed(3).candidate], [record(4, task_key="unknown")])
    assert workspace.record(failed(3).candidate, "cafe01") == failed(3), "all or nothing"


def test_failures_are_kept_counted_and_never_best(workspace: Workspace) -> None:
    wrong = dataclasses.replace(failed(0), latencies_s=(1e-6,))  # timed, then found to be wrong
    workspace.add_records([wrong, failed(1), record(2), record(3, latencies_s=(0.5,))])
    assert workspace.records()[:2] == (wrong, failed(1))
    assert workspace.best_records("cafe01", ["a1"]) == {"a1": record(2)}
    best_s = record(2).latency_s
    assert workspace.record_counts("cafe01") == {"a1": RecordCount(trials=4, failures=2, best_s=best_s)}


def test_the_newest_records_come_in_the_order_of_measurement(workspace: Workspace) -> None:
    workspace.add_records([record(2), record(0), failed(3), record(1)])
    assert workspace.records(newest=3) == (record(0), failed(3), record(1))
    assert workspace.records(newest=9) == workspace.records()


def test_the_newest_failures_of_each_cause_are_told_with_their_number(workspace: Workspace) -> None:
    crash = Failure(stage=Stage.COMPILE, cause="crash", message="all of it")
    crashed = dataclasses.replace(failed(9), failure=crash)
    workspace.add_records([failed(0), record(1), failed(2), crashed, failed(3)])
    workspace.add_platform(platform("beef02"))
    workspace.add_record(failed(5, on="beef02"))
    late = failed(0).failure
    assert workspace.failures("d1", "cafe01", 2) == (
        (3, failed(3).candidate, late),
        (1, crashed.candidate, crash),
        (3, failed(2).candidate, late),
    )
    assert not workspace.failures("another", "cafe01", 2)
    elsewhere = dataclasses.replace(late, stage=Stage.MEASURE) if late else None
    measured = dataclasses.replace(failed(6), failure=elsewhere)
    workspace.add_record(measured)
    assert workspace.failures("d1", "cafe01", 1) == (
        (1, measured.candidate, elsewhere),
        (3, failed(3).candidate, late),
        (1, crashed.candidate, crash),
    ), "a cause is another one in another stage"


def test_the_fastest_are_successes_in_order_of_their_latency(workspace: Workspace) -> None:
    workspace.add_records([failed(0), record(1, latencies_s=(3e-3,)), record(2, latencies_s=(1e-3,))])
    workspace.add_records([record(3, latencies_s=(2e-3,)), record(4, latencies_s=(5e-4,), task_key="b2")])
    assert workspace.fastest("a1", "cafe01", 2) == (record(2).candidate, record(3).candidate)
    assert workspace.fastest("a1", "cafe01", 9)[2:] == (record(1).candidate,)
    assert workspace.fastest("a1", "beef", 9) == ()


def test_the_median_decides_and_of_equals_the_earliest(workspace: Workspace) -> None:
    workspace.add_records(
        [
            record(0, latencies_s=(0.001, 0.009, 0.009)),
            record(1, latencies_s=(0.004, 0.002)),
            record(2, latencies_s=(0.003,)),
            record(3, task_key="b2"),
        ]
    )
    assert workspace.best_records("cafe01", ["a1", "b2"]) == {
        "a1": record(1, latencies_s=(0.004, 0.002)),
        "b2": record(3, task_key="b2"),
    }


def test_the_order_is_that_of_measurement_whatever_the_clock_says(workspace: Workspace) -> None:
    added = [record(number, measured_at=float(-number)) for number in range(5)]
    workspace.add_records(added)
    assert workspace.records() == tuple(added)


def test_numpy_scalars_are_kept_as_numbers(workspace: Workspace) -> None:
    numbers = record(
        candidate=Candidate("a1", np.int64(1), ((np.int32(4), np.int64(16)),)),  # type: ignore[arg-type]
        latencies_s=(np.float64(0.25),),
        rationale=Rationale(score=np.float32(0.5)),  # type: ignore[arg-type]
    )
    workspace.add_record(numbers)
    assert workspace.records() == (numbers,)
    assert type(workspace.records()[0].rationale.score) is float


def test_a_last_word_that_is_not_unicode_costs_no_record(workspace: Workspace) -> None:
    failure = Failure(stage=Stage.MEASURE, cause="crash \udcff", message="got \udcfe")
    workspace.add_record(dataclasses.replace(failed(0), failure=failure))
    assert workspace.records()[0].failure == Failure(stage=Stage.MEASURE, cause=r"crash \udcff", message=r"got \udcfe")


@pytest.mark.parametrize(
    "contradiction",
    [record(latencies_s=()), record(latencies_s=(float("nan"),)), record(latencies_s=(0.1, float("inf")))],
)
def test_a_contradictory_record_is_refused(workspace: Workspace, contradiction: Record) -> None:
    with pytest.raises(ValueError, match="latenc"):
        workspace.add_record(contradiction)
    assert workspace.records() == ()


SELECTIONS = [flags for flags in itertools.product((True, False), repeat=2) if any(flags)]
QUERIES = {
    "best": (record_table.BEST, "SEARCH records USING INDEX records_by_latency (platform=? AND task_key=?"),
    "fastest": (record_table.FASTEST, "SEARCH records USING INDEX records_by_latency (platform=? AND task_key=?"),
    "one": (
        record_table.ONE,
        "SEARCH records USING INDEX records_by_candidate (task_key=? AND platform=? AND sketch=?",
    ),
    "failures": (
        record_table.FAILURES,
        "SEARCH records USING INDEX records_by_latency (platform=? AND task_key=? AND latency_s=?",
    ),
    "counts": (record_table.COUNTS, "SEARCH records USING COVERING INDEX records_by_latency (platform=?"),
} | {
    f"select{flags}": (
        record_table.select_statement(by_task=flags[0], by_platform=flags[1]),
        "SEARCH records USING INDEX",
    )
    for flags in SELECTIONS
}


@pytest.fixture(scope="module")
def twenty_thousand(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    folder = tmp_path_factory.mktemp("many")
    with Workspace.open(folder) as opened:
        furnish(opened)
        opened.add_records([record(number, task_key=("a1", "b2")[number % 2]) for number in range(20_000)])
    connection = sqlite3.connect(Path(folder) / DATABASE)
    yield connection
    connection.close()


@pytest.mark.parametrize("name", QUERIES)
def test_queries_search_an_index_and_never_scan(twenty_thousand: sqlite3.Connection, name: str) -> None:
    statement, expected = QUERIES[name]
    values = ["x"] * statement.count("?")
    plan = [row[3] for row in twenty_thousand.execute(f"EXPLAIN QUERY PLAN {statement}", values)]
    assert any(line.startswith(expected) for line in plan), plan
    assert not any(line.startswith("SCAN records") for line in plan), plan


def test_the_best_is_read_off_the_index_without_sorting(twenty_thousand: sqlite3.Connection) -> None:
    for statement, values in ((record_table.BEST, ("x", "y", 1)), (record_table.FASTEST, ("x", "y", 3))):
        plan = [row[3] for row in twenty_thousand.execute(f"EXPLAIN QUERY PLAN {statement}", values)]
        assert not any("TEMP B-TREE" in line for line in plan), plan
