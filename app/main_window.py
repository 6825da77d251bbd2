"""The main window: owns the views, puts them into docks, and passes intents on. Decides nothing: see `controller`."""

from __future__ import annotations

from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QResizeEvent
from PySide6.QtWidgets import (
    QFileDialog,
    QMainWindow,
    QMessageBox,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.actions import Actions
from app.desktop import open_path
from app.docks import Docks
from app.icons import icon
from app.models import wording
from app.models.run_request import RunRequest
from app.models.run_state import Activity
from app.models.studio import StudioModels
from app.settings import Settings
from app.theme import Scheme, Theme
from app.tokens import Tokens
from app.translation import tr
from app.views.checkpoints_panel import CheckpointsPanel
from app.views.devices_panel import DevicesPanel
from app.views.failures_panel import FailuresPanel
from app.views.library_panel import LibraryPanel
from app.views.log_panel import LogPanel
from app.views.network_panel import NetworkPanel
from app.views.run_panel import RunPanel
from app.views.schedules_panel import SchedulesPanel
from app.views.start_page import StartPage
from app.views.task_panel import TaskPanel
from app.views.what_if_panel import WhatIfPanel
from app.widgets.banner import Banner
from app.widgets.parts import ElidedLabel

if TYPE_CHECKING:
    from app.views.plots_panel import PlotsPanel


class MainWindow(QMainWindow):
    """Signals: intents, with what they need.

    open_requested (path or None for the sample), sample_requested and start_requested (`RunRequest`), hold_requested,
    stop_requested, export_requested (folder), record_selected (`RecordSummary`), candidate_selected (`Candidate`),
    task_selected (its key, "" for none; whichever panel it was selected in), closing (the window is about to go).
    """

    open_requested = Signal(object)
    sample_requested = Signal(object)
    start_requested = Signal(object)
    hold_requested = Signal()
    stop_requested = Signal()
    export_requested = Signal(str)
    record_selected = Signal(object)
    candidate_selected = Signal(object)
    task_selected = Signal(str)
    closing = Signal()

    def __init__(self, models: StudioModels, settings: Settings, theme: Theme) -> None:
        super().__init__()
        self._models, self._settings, self._theme = models, settings, theme
        self._question: QMessageBox | None = None
        self._may_close = False
        self.setWindowTitle("TCL Studio")
        self.setMinimumSize(900, 600)
        self.setAcceptDrops(True)
        self.actions_ = Actions(self)
        self._make_views()
        self.resize(1280, 800)
        self.addToolBar(self.actions_.make_tool_bar())
        self.docks = Docks(self, self._panels())
        self.actions_.fill_menus(self, self.docks.actions)
        self._connect()
        self._restore_layout()
        self.show_recent()
        self.run_panel.form.set_request(settings.request)
        self.apply_tokens(theme.tokens)
        self._refresh()

    def _make_views(self) -> None:
        models = self._models
        self.banner = Banner()
        self.start_page = StartPage()
        self.task_panel = TaskPanel(models.tasks, models.run)
        self.network_panel = NetworkPanel(models)
        self.run_panel = RunPanel(models.run, models.rounds, models.budget)
        self.failures_panel = FailuresPanel(models.failures)
        self.library_panel = LibraryPanel(models.library, models.run)
        self.log_panel = LogPanel(models.log)
        self.checkpoints_panel = CheckpointsPanel(models)
        self.devices_panel = DevicesPanel(models.devices, models.run)
        self.schedules_panel = SchedulesPanel(models.schedules, models.tasks, models.run)
        self.what_if_panel = WhatIfPanel(models.what_if, models.schedules, models.tasks, models.run)
        self.status = ElidedLabel("muted", end=True)
        self.status.setContentsMargins(4, 0, 0, 0)  # begins where the status bar writes its messages
        self._pages = QStackedWidget()
        self._pages.addWidget(self.start_page)
        central = QWidget()
        layout = QVBoxLayout(central)
        layout.setContentsMargins(8, 8, 8, 4)
        layout.addWidget(self.banner)
        layout.addWidget(self._pages, 1)
        self.setCentralWidget(central)
        # Not as a message, which is gone for good when the hint of an action under the mouse takes its place.
        self.statusBar().addWidget(self.status, 1)

    @cached_property
    def plots_panel(self) -> PlotsPanel:
        """Made when a network is first opened: with pyqtgraph it takes as long as a quarter of the window's start."""
        from app.views.plots_panel import PlotsPanel

        panel = PlotsPanel(self._models)
        panel.apply_tokens(self._theme.tokens)
        self._theme.changed.connect(panel.apply_tokens)
        self._pages.addWidget(panel)
        self._share_selection(panel)
        panel.record_selected.connect(self.record_selected)
        panel.candidate_selected.connect(self.candidate_selected)
        panel.saving_ended.connect(self.banner.announce)
        return panel

    def _share_selection(self, panel: TaskPanel | NetworkPanel | PlotsPanel) -> None:
        """A task that is selected in one panel is selected in all; a panel that has it already says nothing more."""
        panel.task_selected.connect(self.task_selected)
        self.task_selected.connect(panel.select_task)

    def _panels(self) -> dict[str, QWidget]:
        return {
            "run": self.run_panel,
            "tasks": self.task_panel,
            "network": self.network_panel,
            "schedules": self.schedules_panel,
            "what-if": self.what_if_panel,
            "failures": self.failures_panel,
            "library": self.library_panel,
            "checkpoints": self.checkpoints_panel,
            "log": self.log_panel,
            "devices": self.devices_panel,
        }

    def _connect(self) -> None:
        actions, run_panel = self.actions_, self.run_panel
        actions.open.triggered.connect(self.choose_network)
        actions.sample.triggered.connect(self._request_sample)
        actions.export.triggered.connect(self.choose_export_folder)
        actions.quit.triggered.connect(self.close)
        actions.start.triggered.connect(run_panel.request_start)
        actions.hold.triggered.connect(self.hold_requested)
        actions.stop.triggered.connect(self.stop_requested)
        actions.find.triggered.connect(self._find)
        actions.reset_layout.triggered.connect(self.docks.reset)
        actions.toggle_scheme.triggered.connect(self._toggle_scheme)
        actions.schemes.triggered.connect(lambda action: self._choose_scheme(Scheme(action.data())))
        run_panel.start_requested.connect(self._request_start)
        run_panel.hold_requested.connect(self.hold_requested)
        run_panel.stop_requested.connect(self.stop_requested)
        run_panel.form.browse_requested.connect(self.choose_workspace)
        self.start_page.open_requested.connect(self._open_or_choose)
        self.start_page.sample_requested.connect(self._request_sample)
        self.failures_panel.record_opened.connect(self._open_failure)
        self.failures_panel.candidate_opened.connect(self.candidate_selected)
        self._share_selection(self.task_panel)
        self._share_selection(self.network_panel)
        self.library_panel.actions_.export_requested.connect(self.choose_export_folder)
        self.library_panel.actions_.show_folder_requested.connect(self._show_folder)
        self._theme.changed.connect(self.apply_tokens)
        for state in (self._models.run, self._models.library, run_panel.form):
            state.changed.connect(self._refresh)
        self._models.failures.rowsInserted.connect(self._count_failures)
        self._models.failures.modelReset.connect(self._count_failures)

    # What the controller tells the window

    def show_panel(self, name: str) -> None:
        """Bring a panel to the front."""
        self.docks.show(name)

    def show_recent(self) -> None:
        """List the recent networks anew."""
        paths = self._settings.recent
        self.start_page.show_recent(paths)
        menu = self.actions_.recent
        menu.clear()
        for path in paths:
            menu.addAction(path.replace("&", "&&")).triggered.connect(partial(self.open_requested.emit, path))
        menu.addSeparator()
        # Queued: what was clicked is taken out of the menu.
        menu.addAction(tr("&Clear this list")).triggered.connect(self._forget, Qt.ConnectionType.QueuedConnection)
        menu.setEnabled(bool(paths))

    def _forget(self) -> None:
        self._settings.forget_recent()
        self.show_recent()

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self.setWindowIcon(icon("studio", tokens.text))
        self.actions_.apply_tokens(tokens, paused=self._models.run.activity is Activity.PAUSED)
        self.actions_.check_scheme(self._theme.scheme)
        for view in (self.banner, self.start_page, self.task_panel, self.run_panel):
            view.apply_tokens(tokens)
        for panel in (
            self.network_panel,
            self.schedules_panel,
            self.what_if_panel,
            self.failures_panel,
            self.library_panel,
            self.checkpoints_panel,
            self.log_panel,
            self.devices_panel,
        ):
            panel.apply_tokens(tokens)

    # Questions to a person

    def choose_network(self) -> None:
        """Ask for an ONNX file."""
        start = str(Path(self._settings.recent[0]).parent) if self._settings.recent else ""
        path, _ = QFileDialog.getOpenFileName(
            self, tr("Open a network"), start, tr("ONNX networks (*.onnx);;All files (*)")
        )
        if path:
            self.open_requested.emit(path)

    def choose_workspace(self) -> None:
        """Ask for the workspace folder of the next run."""
        folder = QFileDialog.getExistingDirectory(self, tr("Workspace"), self.run_panel.form.request.workspace)
        if folder:
            self.run_panel.form.set_workspace(folder)
            self.run_panel.form.workspace_edited.emit(folder)

    def choose_export_folder(self) -> None:
        """Ask for the folder of the bundle."""
        folder = QFileDialog.getExistingDirectory(self, tr("Export the library to"))
        if folder:
            self.export_requested.emit(folder)

    def _open_or_choose(self, path: str | None) -> None:
        if path is None:
            self.choose_network()
        else:
            self.open_requested.emit(path)

    def _request_sample(self) -> None:
        self.sample_requested.emit(self.run_panel.form.request)

    def _request_start(self, request: RunRequest) -> None:
        """Tool bar and keys leave the focus where it is: in a budget that is being typed, perhaps."""
        self.task_panel.keep_budget()
        self.start_requested.emit(request)

    # Reactions

    def _find(self) -> None:
        """Go to the field that narrows the panel with the focus, else of the first panel in front that has one."""
        fields = {"tasks": self.task_panel.filter, "network": self.network_panel.search}
        name = self.docks.front_of(name for name, field in fields.items() if field.isVisible())
        if name:
            fields[name].setFocus(Qt.FocusReason.ShortcutFocusReason)
            fields[name].selectAll()

    def _refresh(self) -> None:
        run = self._models.run
        states = self.run_panel.action_states()
        actions = self.actions_
        actions.start.setEnabled(states["start"])
        actions.hold.setEnabled(states["hold"])
        actions.stop.setEnabled(states["stop"])
        for action in (actions.open, actions.sample):
            action.setEnabled(states["open"])
        actions.recent.menuAction().setEnabled(states["open"] and actions.recent.isEnabled())
        actions.export.setEnabled(not self._models.library.held)
        paused = run.activity is Activity.PAUSED
        hold = tr("&Resume") if paused else tr("&Pause")
        if actions.hold.text() != hold:
            actions.hold.setText(hold)
            actions.apply_tokens(self._theme.tokens, paused=paused)
        # Made already while the engine reads the network, so that nobody waits for the plots.
        plots = self.plots_panel if run.opened or run.activity is Activity.OPENING else None
        page = plots if plots is not None and run.opened else self.start_page
        if self._pages.currentWidget() is not page:
            self._pages.setCurrentWidget(page)
            self.task_panel.table.setFocus()
        self.start_page.set_enabled(states["open"])
        self.start_page.show_status(wording.phase(run))
        self.status.setText(wording.phase(run))
        self.setWindowTitle(tr("{name} – TCL Studio", name=run.opened.network.name) if run.opened else "TCL Studio")

    def _show_folder(self, folder: str) -> None:
        open_path(folder, self.banner.announce)

    def _open_failure(self, serial: int) -> None:
        self.record_selected.emit(self._models.scores.records.summary(serial))

    def _count_failures(self) -> None:
        total = self._models.failures.total
        self.docks["failures"].setWindowTitle(tr("Failures ({total:,})", total=total) if total else tr("Failures"))

    def _toggle_scheme(self) -> None:
        self._choose_scheme(Scheme.LIGHT if self._theme.tokens.dark else Scheme.DARK)

    def _choose_scheme(self, scheme: Scheme) -> None:
        self._settings.scheme = scheme
        self._theme.choose(scheme)

    def _restore_layout(self) -> None:
        layout = self._settings.layout()
        if layout is not None:
            geometry, state = layout
            self.restoreGeometry(geometry)
            self.docks.restore(state)

    def focusNextPrevChild(self, forward: bool) -> bool:  # noqa: N802  Qt's name
        """Tab also reaches panels behind others: for Qt they are visible."""
        moved = super().focusNextPrevChild(forward)
        self.docks.show_focused(self.focusWidget())
        return moved

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802  Qt's name
        super().resizeEvent(event)
        self.docks.keep_share(event.oldSize(), event.size())

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:  # noqa: N802  Qt's name
        if _dropped_network(event) and not wording.opening_held(self._models.run.activity):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:  # noqa: N802  Qt's name
        if path := _dropped_network(event):
            event.acceptProposedAction()
            self.open_requested.emit(path)

    def close_unasked(self) -> None:
        """Close, even during a run: everything measured is kept."""
        self._may_close = True
        self.close()

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802  Qt's name
        checking = self._models.run.activity is Activity.CHECKING
        if (self._models.run.busy or checking or self._models.training.training) and not self._may_close:
            event.ignore()
            self._ask_to_close()
            return
        self._settings.save_layout(self.saveGeometry(), self.docks.state())
        self._settings.request = self.run_panel.form.request
        event.accept()
        self.hide()
        self.closing.emit()

    @property
    def question(self) -> QMessageBox | None:
        """The question whether to close during a run, while it is on screen."""
        return self._question

    def _ask_to_close(self) -> None:
        if self._question is not None:
            self._question.raise_()
            return
        asked = wording.closing(self._models.run)
        question = QMessageBox(QMessageBox.Icon.Question, asked.title, asked.question, parent=self)
        question.setInformativeText(asked.kept)
        stop = question.addButton(tr("Stop and close"), QMessageBox.ButtonRole.AcceptRole)
        question.setDefaultButton(question.addButton(tr("Keep running"), QMessageBox.ButtonRole.RejectRole))
        question.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        question.finished.connect(lambda: self._answered(stop is question.clickedButton()))
        self._question = question
        question.open()

    def _answered(self, close: bool) -> None:
        self._question = None
        if close:
            self.close_unasked()


def _dropped_network(event: QDropEvent) -> str:
    """Path of the .onnx file in a drop, "" when there is none."""
    paths = [url.toLocalFile() for url in event.mimeData().urls()]
    return next((path for path in paths if path.lower().endswith(".onnx")), "")
