"""A run of a few trials of the sample, up to the library."""

from __future__ import annotations

from pathlib import Path

from tcl_core.config import Budget, CostModelConfig, LibraryConfig, MeasureConfig, RunConfig, SearchConfig
from tcl_core.events import CancelToken, Event, PhaseChanged
from tcl_core.tuner import Tuner
from tcl_core.tuner.opening import Opened


def heaviest(opened: Opened, count: int) -> tuple[str, ...]:
    """Keys of the tasks with the most operations."""
    return tuple(task.key for task in sorted(opened.tasks, key=lambda task: -task.flops)[:count])


def quick_run(
    workspace: Path,
    opened: Opened,
    budget: Budget,
    include: tuple[str, ...],
    checkpoint: str | None = None,
    workers: int = 1,
) -> list[Event]:
    """The events until the library is built."""
    config = RunConfig(
        network=None,
        workspace=str(workspace),
        threads=1,
        budget=budget,
        include=include,
        checkpoint=checkpoint,
        cost_model=CostModelConfig(name="random"),
        search=SearchConfig(population=32, generations=1, pool=16),
        measure=MeasureConfig(compile_workers=workers, min_repeat_s=0.001),
        library=LibraryConfig(timing_rounds=1, timing_s=0.01),
    )
    events: list[Event] = []
    for event in Tuner(config, CancelToken(), opened).events():
        events.append(event)
        if isinstance(event, PhaseChanged) and event.stage.value == "library":
            break  # what comes now is not these tests'
    return events
