"""A run's events in a terminal: a progress bar with an ETA range, or a line per candidate where there is none."""

from __future__ import annotations

import math
from types import TracebackType

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from tcl_core.command_line.output import Output
from tcl_core.counting import counted
from tcl_core.domain import TaskState
from tcl_core.events import (
    Event,
    NetworkOpened,
    Notice,
    PhaseChanged,
    RecordMeasured,
    RoundFinished,
    RunStarted,
)
from tcl_core.events import Progress as RunProgress
from tcl_core.latencies import microseconds, milliseconds


class RunWatch:
    """Shows events as they come. A context manager, since the bar owns the terminal's last line."""

    def __init__(self, output: Output) -> None:
        self._console = output.status
        self._names: dict[str, str] = {}
        self._phase = ""
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[eta]}"),
            console=self._console,
            disable=not self._console.is_terminal,
            transient=True,
        )
        self._bar_id: TaskID | None = None
        self._progress: RunProgress | None = None

    def __enter__(self) -> RunWatch:
        self._bar.start()
        self._bar_id = self._bar.add_task("starting", total=1.0, eta="")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def show(self, event: Event) -> None:
        """Take in one event."""
        match event:
            case NetworkOpened():
                self._names |= {task.key: task.name for task in event.tasks}
                self._line(f"{event.network.name}: {counted(len(event.tasks), 'task')} on {event.platform.name}")
            case RunStarted() if event.resumed_records:
                self._line(f"continuing with {counted(event.resumed_records, 'record')} of the workspace")
            case PhaseChanged():
                self._phase = " ".join(filter(None, (event.stage.value, self._names.get(event.task_key), event.detail)))
                self._update()
            case RunProgress():
                self._progress = event
                self._update()
            case RecordMeasured():
                self._candidate(event)
            case RoundFinished():
                self._round(event.state, event.rank_correlation)
            case Notice():
                self._line(event.sentence)

    def _line(self, text: str) -> None:
        self._console.print(text, soft_wrap=True)

    def _eta(self) -> str:
        if self._progress is None:
            return ""
        high = self._progress.eta_high_s
        return f"{self._progress.eta_low_s:.0f}-{'?' if math.isinf(high) else format(high, '.0f')} s left"

    def _update(self) -> None:
        if self._bar_id is None:
            return
        trials = f"{counted(self._progress.trials, 'trial')}, " if self._progress else ""
        fraction = self._progress.fraction if self._progress else 0.0
        self._bar.update(self._bar_id, completed=fraction, description=f"{trials}{self._phase}", eta=self._eta())

    def _candidate(self, event: RecordMeasured) -> None:
        """A line per candidate where there is no bar to move."""
        if self._console.is_terminal:
            return
        record = event.record
        name = self._names.get(record.candidate.task_key, record.candidate.task_key)
        if record.failure is not None:
            outcome = f"failed in {record.failure.stage.value}: {record.failure.cause}"
        else:
            outcome = f"{microseconds(record.latency_s or 0)} us{' (cut off)' if record.cut_off else ''}"
        number = self._progress.trials + 1 if self._progress else 1
        self._line(f"[{number}] {name}: {outcome}; {self._eta()}")

    def _round(self, state: TaskState, correlation: float | None) -> None:
        best = f"best {microseconds(state.best_s)} us" if state.best_s is not None else "nothing ran yet"
        rate = ""
        if state.best_s and state.task.flops:
            rate = f", {state.task.flops / state.best_s / 1e9:,.1f} GFLOP/s"
        rank = f", rank correlation {correlation:z.2f}" if correlation is not None else ""
        whole = ""
        if self._progress is not None and self._progress.estimate_s is not None:
            whole = f"; network {milliseconds(self._progress.estimate_s * 1e3)} ms"
        self._line(f"{state.task.name}: {best}{rate} after {counted(state.trials, 'trial')}{rank}{whole}")
