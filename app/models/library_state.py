"""The library of the network on screen: what is known of it, what is being done with it, what may be done."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QObject, Signal

from app.models import library_tables
from app.models.row_table import RowTableModel
from app.models.run_state import Activity, RunState
from app.models.task_table import TaskTableModel
from app.translation import tr
from tcl_core.config import LibraryConfig
from tcl_core.libraries import LibraryReport, LibraryTask


class LibraryState(QObject):
    """State with one signal; controllers change it and then call `announce`.

    Attributes:
        report: the last one of this network, None before.
        config: the tolerance of checks and of the next run.
        tuned: whether the workspace holds a run of the network on screen.
        doing: what is done with the library now, in a few words; "" for nothing.
        stopping: a stop was asked for.
        times, tasks, outputs: the tables.

    Signals:
        changed: anything of the above.
    """

    changed = Signal()

    def __init__(self, run: RunState, tasks: TaskTableModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._run, self._states = run, tasks
        self.report: LibraryReport | None = None
        self.config = LibraryConfig()
        self.tuned = False
        self.doing = ""
        self.stopping = False
        self.times = RowTableModel(library_tables.TIME_COLUMNS, self)
        self.tasks = RowTableModel(library_tables.TASK_COLUMNS, self)
        self.outputs = RowTableModel(library_tables.OUTPUT_COLUMNS, self)
        self._shown: tuple[LibraryTask, ...] = ()
        run.changed.connect(self._follow)

    @property
    def held(self) -> str:
        """Why nothing can be done with the library now; "" when it can."""
        run = self._run
        if run.opened is None:
            return tr("Open a network first.")
        if run.busy:
            return tr("A run is on: its library is built, checked and timed at the end.")
        if self.doing:
            return f"{self.doing}."
        if run.engine_held:
            return run.engine_held
        if run.activity is not Activity.READY:
            return tr("The engine is busy for a moment.")
        return "" if self.tuned else tr("Tune this network first: the workspace holds no run of it.")

    @property
    def expected(self) -> bool:
        """Whether the table of tasks tells what would be built now, rather than what was."""
        return self.report is None or self._run.busy

    @property
    def bundle(self) -> str:
        """Folder of the exported bundle; "" without one."""
        return (self.report.path or "") if self.report else ""

    def take(self, report: LibraryReport | None) -> None:
        """A report came; None forgets the last one.

        What a check did not look at is kept from the report before, as long as the library is the same: equal records
        for equal tasks.
        """
        before = self.report
        if report is not None and before is not None and before.tasks == report.tasks:
            report = replace(report, path=report.path or before.path)
            if report.tuned is None:
                report = replace(
                    report,
                    untuned=before.untuned,
                    tuned=before.tuned,
                    onnxruntime=before.onnxruntime,
                    contests=before.contests,
                )
        self.report = report
        self.times.set_rows(library_tables.contenders(report) if report else [])
        self.outputs.set_rows(report.outputs if report else [])
        self._follow()
        self.announce()

    def announce(self) -> None:
        """Tell the views."""
        self.changed.emit()

    def _follow(self) -> None:
        """The table of tasks, where it has to change: the best records of a run, or a report."""
        states = self._states.states
        if not self.expected and self.report is not None:
            tasks = self.report.tasks
        else:
            tasks = library_tables.expected_tasks(states) if any(state.trials for state in states) else ()
        if tasks != self._shown:
            self._shown = tasks
            self.tasks.set_rows(library_tables.used_tasks(tasks))
