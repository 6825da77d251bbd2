"""Measuring for real: good, bad and ugly kernels in real worker processes."""

from __future__ import annotations

import dataclasses
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import psutil
import pytest
from process_ends import all_gone

from tcl_core.config import MeasureConfig
from tcl_core.domain import Platform, Stage
from tcl_core.errors import Interrupted, UserError
from tcl_core.events import CancelToken
from tcl_core.measure import Measurer
from tcl_core.measure.requests import MeasureRequest, MeasureResult

pytestmark = pytest.mark.slow


def requests_for(modules: dict[str, str], names: Sequence[str], best_s: float | None = None) -> list[MeasureRequest]:
    return [MeasureRequest(id=number, module_json=modules[name], best_s=best_s) for number, name in enumerate(names)]


def by_id(results: Sequence[MeasureResult]) -> list[MeasureResult]:
    assert sorted(result.id for result in results) == list(range(len(results)))
    return sorted(results, key=lambda result: result.id)


def test_good_candidates_have_repeats(measurer: Measurer, modules: dict[str, str]) -> None:
    for name in ["matmul", "scale", "scalar"]:
        # Alone: beside others a slow one would need no third repeat, and a busy machine makes anyone slow.
        (result,) = measurer.measure(requests_for(modules, [name]))
        assert result.failure is None
        assert (result.cut_off, len(result.latencies_s)) == (False, 3)
        assert all(latency_s > 0 for latency_s in result.latencies_s)
        assert result.compile_s > 0
        assert result.run_s > 0


def test_a_candidate_far_slower_than_the_best_is_cut_off(measurer: Measurer, modules: dict[str, str]) -> None:
    (result,) = measurer.measure(requests_for(modules, ["slow"], best_s=1e-6))
    assert result.cut_off
    assert len(result.latencies_s) == 1
    (result,) = measurer.measure(requests_for(modules, ["slow"], best_s=1e3))
    assert not result.cut_off


def test_whatever_a_candidate_does_costs_one_result(hurried: Measurer, modules: dict[str, str]) -> None:
    expected = [
        ("scale", None),
        ("segfault", (Stage.MEASURE, "crash (SIGSEGV)")),
        ("scale", None),
        ("hang", (Stage.MEASURE, "timeout")),
        ("illegal", (Stage.COMPILE, "InternalError")),
        ("matmul", None),
        ("hungry", (Stage.MEASURE, "out of memory")),
        ("nonsense", (Stage.COMPILE, "ValueError")),
        ("scalar", None),
    ]
    results = by_id(list(hurried.measure(requests_for(modules, [name for name, _ in expected]))))
    for result, (name, failure) in zip(results, expected, strict=True):
        found = result.failure and (result.failure.stage, result.failure.cause)
        assert found == failure, name
        assert bool(result.latencies_s) == (failure is None), name
    crash, illegal = results[1].failure, results[4].failure
    assert crash is not None and "Segfault" in crash.message
    assert illegal is not None and "Divide by zero" in illegal.message


