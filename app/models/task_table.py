"""The task table: one row a task, with what it costs and how far its tuning is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QFont

from app.models import quantities
from app.models.row_table import Index, RowTableModel
from app.models.task_columns import COLUMNS, TaskColumn, TaskRow
from app.translation import tr
from tcl_core.domain import Record, RecordCount, Task, TaskState

KEY_ROLE = int(Qt.ItemDataRole.UserRole) + 2
"""The key of the row's task."""
FRACTION_ROLE = int(Qt.ItemDataRole.UserRole) + 3
"""Share of time in [0, 1], None where it is unknown or the column is another."""


_OF_ONE_COLUMN: dict[tuple[int, int], Callable[[TaskRow], float | None]] = {
    (FRACTION_ROLE, TaskColumn.SHARE): lambda row: row.share,
    (int(Qt.ItemDataRole.EditRole), TaskColumn.LIMIT): lambda row: row.limit or 0,
}


def _fresh(row: TaskRow, count: RecordCount) -> TaskRow:
    """A row of which nothing is known but what a workspace counts, and what a person wants of it."""
    state = TaskState(task=row.state.task, trials=count.trials, failures=count.failures, best_s=count.best_s)
    return TaskRow(state=state, limit=row.limit)


class TaskTableModel(RowTableModel[TaskRow]):
    """Rows are tasks, in the network's order. What a run changes is announced by `flush`, once a batch.

    A task whose box is not ticked is left out of the next run; one stays in at least. A task may have a budget of its
    own in the next run.

    Signals:
        choice_changed: other tasks are ticked, or a task's budget is another.
    """

    choice_changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(COLUMNS, parent)
        self._row_of: dict[str, int] = {}
        self._active = ""
        self._told: tuple[list[TaskRow], str] = ([], "")  # rows and active task, as the views know them
        self._left_out: frozenset[str] = frozenset()
        self._stale = False
        self._bold = QFont()
        self._bold.setBold(True)

    def set_tasks(self, tasks: Sequence[Task]) -> None:
        """Show the tasks of a network, none of them measured, all of them ticked."""
        self._left_out = frozenset()
        self._show([TaskState(task=task) for task in tasks], {})

    def set_states(self, states: Sequence[TaskState]) -> None:
        """Show tasks as a run sees them, without budgets; tasks that it leaves out stay as they are, without a tick."""
        given = {state.task.key: state for state in states}
        limits = {row.state.task.key: row.limit for row in self._rows if row.state.task.key not in given}
        if given.keys() <= self._row_of.keys():
            self._left_out = frozenset(self._row_of.keys() - given.keys())
            self._show([given.get(state.task.key, state) for state in self.states], limits)
        else:
            self._left_out = frozenset()
            self._show(states, {})

    def _show(self, states: Sequence[TaskState], limits: Mapping[str, int | None]) -> None:
        self.beginResetModel()
        self._rows = [TaskRow(state=state, limit=limits.get(state.task.key)) for state in states]
        self._row_of = {state.task.key: row for row, state in enumerate(states)}
        self._active = ""
        self._stale = False
        self._share_out()
        self._told = (list(self._rows), self._active)
        self.endResetModel()

    def update_state(self, state: TaskState) -> None:
        """Replace what is known of one task."""
        row = self._row_of.get(state.task.key)
        if row is not None:
            self._rows[row] = replace(self._rows[row], state=state)
            self._stale = True

    def set_counts(self, counts: Iterable[tuple[str, RecordCount]]) -> None:
        """Take what a workspace holds of each task; those that are not named have nothing there.

        What a run said of a task stays only where the counts are the same: else it was said of other records.
        """
        known = dict(counts)
        for row, shown in enumerate(self._rows):
            count, state = known.get(shown.state.task.key, RecordCount()), shown.state
            if count != RecordCount(trials=state.trials, failures=state.failures, best_s=state.best_s):
                self._rows[row] = _fresh(shown, count)
        self._stale = True
        self.flush()

    def forget_work(self) -> None:
        """Nothing is known of any task's tuning: the records lie elsewhere now."""
        self._rows = [_fresh(row, RecordCount()) for row in self._rows]
        self._stale = True
        self.flush()

    def add_record(self, record: Record) -> None:
        """Count a record and keep the better latency; the round's end brings the exact state."""
        row = self._row_of.get(record.candidate.task_key)
        if row is None:
            return
        state = self._rows[row].state
        latency_s = record.latency_s
        best_s = state.best_s if latency_s is None else min(latency_s, state.best_s or latency_s)
        failures = state.failures + (record.failure is not None)
        self.update_state(replace(state, trials=state.trials + 1, failures=failures, best_s=best_s))

    def set_gains(self, gains_s: Iterable[tuple[str, float]]) -> None:
        """Take what the scheduler expects of one more round of each task, in seconds by key."""
        for key, gain_s in gains_s:
            row = self._row_of.get(key)
            if row is not None:
                self._rows[row] = replace(self._rows[row], gain_s=gain_s)
                self._stale = True

    def set_active(self, task_key: str) -> None:
        """Mark the task the run is busy with; "" for none."""
        if task_key != self._active:
            self._active, self._stale = task_key, True

    def flush(self) -> None:
        """Announce what changed since the last call, at once, and no more: a view paints anew what it is told of.

        A record is news of its task; one that is faster than all before changes the shares of the others as well.
        """
        if self._stale and self._rows:
            self._stale = False
            self._share_out()
            changed = self._changed()
            self._told = (list(self._rows), self._active)
            if changed:
                self.dataChanged.emit(self.index(changed[0], 0), self.index(changed[-1], len(TaskColumn) - 1))

    def _changed(self) -> list[int]:
        rows, active = self._told
        news = {number for number, (row, before) in enumerate(zip(self._rows, rows, strict=True)) if row != before}
        if active != self._active:
            news |= {self._row_of[key] for key in (active, self._active) if key in self._row_of}
        return sorted(news)

    @property
    def states(self) -> tuple[TaskState, ...]:
        """All rows."""
        return tuple(row.state for row in self._rows)

    @property
    def chosen(self) -> tuple[TaskState, ...]:
        """The rows that are ticked."""
        return tuple(row.state for row in self._rows if row.state.task.key not in self._left_out)

    @property
    def include(self) -> tuple[str, ...]:
        """`RunConfig.include`: keys of the ticked tasks, empty where all are."""
        return tuple(state.task.key for state in self.chosen) if self._left_out else ()

    def choose(self, task_keys: Collection[str]) -> bool:
        """Tick these and no others; says whether one was left to tick."""
        left_out = frozenset(self._row_of.keys() - set(task_keys))
        if left_out == self._row_of.keys():
            return False
        self._left_out = left_out
        self.dataChanged.emit(self.index(0, TaskColumn.TASK), self.index(len(self._rows) - 1, TaskColumn.TASK))
        self.choice_changed.emit()
        return True

    def choose_all(self) -> None:
        """Tick all."""
        self.choose(self._row_of.keys())

    @property
    def task_trials(self) -> tuple[tuple[str, int], ...]:
        """`Budget.task_trials`: the budgets of the ticked tasks that have one, by key."""
        rows = (row for row in self._rows if row.state.task.key not in self._left_out)
        return tuple((row.state.task.key, row.limit) for row in rows if row.limit is not None)

    def set_task_trials(self, task_trials: Iterable[tuple[str, int]]) -> None:
        """Give these of the ticked tasks a budget, by key, and no others; what is left out keeps its own."""
        given = dict(task_trials)
        self._rows = [
            row if row.state.task.key in self._left_out else replace(row, limit=given.get(row.state.task.key))
            for row in self._rows
        ]
        self._tell_limits()

    def _tell_limits(self) -> None:
        if self._rows:
            self.dataChanged.emit(self.index(0, TaskColumn.LIMIT), self.index(len(self._rows) - 1, TaskColumn.LIMIT))
        self.choice_changed.emit()

    def flags(self, index: Index) -> Qt.ItemFlag:
        own: dict[int, Qt.ItemFlag] = {
            TaskColumn.TASK: Qt.ItemFlag.ItemIsUserCheckable,
            TaskColumn.LIMIT: Qt.ItemFlag.ItemIsEditable,
        }
        return super().flags(index) | own.get(index.column(), Qt.ItemFlag.NoItemFlags)

    def setData(self, index: Index, value: Any, role: int = int(Qt.ItemDataRole.EditRole)) -> bool:  # noqa: N802
        if role == Qt.ItemDataRole.EditRole and index.column() == TaskColumn.LIMIT:
            self._rows[index.row()] = replace(self._rows[index.row()], limit=int(value) or None)
            self._tell_limits()
            return True
        if role != Qt.ItemDataRole.CheckStateRole or index.column() != TaskColumn.TASK:
            return False
        key = self._rows[index.row()].state.task.key
        ticked = {state.task.key for state in self.chosen}
        return self.choose(ticked | {key} if Qt.CheckState(value) is Qt.CheckState.Checked else ticked - {key})

    @property
    def active(self) -> str:
        """Key of the task the run is busy with; "" for none."""
        return self._active

    def name_of(self, task_key: str) -> str:
        """A task's name, or its key where the table does not hold it."""
        row = self._row_of.get(task_key)
        return task_key if row is None else self._rows[row].state.task.name

    def _share_out(self) -> None:
        total_s = sum(row.state.task.weight * (row.state.best_s or 0.0) for row in self._rows)
        for number, row in enumerate(self._rows):
            best_s = row.state.best_s
            share = None if best_s is None or total_s <= 0 else row.state.task.weight * best_s / total_s
            self._rows[number] = replace(row, share=share)

    def row_data(self, row: TaskRow, column: int, role: int) -> Any:
        if role == KEY_ROLE:
            return row.state.task.key
        if (role, column) in _OF_ONE_COLUMN:
            return _OF_ONE_COLUMN[role, column](row)
        if role == Qt.ItemDataRole.CheckStateRole and column == TaskColumn.TASK:
            return Qt.CheckState.Unchecked if row.state.task.key in self._left_out else Qt.CheckState.Checked
        if role == Qt.ItemDataRole.FontRole and column == TaskColumn.TASK and row.state.task.key == self._active:
            return self._bold
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._hint(row)
        return None

    def _hint(self, row: TaskRow) -> str:
        state, task = row.state, row.state.task
        loops = " x ".join(f"{axis.extent}{'r' if axis.kind == 'reduce' else ''}" for axis in task.axes)
        lines = [
            task.name,
            tr("{anchor} · {dtype} · loops {loops} (r: reduce)", anchor=task.anchor, dtype=task.dtype, loops=loops),
            tr("{flops}, {intensity:.1f} FLOP per byte", flops=quantities.flop(task.flops), intensity=task.intensity),
            tr(
                "best {best_s} after {trials}",
                best_s=quantities.latency(state.best_s),
                trials=quantities.trials(state.trials),
            ),
        ]
        if row.limit is not None:
            lines.append(
                tr("The next run measures at most {candidates} of it.", candidates=quantities.candidates(row.limit))
            )
        if task.key in self._left_out:
            lines.append(tr("The next run leaves it out: its box is not ticked."))
        if task.key == self._active:
            lines.append(tr("The run is busy with this task."))
        if state.exhausted:
            lines.append(tr("Nothing new can be gained here."))
        return "\n".join(lines)
