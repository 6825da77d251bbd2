"""The import report: operators of the network, and what the import noticed, by node."""

from __future__ import annotations

from PySide6.QtCore import QSortFilterProxyModel, Qt
from PySide6.QtWidgets import QHBoxLayout, QHeaderView, QStackedWidget, QWidget

from app.models.row_table import SORT_ROLE, RowTableModel
from app.translation import tr
from app.widgets.copy_table import CopyTable
from app.widgets.parts import label
from tcl_core.domain import ImportIssue


class ImportReportView(QWidget):
    """Two tables side by side."""

    def __init__(
        self,
        operators: RowTableModel[tuple[str, int]],
        issues: RowTableModel[ImportIssue],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._issues = issues
        self._sorted = QSortFilterProxyModel(self)
        self._sorted.setSourceModel(operators)
        self._sorted.setSortRole(SORT_ROLE)
        self.operator_table = CopyTable(tr("Operators of the network"))
        self.operator_table.setModel(self._sorted)
        self.operator_table.setSortingEnabled(True)
        self.operator_table.sortByColumn(1, Qt.SortOrder.DescendingOrder)
        self.operator_table.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.operator_table.setFixedWidth(280)
        self.issue_table = CopyTable(tr("What the import noticed"))
        self.issue_table.setModel(issues)
        header = self.issue_table.horizontalHeader()
        self.issue_table.set_widths({0: 190, 1: 120})
        for column in (2, 3):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Stretch)
        nothing = label(tr("The import noticed nothing unusual: every node is compiled."), "muted", wrap=True)
        nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._stack = QStackedWidget()
        self._stack.addWidget(nothing)
        self._stack.addWidget(self.issue_table)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.operator_table)
        layout.addWidget(self._stack, 1)
        issues.modelReset.connect(self._refresh)
        self._refresh()

    def _refresh(self) -> None:
        self._stack.setCurrentIndex(1 if self._issues.rowCount() else 0)