def test_nothing_of_a_crash_reaches_the_terminal(
    measurer: Measurer, modules: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    list(measurer.measure(requests_for(modules, ["segfault"])))
    captured = capfd.readouterr()
    assert captured.out + captured.err == ""


def test_a_stop_ends_even_a_hanging_kernel(measurer: Measurer, modules: dict[str, str]) -> None:
    cancel = CancelToken()
    results = measurer.measure(requests_for(modules, ["scale", "hang", "scale", "scale"]), cancel)
    next(results)
    timer = threading.Timer(0.3, cancel.stop)
    timer.start()
    with pytest.raises(Interrupted):
        list(results)
    timer.join()
    again = list(measurer.measure(requests_for(modules, ["scale"]), CancelToken()))
    assert again[0].failure is None


def test_a_pause_holds_and_a_resume_goes_on(measurer: Measurer, modules: dict[str, str]) -> None:
    cancel = CancelToken()
    results = measurer.measure(requests_for(modules, ["scale"] * 4), cancel)
    first = next(results)
    cancel.pause()
    rest: list[MeasureResult] = []
    consumer = threading.Thread(target=lambda: rest.extend(results))
    consumer.start()
    consumer.join(0.3)
    assert consumer.is_alive()
    assert rest == []
    cancel.resume()
    consumer.join(30)
    assert len(by_id([first, *rest])) == 4


def test_one_is_measured_aside_while_a_batch_is_held(measurer: Measurer, modules: dict[str, str]) -> None:
    cancel = CancelToken()
    aside: list[MeasureResult] = []

    def cut_in() -> None:
        (request,) = requests_for(modules, ["slow"])
        aside.append(measurer.measure_aside(request, cancel.unheld()))
        cancel.resume()

    cancel.while_held = cut_in
    results = measurer.measure(requests_for(modules, ["scale"] * 4), cancel)
    first = next(results)
    cancel.pause()
    assert [result.failure for result in by_id([first, *results])] == [None] * 4
    assert len(aside) == 1 and len(aside[0].latencies_s) == 3 and not aside[0].cut_off


def test_who_measures_aside_looks_to_the_nursery_while_the_others_are_still(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    @contextmanager
    def still() -> Iterator[None]:
        order.append("still")
        yield

    def gone(_measurer: Measurer) -> None:
        order.append("nursery")
        raise UserError("measure", "No process can be started.")

    monkeypatch.setattr(Measurer, "launch", gone)
    measurer = Measurer(platform, MeasureConfig(compile_workers=1))
    measurer._batch = cast(Any, SimpleNamespace(still=still))
    with pytest.raises(UserError):
        measurer.measure_aside(MeasureRequest(id=0, module_json=""), CancelToken())
    assert order == ["still", "nursery"]


def test_a_stop_ends_what_is_measured_aside(measurer: Measurer, modules: dict[str, str]) -> None:
    cancel = CancelToken()
    timer = threading.Timer(0.3, cancel.stop)
    timer.start()
    with pytest.raises(Interrupted):
        measurer.measure_aside(requests_for(modules, ["hang"])[0], cancel.unheld())
    timer.join()


@pytest.mark.parametrize("victim", ["worker", "nursery"])
def test_a_killed_process_is_replaced(measurer: Measurer, modules: dict[str, str], victim: str) -> None:
    """A nursery's workers go with it: their pipes, which lead to the measurer, would keep them alive."""
    measurer.start()
    nursery, *workers = measurer.process_ids
    victims = [nursery, *workers] if victim == "nursery" else workers[:1]
    results = measurer.measure(requests_for(modules, ["scale"] * 6))
    found = [next(results)]
    doomed = [psutil.Process(pid) for pid in victims]
    os.kill(victims[0], signal.SIGKILL)
    found.extend(results)
    assert len(by_id(found)) == 6
    assert all(result.failure is None or result.failure.cause != "timeout" for result in found)
    assert sum(result.failure is not None for result in found) <= 2
    assert all_gone(doomed)
    clean = list(measurer.measure(requests_for(modules, ["scale"] * 3)))
    assert all(result.failure is None for result in clean)


def test_closing_leaves_no_process_and_starting_again_works(platform: Platform, modules: dict[str, str]) -> None:
    measurer = Measurer(platform, MeasureConfig(compile_workers=2))
    measurer.start()
    pids = measurer.process_ids
    assert len(pids) == 3
    measurer.start()
    assert measurer.process_ids == pids
    measurer.close()
    assert measurer.process_ids == ()
    assert all(not psutil.pid_exists(pid) for pid in pids)
    measurer.close()
    assert [result.failure for result in measurer.measure(requests_for(modules, ["scale"]))] == [None]
    measurer.close()


def test_a_platform_that_cannot_run_here_is_refused(platform: Platform) -> None:
    with pytest.raises(UserError, match="the test machine"):
        Measurer(dataclasses.replace(platform, runnable=False), MeasureConfig(compile_workers=1)).start()


def test_idle_workers_do_not_spin(measurer: Measurer, modules: dict[str, str]) -> None:
    list(measurer.measure(requests_for(modules, ["scale"] * 4)))
    processes = [psutil.Process(pid) for pid in measurer.process_ids]
    time.sleep(0.1)  # TVM's own threads spin for a moment before they sleep
    before = [process.cpu_times().user for process in processes]
    time.sleep(0.3)
    after = [process.cpu_times().user for process in processes]
    assert sum(after) - sum(before) <= 0.05
