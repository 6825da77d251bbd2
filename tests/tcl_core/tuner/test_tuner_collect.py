"""A collection on the bundled sample: measured for real, resumed without measuring twice, repeats apart."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Container, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tcl_core.config import CAREFUL, CollectConfig, MeasureConfig
from tcl_core.domain import Failure, Platform, Source, Stage
from tcl_core.errors import Interrupted, UserError
from tcl_core.events import CancelToken, Collected, NetworkOpened, Notice, PhaseChanged, Progress, RecordMeasured
from tcl_core.measure.requests import MeasureRequest, MeasureResult
from tcl_core.network.sample import sample_path
from tcl_core.store import Workspace
from tcl_core.store.record_table import compress
from tcl_core.store.workspace import DATABASE
from tcl_core.tuner import collect
from tcl_core.tuner.collect import Collector

pytestmark = pytest.mark.slow


PATIENT = replace(CAREFUL, cutoff=math.inf)
"""However slow the machine of the test becomes, what is measured counts."""


def config_of(folder: Path, steady: float = math.inf) -> CollectConfig:
    """With a finite `steady`, what the settings of the project are."""
    return CollectConfig(
        networks=(str(sample_path()),),
        workspace=str(folder / "w"),
        per_task=4,
        max_tasks=2,
        repeat=0.5,
        steady=steady,
        measure=CAREFUL if math.isfinite(steady) else PATIENT,
    )


def collected(config: CollectConfig) -> Collected:
    events = list(Collector(config, CancelToken()).events())
    assert isinstance(events[-1], Collected)
    return events[-1]


def test_a_collection_is_measured_once_and_resumed(tmp_path: Path) -> None:
    config = config_of(tmp_path)
    opened, *events, first = Collector(config, CancelToken()).events()
    while isinstance(opened, PhaseChanged):
        opened, *events = events
    assert isinstance(opened, NetworkOpened) and isinstance(first, Collected)
    assert {each.record.candidate.task_key for each in events if isinstance(each, RecordMeasured)} <= {
        task.key for task in opened.tasks
    }
    told = {each.detail for each in events if isinstance(each, PhaseChanged)}
    assert told == {"", "a second time"}, "the task is told by its key, and its name is not told twice"
    assert (first.records, first.wanted, first.present, first.tasks) == (8, 8, 8, 2)
    assert 0 < first.repeated < 8
    again = collected(config)
    assert (again.records, again.repeated, again.present) == (0, 0, 8)
    with Workspace.open(tmp_path / "w", read_only=True) as workspace:
        (platform,) = workspace.platforms()
        for task in workspace.all_tasks():
            records = workspace.records(task_key=task.key, platform=platform.fingerprint)
            if records:
                assert len(records) == 4
                assert {record.source for record in records} == {Source.COLLECTED}
                assert workspace.sketches(task.key, platform.fingerprint)
                known = {record.candidate for record in records}
                assert set(workspace.repeats(task.key, platform.fingerprint)) <= known


def test_a_stop_keeps_what_was_measured(tmp_path: Path) -> None:
    config = replace(config_of(tmp_path), repeat=0.0)
    token = CancelToken()
    seen = 0
    with pytest.raises(Interrupted):
        for event in Collector(config, token).events():
            seen += isinstance(event, RecordMeasured)
            if isinstance(event, Progress):
                assert 0 < event.fraction <= 1
                token.stop()
    assert seen == 2, "a batch is kept before it is told of"
    rest = collected(config)
    assert (rest.records, rest.present) == (6, 8)


def test_another_machines_platform_is_refused(tmp_path: Path) -> None:
    config = replace(config_of(tmp_path), target='{"kind":"llvm","mtriple":"aarch64-linux-gnu","mcpu":"cortex-a72"}')
    with pytest.raises(UserError, match="cannot run code"):
        collected(config)


class FakeMeasurer:
    """A machine on which every kernel takes a millisecond; of some batches `slower` times as long."""

    def __init__(self, slow: Container[int], slower: float = 2.0) -> None:
        self.slow, self.slower, self.batches = slow, slower, 0

    def __call__(self, platform: Platform, config: MeasureConfig) -> FakeMeasurer:
        return self

    def __enter__(self) -> FakeMeasurer:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def measure(self, requests: Sequence[MeasureRequest], cancel: CancelToken) -> Iterator[MeasureResult]:
        latency_s = 1e-3 * (self.slower if self.batches in self.slow else 1.0)
        self.batches += 1
        for request in requests:
            yield MeasureResult(
                id=request.id, latencies_s=(latency_s,), cut_off=latency_s > 1.2 * (request.best_s or latency_s)
            )


class BrokenMachine(FakeMeasurer):
    """A machine on which every kernel fails; `mended` of the batches, counted from the first, work."""

    def __init__(self, cause: str, mended: Container[int] = ()) -> None:
        super().__init__(())
        self.cause, self.mended = cause, mended

    def measure(self, requests: Sequence[MeasureRequest], cancel: CancelToken) -> Iterator[MeasureResult]:
        works = self.batches in self.mended
        for result in super().measure(requests, cancel):
            failure = None if works else Failure(stage=Stage.COMPILE, cause=self.cause, message="")
            yield MeasureResult(id=result.id, latencies_s=result.latencies_s if works else (), failure=failure)


def causes_of(folder: Path) -> list[str | None]:
    with Workspace.open(folder / "w", read_only=True) as workspace:
        return [record.failure and record.failure.cause for record in workspace.records(traces=False)]


def test_a_pool_that_only_failed_is_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = replace(config_of(tmp_path), repeat=0.0)
    for cause in ("no library", "still none"):
        monkeypatch.setattr(collect, "measurer_for", BrokenMachine(cause))
        first = collected(config)
        assert (first.records, first.failed, first.present) == (4, 4, 4), "of each task the part that is not bred"
        assert causes_of(tmp_path) == [cause] * 4
    monkeypatch.setattr(collect, "measurer_for", FakeMeasurer(()))
    mended = collected(config)
    assert (mended.records, mended.failed, mended.present) == (8, 0, 8)
    assert causes_of(tmp_path) == [None] * 8
    assert collected(config).records == 0


def test_records_of_other_sketches_are_not_measured_again_by_these(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = replace(config_of(tmp_path), max_tasks=1, repeat=0.0)
    monkeypatch.setattr(collect, "measurer_for", FakeMeasurer(()))
    assert collected(config).records == 4
    with closing(sqlite3.connect(tmp_path / "w" / DATABASE)) as connection, connection:
        connection.execute("UPDATE sketches SET trace_json = ?", (compress("[[], []]"),))
    with pytest.raises(UserError, match="were made with other sketches"):
        collected(replace(config, repeat=1.0))


def test_failures_beside_successes_are_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = replace(config_of(tmp_path), max_tasks=1, repeat=0.0)
    monkeypatch.setattr(collect, "measurer_for", BrokenMachine("too large", mended={0}))
    assert collected(config).failed == 2
    assert collected(config).records == 0
    assert causes_of(tmp_path) == [None, None, "too large", "too large"]


def test_a_stop_loses_failures_only_after_the_mend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = replace(config_of(tmp_path), max_tasks=1, repeat=0.0)
    monkeypatch.setattr(collect, "_BATCH", 1)
    monkeypatch.setattr(collect, "measurer_for", BrokenMachine("no library"))
    assert collected(config).failed == 2
    for machine, left in (BrokenMachine("still none"), ["no library", "still none"]), (FakeMeasurer(()), [None]):
        monkeypatch.setattr(collect, "measurer_for", machine)
        for event in Collector(config, CancelToken()).events():
            if isinstance(event, RecordMeasured):
                break
        assert causes_of(tmp_path) == left
    rest = collected(config)
    assert (rest.records, rest.failed, rest.present) == (3, 0, 4)


def latencies_of(folder: Path) -> tuple[list[float], bool]:
    """In milliseconds, and whether any was cut off."""
    with Workspace.open(folder / "w", read_only=True) as workspace:
        records = [record for task in workspace.all_tasks() for record in workspace.records(task_key=task.key)]
    return [1e3 * (record.latency_s or 0) for record in records], any(record.cut_off for record in records)


@pytest.mark.parametrize(
    ("slow", "slower", "batches"),
    [
        pytest.param({1, 2}, 2.0, 4, id="soon over"),
        pytest.param(range(1, 100), 1.4, 3, id="little slower, for good"),
        pytest.param(range(1, 100), 1.1, 2, id="drift"),
    ],
)
def test_a_batch_is_timed_again_when_the_machine_is_slow(
    slow: Container[int], slower: float, batches: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = FakeMeasurer(slow, slower)
    monkeypatch.setattr(collect, "measurer_for", machine)
    done = collected(replace(config_of(tmp_path, steady=1.25), max_tasks=1, repeat=0.0))
    assert (done.present, machine.batches) == (4, batches), "the random part once, then the bred one"
    found_ms, cut_off = latencies_of(tmp_path)
    assert found_ms == pytest.approx([1.0] * 4)
    assert not cut_off


def test_what_a_slow_machine_measures_is_left_out_until_the_next_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Which records are measured again hangs on the task's key, and that on the target: here it is one of two.
    config = replace(config_of(tmp_path, steady=1.25), target="cpu:x86-64-v3", max_tasks=1, repeat=0.5)
    monkeypatch.setattr(collect, "measurer_for", FakeMeasurer(range(1, 100)))
    events = list(Collector(config, CancelToken()).events())
    told = [event.sentence for event in events if isinstance(event, Notice)]
    assert len(told) == 2
    assert all("the machine was 2.0 times slower than before" in sentence for sentence in told)
    end = events[-1]
    assert isinstance(end, Collected)
    assert (end.records, end.present, end.wanted, end.repeated) == (2, 2, 4, 0)
    monkeypatch.setattr(collect, "measurer_for", FakeMeasurer(()))
    rest = collected(config)
    assert (rest.records, rest.present) == (2, 4)
    assert rest.repeated > 0
