"""What can be done with the library: check it to a tolerance, time it, export it, report the run, copy a runner."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QGridLayout, QMenu, QPushButton, QVBoxLayout, QWidget

from app.icons import icon
from app.models.library_state import LibraryState
from app.models.run_state import RunState
from app.text_scale import text_scale
from app.tokens import Tokens
from app.translation import later, tr
from app.views.past_runs import PastRunsButton
from app.widgets.parts import label
from app.widgets.tolerance_fields import ToleranceFields

RUNNERS = ((later("Python: run.py"), "run.py"), (later("C++: run.cpp"), "run.cpp"))
"""Files of a bundle that run its library, by how they are offered."""
_WIDTH = 292
_NO_TOLERANCE = later("A tolerance is a number from 0, such as 1e-3.")
_NOT_EXPORTED = later("Export the library first: a runner runs the bundle it lies in.")


class LibraryActions(QFrame):
    """Signals: intents, with what they need.

    verify_requested, time_requested, stop_requested, export_requested, tolerance_chosen (rtol and atol),
    show_folder_requested (the bundle's folder), copy_requested (a runner's file name).
    """

    verify_requested = Signal()
    time_requested = Signal()
    stop_requested = Signal()
    export_requested = Signal()
    tolerance_chosen = Signal(float, float)
    show_folder_requested = Signal(str)
    copy_requested = Signal(str)

    def __init__(self, library: LibraryState, run: RunState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self._library, self._run = library, run
        self.tolerance = ToleranceFields()
        self.tolerance.set_tolerance(library.config.rtol, library.config.atol)
        self.tolerance.changed.connect(self._choose_tolerance)
        self.verify_button = _button(tr("Verify"), tr("Build the library and check its results against onnxruntime's"))
        self.verify_button.clicked.connect(self.verify_requested)
        self.time_button = _button(
            tr("Compare times"), tr("Check it, and time it in turns with onnxruntime and untuned TVM: takes longer")
        )
        self.time_button.clicked.connect(self.time_requested)
        self.stop_button = _button(
            tr("Stop"), tr("Stop what is being done; nothing is written. A second time: at once.")
        )
        self.stop_button.clicked.connect(self.stop_requested)
        self.export_button = _button(tr("Export…"), tr("Build the bundle (library, manifest, runners) into a folder"))
        self.export_button.clicked.connect(self.export_requested)
        self.folder_button = _button(tr("Show folder"), tr("Open the folder of the exported bundle"))
        self.folder_button.clicked.connect(self._show_folder)
        self.report_button = PastRunsButton(
            tr("HTML report"), tr("Write the report of a run: one file for any browser")
        )
        self.report_button.setObjectName("narrow")
        self.copy_button = _button(
            tr("Copy runner"), tr("Copy the program that loads the exported library and runs it")
        )
        self._menu = QMenu(self)
        for text, name in RUNNERS:
            self._menu.addAction(tr(text)).triggered.connect(
                lambda _=False, chosen=name: self.copy_requested.emit(chosen)
            )
        self.copy_button.setMenu(self._menu)
        self._why = label("", "muted", wrap=True)
        self._why.setAccessibleName(tr("Why something cannot be done now"))
        self._lay_out()
        for signal in (library.changed, run.changed):
            signal.connect(self.refresh)
        self.refresh()

    def _lay_out(self) -> None:
        grid = QGridLayout()
        grid.setSpacing(6)
        grid.addWidget(label(tr("Tolerance"), "section"), 0, 0, 1, 2)
        grid.addWidget(self.tolerance, 1, 0, 1, 2)
        rows = (
            (self.verify_button, self.time_button),
            (self.export_button, self.folder_button),
            (self.report_button, self.copy_button),
        )
        for row, pair in enumerate(rows, start=2):
            for column, button in enumerate(pair):
                grid.addWidget(button, row, column)
        grid.addWidget(self.stop_button, len(rows) + 2, 0, 1, 2)
        grid.setColumnStretch(0, 1)
        grid.setColumnStretch(1, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 8, 12, 10)
        layout.addLayout(grid)
        layout.addWidget(self._why)
        layout.addStretch()
        self.setFixedWidth(round(_WIDTH * text_scale(self.font())))

    def refresh(self) -> None:
        """Enable what can be done now, and say why the rest cannot."""
        library, held = self._library, self._library.held
        readable = self.tolerance.tolerance is not None
        if readable:  # what a person is still writing is left alone
            self.tolerance.set_tolerance(library.config.rtol, library.config.atol)
        for button in (self.verify_button, self.time_button, self.export_button):
            button.setEnabled(not held and readable)
        self.tolerance.setEnabled(not library.doing)
        self.folder_button.setEnabled(bool(library.bundle))
        self.copy_button.setEnabled(bool(library.bundle))
        opened = self._run.opened
        self.report_button.show_for(opened.network.digest if opened else "", ready=not held)
        self.stop_button.setVisible(bool(library.doing))
        self.stop_button.setText(tr("Stop at once") if library.stopping else tr("Stop"))
        self._why.setText(held or self._next_to_do(readable))
        self._why.setVisible(bool(self._why.text()))

    def _next_to_do(self, readable: bool) -> str:
        if not readable:
            return tr(_NO_TOLERANCE)
        return "" if self._library.bundle else tr(_NOT_EXPORTED)

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        named = {
            "check": self.verify_button,
            "times": self.time_button,
            "export": self.export_button,
            "folder": self.folder_button,
            "save": self.report_button,
            "copy": self.copy_button,
            "stop": self.stop_button,
        }
        for name, button in named.items():
            button.setIcon(icon(name, tokens.text, tokens.disabled))

    def _choose_tolerance(self) -> None:
        chosen = self.tolerance.tolerance
        if chosen is None:
            self.refresh()
        else:
            self.tolerance_chosen.emit(*chosen)

    def _show_folder(self) -> None:
        self.show_folder_requested.emit(self._library.bundle)


def _button(text: str, hint: str) -> QPushButton:
    made = QPushButton(text)
    made.setObjectName("narrow")
    made.setToolTip(hint)
    return made
