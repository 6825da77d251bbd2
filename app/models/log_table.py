"""What the engine had to say, newest first: notices, refusals, crashes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from PySide6.QtCore import QModelIndex, QObject, Qt

from app.models.row_table import Column, RowTableModel
from app.translation import later, tr

KIND_ROLE = int(Qt.ItemDataRole.UserRole) + 2
"""The entry's `EntryKind`."""
KEPT = 5000


class EntryKind(StrEnum):
    """How an entry is marked."""

    NOTICE = "notice"
    REFUSED = "refused"
    CRASHED = "crashed"


_KINDS = {
    EntryKind.NOTICE: later("notice"),
    EntryKind.REFUSED: later("refused"),
    EntryKind.CRASHED: later("crashed"),
}


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One line of the log. `at` is Unix time in seconds; `detail` is the whole text, where there is more."""

    at: float
    kind: EntryKind
    sentence: str
    detail: str = ""

    @property
    def whole(self) -> str:
        """All that was said, to be read and copied."""
        return f"{self.sentence}\n\n{self.detail}" if self.detail else self.sentence


_COLUMNS: tuple[Column[Entry], ...] = (
    Column(later("Time"), later("When it was said"), lambda entry: time.strftime("%H:%M:%S", time.localtime(entry.at))),
    Column(
        later("Kind"),
        later("A notice stops nothing; a refusal names the mend; a crash is a bug"),
        lambda entry: tr(_KINDS[entry.kind]),
    ),
    Column(later("Message"), later("What was said"), lambda entry: entry.sentence),
)


class LogTableModel(RowTableModel[Entry]):
    """Rows are entries, newest first; the oldest beyond 5,000 are dropped."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(_COLUMNS, parent)

    def add(self, entry: Entry) -> None:
        """Put an entry on top."""
        self.beginInsertRows(QModelIndex(), 0, 0)
        self._rows.insert(0, entry)
        self.endInsertRows()
        if len(self._rows) > KEPT:
            self.beginRemoveRows(QModelIndex(), KEPT, len(self._rows) - 1)
            del self._rows[KEPT:]
            self.endRemoveRows()

    def entry(self, row: int) -> Entry:
        """One line."""
        return self._rows[row]

    def row_data(self, row: Entry, column: int, role: int) -> Any:
        if role == Qt.ItemDataRole.ToolTipRole:
            return row.whole
        if role == KIND_ROLE:
            return row.kind
        return None
