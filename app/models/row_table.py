"""What all tables share: rows of plain data, and columns that say how a row is titled, written, sorted and aligned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from app.translation import tr

Index = QModelIndex | QPersistentModelIndex
Row = TypeVar("Row")

SORT_ROLE = int(Qt.ItemDataRole.UserRole) + 1
"""The plain number (or text) of a cell, for sorting."""

LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


@dataclass(frozen=True)
class Column(Generic[Row]):
    """One column.

    Attributes:
        title, hint: the header and its tooltip; a number's title names its unit.
        text: what a cell says.
        value: what it is sorted by; None sorts by the text.
        numeric: numbers are aligned to the right.
    """

    title: str
    hint: str
    text: Callable[[Row], str]
    value: Callable[[Row], float | str] | None = None
    numeric: bool = False


class RowTableModel(QAbstractTableModel, Generic[Row]):
    """A table over a list of rows; subclasses answer further roles."""

    def __init__(self, columns: Sequence[Column[Row]], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._columns = tuple(columns)
        self._rows: list[Row] = []

    def set_rows(self, rows: Sequence[Row]) -> None:
        """Show other rows."""
        self.beginResetModel()
        self._rows = list(rows)
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, N802  Qt's signature
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, N802  Qt's signature
        return 0 if parent.isValid() else len(self._columns)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> Any:  # noqa: N802  Qt's name
        if orientation is not Qt.Orientation.Horizontal:
            return None
        column = self._columns[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return tr(column.title)
        if role == Qt.ItemDataRole.ToolTipRole:
            return tr(column.hint)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if column.numeric else LEFT
        return None

    def data(self, index: Index, role: int = 0) -> Any:
        if not index.isValid():
            return None
        column, row = self._columns[index.column()], self._rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.text(row)
        if role == SORT_ROLE:
            return (column.value or column.text)(row)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if column.numeric else LEFT
        return self.row_data(row, index.column(), role)

    def row_data(self, row: Row, column: int, role: int) -> Any:
        """A cell under any role that its column does not answer."""
        return None
