"""The micro-benchmark, made tiny: that it counts right, never how fast it is."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from tcl_core.hardware import peaks


@pytest.fixture
def small_copies(monkeypatch):
    monkeypatch.setattr(peaks, "_COPY_LIMIT_BYTES", 1 << 20)
    monkeypatch.setattr(peaks, "_LEAST_PART_BYTES", 1 << 18)
    monkeypatch.setattr(peaks, "_LEAST_COPIED_BYTES", 1 << 19)


@pytest.mark.usefixtures("small_copies")
@pytest.mark.parametrize("threads", [1, 2])
def test_it_measures_something(threads):
    found = peaks.measure_peaks(threads, budget_s=0.0, size=32)

    assert found.flops > 0
    assert found.bandwidth_bytes_s > 0


@pytest.mark.usefixtures("small_copies")
def test_rates_are_work_by_the_best_time(monkeypatch):
    monkeypatch.setattr(peaks, "_best_seconds", lambda work, budget_s: 0.5)

    found = peaks.measure_peaks(2, budget_s=0.0, size=10)

    assert found.flops == 2 * (2 * 10**3 / 0.5), "two threads"
    assert found.bandwidth_bytes_s == 2 * (1 << 20) / 0.5, "read and written"


def test_the_first_run_only_warms_up_and_the_best_counts(monkeypatch):
    clock = iter([0.0, 0.0, 3.0, 3.0, 5.0, 9.0])
    monkeypatch.setattr(peaks, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    runs = []

    assert peaks._best_seconds(lambda: runs.append(1), 4.0) == 2.0
    assert len(runs) == 3


@pytest.mark.usefixtures("small_copies")
@pytest.mark.parametrize(("threads", "part", "copies"), [(2, 1 << 19, 1), (4, 1 << 18, 2), (16, 1 << 18, 2)])
def test_many_threads_copy_no_less_each_than_few(monkeypatch, threads, part, copies):
    """Else what each copies lies in its own cache, and handing the copies out takes longer than they do."""
    sizes = []
    monkeypatch.setattr(peaks.np, "copyto", lambda target, source: sizes.append(source.size))
    monkeypatch.setattr(peaks, "_best_seconds", lambda work, budget_s: work() and 0.5)

    with ThreadPoolExecutor(threads) as workers:
        rate = peaks._bandwidth(workers, threads, 0, 0.0)

    assert sizes == [part] * copies * threads
    assert rate == 2 * sum(sizes) / 0.5
