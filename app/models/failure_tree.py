"""Failures grouped by stage and cause; each keeps its whole message."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QObject, Qt
from PySide6.QtGui import QStandardItem, QStandardItemModel

from app.translation import tr
from tcl_core.domain import Failure

MESSAGE_ROLE = int(Qt.ItemDataRole.UserRole) + 1
"""The whole message of a failure; of a group, that of its newest failure."""

SERIAL_ROLE = int(Qt.ItemDataRole.UserRole) + 2
"""Serial number of the failed record among `MeasuredRecords`; a group has none."""

KEPT = 200
"""Failures listed one by one in each group; all are counted."""

_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class FailureTreeModel(QStandardItemModel):
    """Two levels: cause (with its count), then failures, newest first."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._groups: dict[tuple[str, str], int] = {}
        self._counts: list[int] = []
        self.clear_all()

    @property
    def total(self) -> int:
        """All failures so far."""
        return sum(self._counts)

    def clear_all(self) -> None:
        """Forget everything: another network or a new run."""
        self._groups.clear()
        self._counts.clear()
        self.clear()  # says so to the views, which ask for the total
        self.setHorizontalHeaderLabels([tr("Cause"), tr("Stage"), tr("Failures")])
        self.setHeaderData(2, Qt.Orientation.Horizontal, _RIGHT, Qt.ItemDataRole.TextAlignmentRole)

    def add(self, failure: Failure, task_name: str, serial: int) -> None:
        """Add one failure to its group; `serial` numbers its record."""
        key = (failure.stage.value, failure.cause)
        row = self._groups.get(key)
        if row is None:
            row = self._add_group(failure)
            self._groups[key] = row
        self._counts[row] += 1
        group = self.item(row, 0)
        group.setData(failure.message or failure.cause, MESSAGE_ROLE)
        self.item(row, 2).setData(self._counts[row], Qt.ItemDataRole.DisplayRole)
        first_line = failure.message.strip().splitlines()[0] if failure.message.strip() else failure.cause
        child = _cell(task_name)
        child.setData(failure.message or failure.cause, MESSAGE_ROLE)
        child.setData(serial, SERIAL_ROLE)
        child.setToolTip(first_line)
        group.insertRow(0, [child, _cell(failure.stage.value), _cell("")])
        if group.rowCount() > KEPT:
            group.removeRow(KEPT)

    def message(self, index: QModelIndex) -> str:
        """The whole message behind a row."""
        return str(index.siblingAtColumn(0).data(MESSAGE_ROLE) or "")

    def serial(self, index: QModelIndex) -> int | None:
        """Number of the record behind a row; None for a group."""
        found = index.siblingAtColumn(0).data(SERIAL_ROLE)
        return None if found is None else int(found)

    def _add_group(self, failure: Failure) -> int:
        count = _cell("0")
        count.setTextAlignment(_RIGHT)
        cause = _cell(failure.cause)
        cause.setToolTip(failure.cause)
        self.appendRow([cause, _cell(failure.stage.value), count])
        self._counts.append(0)
        return self.rowCount() - 1


def _cell(text: str) -> QStandardItem:
    item = QStandardItem(text)
    item.setEditable(False)
    return item
