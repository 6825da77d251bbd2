"""An evaluation's progress in a terminal: a bar per table, or a line per finished cell where there is none."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from tcl_core.command_line.output import Output
from tcl_core.command_line.passes import told_of

if TYPE_CHECKING:
    from tcl_core.evaluation.cells import CellProgress


class EvaluationWatch:
    """Shows how far each table is. A context manager, since the bars own the terminal's last lines."""

    def __init__(self, output: Output) -> None:
        self._console = output.status
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[detail]}", markup=False),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._bars: dict[str, TaskID] = {}
        self._told: CellProgress | None = None

    def __enter__(self) -> EvaluationWatch:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def show(self, told: CellProgress) -> None:
        """Take in what a table says of itself."""
        if told.table not in self._bars:
            self._bars[told.table] = self._bar.add_task(told.table, total=told.total, detail="")
        detail = f"{told.row}, seed {told.seed}"
        if told.epoch is not None:
            detail += f", pass {told.epoch.epoch} of at most {told.epoch.epochs}: {told_of(told.epoch)}"
        if told.words:
            detail += f", {told.words}"
        if told.waiting:
            detail += ", which another process is at"
        self._bar.update(self._bars[told.table], completed=told.done, detail=detail)
        finished = self._told is not None and (told.table, told.done) == (self._told.table, self._told.done + 1)
        if finished and not self._console.is_terminal:
            found = " (found finished)" if told.resumed else ""
            self._console.print(f"[{told.done}/{told.total}] {told.table}: {detail}{found}", soft_wrap=True)
        self._told = told
