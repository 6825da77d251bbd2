"""Training in a terminal: a progress bar over passes, or a line per pass where there is none."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from tcl_core.command_line.output import Output

if TYPE_CHECKING:
    from tcl_core.cost_model.base import EpochReport


class PassWatch:
    """Shows phases and passes as they come. A context manager, since the bar owns the terminal's last line."""

    def __init__(self, output: Output) -> None:
        self._console = output.status
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
            transient=True,
        )
        self._bar_id: TaskID | None = None
        self._phase = ""

    def __enter__(self) -> PassWatch:
        self._bar.start()
        self._bar_id = self._bar.add_task("starting", total=None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def phase(self, text: str) -> None:
        """What is done now."""
        self._phase = text
        if self._bar_id is not None:
            self._bar.reset(self._bar_id, total=None, description=text)
        if not self._console.is_terminal:
            self._console.print(text, soft_wrap=True)

    def show(self, report: EpochReport) -> None:
        """Take in one pass."""
        told = told_of(report)
        if self._bar_id is not None:
            self._bar.update(
                self._bar_id, completed=report.epoch, total=report.epochs, description=f"{self._phase}: {told}"
            )
        if not self._console.is_terminal:
            self._console.print(f"pass {report.epoch} of {report.epochs}: {told}", soft_wrap=True)


def told_of(report: EpochReport) -> str:
    """A pass in a few words: loss, and what was found on the validation tasks."""
    loss = "no loss" if report.loss is None else f"loss {report.loss:.4f}"
    if report.validation_pairs is None or report.validation_top1 is None:
        return loss
    found = f"{report.validation_pairs:.4f} of pairs in order, top-1 {report.validation_top1:.4f}"
    kept = f"pass {report.best_epoch}" if report.best_epoch else "what it began with"
    return f"{loss}, validation: {found} (kept: {kept})"
