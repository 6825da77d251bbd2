"""Failures grouped by stage and cause; each keeps its whole message."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from PySide6.QtCore import QModelIndex, QObject, Qt
from PySide6.QtGui import QStandardItem, QStandardItemModel

from app.translation import tr
from tcl_core.checkpoint_events import EarlierFailure
from tcl_core.domain import Candidate, Failure

MESSAGE_ROLE = int(Qt.ItemDataRole.UserRole) + 1
"""The whole message of a failure; of a group, that of its newest failure."""

SERIAL_ROLE = int(Qt.ItemDataRole.UserRole) + 2
"""Serial number of the failed record among `MeasuredRecords`; a group and a failure of an earlier session have none."""

CANDIDATE_ROLE = int(Qt.ItemDataRole.UserRole) + 3
"""The `Candidate` of a failure of an earlier session."""

KEPT = 200
"""Failures listed one by one in each group; all are counted."""

_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class FailureTreeModel(QStandardItemModel):
    """Two levels: cause (with its count), then failures, newest first; below them some of earlier sessions."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._groups: dict[tuple[str, str], int] = {}
        self._own: list[int] = []
        self._earlier: list[int] = []
        self.clear_all()

    @property
    def total(self) -> int:
        """All failures so far, those of earlier sessions too."""
        return sum(self._own) + sum(self._earlier)

    def clear_all(self) -> None:
        """Forget everything: another network or a new run."""
        self._groups.clear()
        self._own.clear()
        self._earlier.clear()
        self.clear()  # says so to the views, which ask for the total
        self.setHorizontalHeaderLabels([tr("Cause"), tr("Stage"), tr("Failures")])
        self.setHeaderData(2, Qt.Orientation.Horizontal, _RIGHT, Qt.ItemDataRole.TextAlignmentRole)

    def add(self, failure: Failure, task_name: str, serial: int) -> None:
        """Add one failure to its group; `serial` numbers its record."""
        row = self._group_of(failure)
        self._own[row] += 1
        self._show_count(row)
        group = self.item(row, 0)
        group.setData(failure.message or failure.cause, MESSAGE_ROLE)
        group.insertRow(0, _child(failure, task_name, serial, SERIAL_ROLE))
        if group.rowCount() > KEPT:
            group.removeRow(KEPT)

    def set_earlier(self, failures: Iterable[EarlierFailure], name_of: Callable[[str], str]) -> None:
        """Take what the workspace holds: the newest of each cause, newest first, those that were added here among them.

        Args:
            name_of: a task's name by its key.
        """
        by_group: dict[int, list[EarlierFailure]] = {}
        for told in failures:
            by_group.setdefault(self._group_of(told.failure), []).append(told)
        for row, newest in by_group.items():
            own = self._own[row]
            earlier = max(0, newest[0].alike - own)
            if earlier == self._earlier[row]:
                continue
            self._earlier[row] = earlier
            self._show_count(row)
            group = self.item(row, 0)
            if not own:
                group.setData(newest[0].failure.message or newest[0].failure.cause, MESSAGE_ROLE)
            group.removeRows(min(own, KEPT), group.rowCount() - min(own, KEPT))
            for told in newest[own:KEPT]:
                name = name_of(told.candidate.task_key)
                group.appendRow(_child(told.failure, name, told.candidate, CANDIDATE_ROLE))

    def message(self, index: QModelIndex) -> str:
        """The whole message behind a row."""
        return str(index.siblingAtColumn(0).data(MESSAGE_ROLE) or "")

    def serial(self, index: QModelIndex) -> int | None:
        """Number of the record behind a row; None for a group, and for a failure of an earlier session."""
        found = index.siblingAtColumn(0).data(SERIAL_ROLE)
        return None if found is None else int(found)

    def candidate(self, index: QModelIndex) -> Candidate | None:
        """What failed in an earlier session; None for any other row."""
        found = index.siblingAtColumn(0).data(CANDIDATE_ROLE)
        return found if isinstance(found, Candidate) else None

    def _show_count(self, row: int) -> None:
        self.item(row, 2).setData(self._own[row] + self._earlier[row], Qt.ItemDataRole.DisplayRole)

    def _group_of(self, failure: Failure) -> int:
        key = (failure.stage.value, failure.cause)
        if key not in self._groups:
            self._groups[key] = self._add_group(failure)
        return self._groups[key]

    def _add_group(self, failure: Failure) -> int:
        count = _cell("0")
        count.setTextAlignment(_RIGHT)
        cause = _cell(failure.cause)
        cause.setToolTip(failure.cause)
        self._own.append(0)
        self._earlier.append(0)
        self.appendRow([cause, _cell(failure.stage.value), count])
        return self.rowCount() - 1


def _child(failure: Failure, task_name: str, what: int | Candidate, role: int) -> list[QStandardItem]:
    child = _cell(task_name)
    child.setData(failure.message or failure.cause, MESSAGE_ROLE)
    child.setData(what, role)
    child.setToolTip(failure.message.strip().splitlines()[0] if failure.message.strip() else failure.cause)
    return [child, _cell(failure.stage.value), _cell("")]


def _cell(text: str) -> QStandardItem:
    item = QStandardItem(text)
    item.setEditable(False)
    return item
