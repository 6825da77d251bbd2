"""What benches read off a run: shares of its stages, and seconds of its rounds without compiling and timing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from tcl_core.bench import overhead, scale
from tcl_core.domain import Stage, TaskState
from tcl_core.events import Event, Finished, PhaseChanged, RoundFinished, RunStarted

NOTHING = cast(Any, None)


class Clock:
    """Stands for the module `time`: moved by whoever plays the events."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


def started() -> RunStarted:
    return RunStarted(run_id=1, config=NOTHING, network=NOTHING, platform=NOTHING, states=(), resumed_records=0)


def round_finished(number: int, search_s: float = 0.0, learn_s: float = 0.0) -> RoundFinished:
    state = TaskState(task=NOTHING)
    return RoundFinished(round=number, state=state, rank_correlation=None, search_s=search_s, learn_s=learn_s)


def played(clock: Clock, *steps: tuple[float, Event]) -> Iterator[Event]:
    for at, event in steps:
        clock.now = at
        yield event


def test_overhead_is_what_is_neither_compiled_nor_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(overhead, "time", clock)
    seconds = ((Stage.SEARCH.value, 1.0), (Stage.COMPILE.value, 5.0), (Stage.MEASURE.value, 3.0))
    finished = Finished(
        reason="trials", trials=4, failed=0, seconds=30.0, seconds_by_stage=seconds, candidates_scored=9, library=None
    )
    events = played(clock, (2.0, started()), (12.0, PhaseChanged(stage=Stage.LIBRARY)), (30.0, finished))
    shares = overhead._shares(events)
    assert shares == {"search": 0.1, "compile": 0.5, "measure": 0.3, "overhead": pytest.approx(0.2)}


def test_a_rounds_own_seconds_are_those_of_searching_and_learning_wherever_they_were(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    clock = Clock()
    steps: tuple[tuple[float, Event], ...] = (
        (14.0, started()),
        (20.0, PhaseChanged(stage=Stage.SEARCH)),
        (21.0, PhaseChanged(stage=Stage.COMPILE)),
        (25.0, PhaseChanged(stage=Stage.MEASURE)),
        (29.0, PhaseChanged(stage=Stage.LEARN)),
        (29.5, round_finished(0, search_s=1.0, learn_s=0.5)),
        (29.5, PhaseChanged(stage=Stage.COMPILE)),
        (33.0, round_finished(1, search_s=2.0)),
        (40.0, PhaseChanged(stage=Stage.LIBRARY)),
        (99.0, round_finished(2)),
    )

    class Runner:
        def __init__(self, config: Any, *_: object) -> None:
            assert config.workspace == str(tmp_path) and config.budget.trials == scale.ROUNDS * scale.ROUND

        def events(self) -> Iterator[Event]:
            return played(clock, *steps)

    def opening(*_: object) -> None:
        clock.now += 9.0

    monkeypatch.setattr(scale, "time", clock)
    monkeypatch.setattr(scale, "open_network", opening)
    monkeypatch.setattr(scale, "Tuner", Runner)
    figures = scale.measure_run(tmp_path)
    assert (figures["open_s"], figures["start_s"]) == (9.0, 5.0)
    assert figures["whole_s"] == [9.5, 3.5] and figures["own_s"] == [1.5, 2.0]
    assert figures["memory_mb"] > 10


def test_the_large_network_comes_with_the_onnx_package() -> None:
    assert scale.densenet().is_file()
