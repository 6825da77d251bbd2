"""The tuned library: how fast against whom, whether it is right, where it lies, and export."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QHeaderView, QLabel, QPushButton, QStackedWidget, QVBoxLayout, QWidget

from app.icons import icon
from app.models import library_table
from app.models.library_table import LibraryTableModel
from app.models.run_state import Activity, RunState
from app.tokens import LIGHT, Tokens
from app.widgets.copy_table import CopyTable
from app.widgets.parts import EmptyState, label


class LibraryPanel(QWidget):
    """Signals: export_requested; show_folder_requested, with the bundle's folder."""

    export_requested = Signal()
    show_folder_requested = Signal(str)

    def __init__(self, library: LibraryTableModel, run: RunState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._library, self._run = library, run
        self._tokens = LIGHT
        self._headline = label("", "headline", wrap=True)
        self._mark = QLabel()
        self._verdict = label("", wrap=True)
        self._coverage = label("", "muted", wrap=True)
        self._path = label("", "muted")
        self._path.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._path.setMinimumWidth(60)
        self.export_button = QPushButton("Export…")
        self.export_button.setToolTip("Build the bundle (library, manifest, runners) into a folder of your choice")
        self.export_button.clicked.connect(self.export_requested)
        self._folder_button = QPushButton("Show folder")
        self._folder_button.clicked.connect(self._show_folder)
        self.table = CopyTable("Untuned, tuned and onnxruntime side by side")
        self.table.setModel(library)
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self._empty = EmptyState(
            "export", "No library yet", "At the end of a run the network is built, checked and timed here."
        )
        self._stack = QStackedWidget()
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self._content())
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 6, 8, 8)
        layout.addWidget(self._stack)
        library.modelReset.connect(self._refresh)
        run.changed.connect(self._enable)
        self._refresh()

    def _content(self) -> QWidget:
        content = QWidget()
        top = QHBoxLayout()
        top.addWidget(self._headline, 1)
        top.addWidget(self._folder_button)
        top.addWidget(self.export_button)
        check = QHBoxLayout()
        check.addWidget(self._mark)
        check.addWidget(self._verdict, 1)
        layout = QVBoxLayout(content)
        layout.setContentsMargins(4, 2, 4, 0)
        layout.setSpacing(6)
        layout.addLayout(top)
        layout.addLayout(check)
        layout.addWidget(self.table, 1)
        layout.addWidget(self._coverage)
        layout.addWidget(self._path)
        return content

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self._tokens = tokens
        self._empty.apply_tokens(tokens)
        self.export_button.setIcon(icon("export", tokens.text, tokens.disabled))
        self._folder_button.setIcon(icon("folder", tokens.text, tokens.disabled))
        self._refresh()

    def _refresh(self) -> None:
        report = self._library.report
        self._stack.setCurrentIndex(1 if report else 0)
        if report is None:
            return
        self._headline.setText(library_table.headline(report))
        self._verdict.setText(library_table.verdict(report))
        name, colour = ("check", self._tokens.good) if report.matches else ("warning", self._tokens.warn)
        self._mark.setPixmap(icon(name, colour).pixmap(QSize(16, 16)))
        self._coverage.setText(library_table.coverage(report))
        self._path.setText(report.path or "Not exported: no folder was written.")
        self._path.setToolTip(report.path or "")
        self._enable()

    def _enable(self) -> None:
        report = self._library.report
        self.export_button.setEnabled(report is not None and self._run.activity is Activity.READY)
        self._folder_button.setEnabled(bool(report and report.path))

    def _show_folder(self) -> None:
        report = self._library.report
        if report and report.path:
            self.show_folder_requested.emit(report.path)
