"""The import report as two tables: what the network is made of, and what the import noticed, by node."""

from __future__ import annotations

from PySide6.QtCore import QObject

from app.models.row_table import Column, RowTableModel
from tcl_core.domain import ImportIssue, ImportReport

_OPERATOR_COLUMNS: tuple[Column[tuple[str, int]], ...] = (
    Column("Operator", "ONNX operator", lambda row: row[0]),
    Column("Nodes", "How often the network uses it", lambda row: f"{row[1]:,}", lambda row: row[1], numeric=True),
)
_ISSUE_COLUMNS: tuple[Column[ImportIssue], ...] = (
    Column("Node", "Name of the node in the ONNX file", lambda row: row.node or "–"),
    Column("Operator", "ONNX operator of the node", lambda row: row.operator or "–"),
    Column("Noticed", "What the import noticed", lambda row: row.problem),
    Column("What to do", "How to mend it", lambda row: row.mend),
)


class OperatorTable(RowTableModel[tuple[str, int]]):
    """Operators, most frequent first."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(_OPERATOR_COLUMNS, parent)

    def set_report(self, report: ImportReport) -> None:
        """Show the operators of a network."""
        self.beginResetModel()
        self._rows = list(report.operators)
        self.endResetModel()


class ImportIssueTable(RowTableModel[ImportIssue]):
    """What the import noticed, in the network's order."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(_ISSUE_COLUMNS, parent)

    def set_report(self, report: ImportReport) -> None:
        """Show the issues of a network."""
        self.beginResetModel()
        self._rows = list(report.issues)
        self.endResetModel()
