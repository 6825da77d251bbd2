"""Connects the library panel and the library controller; asks a person for files, and copies runners."""

from __future__ import annotations

import time
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication

from app.controller import Controller
from app.desktop import open_path
from app.library_controller import LibraryController
from app.main_window import MainWindow
from app.models.announcement import Announcement, Mood
from app.models.studio import StudioModels
from app.translation import tr
from app.views.save_question import ask_where_to_save
from tcl_core.checkpoint_events import PastRun


class LibraryWiring(QObject):
    """Lives as long as the window."""

    def __init__(
        self, window: MainWindow, models: StudioModels, controller: Controller, library: LibraryController
    ) -> None:
        super().__init__(window)
        self._window, self._models, self._library = window, models, library
        actions = window.library_panel.actions_
        actions.verify_requested.connect(library.verify)
        actions.time_requested.connect(library.time)
        actions.stop_requested.connect(library.stop)
        actions.tolerance_chosen.connect(library.choose_tolerance)
        actions.report_button.chosen.connect(self.choose_report)
        actions.copy_requested.connect(self.copy_runner)
        window.export_requested.connect(library.export)
        window.banner.acted.connect(library.take_way_on)
        library.announced.connect(window.banner.announce)
        library.report_wanted.connect(self._open_report)
        controller.workspace_chosen.connect(library.set_workspace)
        models.checkpoints.modelReset.connect(self._listed)

    def choose_report(self, past: PastRun) -> None:
        """Ask for the file of a run's report."""
        day = time.strftime("%Y-%m-%d", time.localtime(past.started_at))
        proposal = (
            Path(past.config.workspace)
            / "exports"
            / tr("{network}-run-{id}-{day}.html", network=past.network, id=past.id, day=day)
        )
        question, kinds = tr("Write the report"), tr("HTML pages (*.html)")
        # The engine refuses to write over anything but a report.
        path = ask_where_to_save(self._window, question, proposal, kinds, ".html", guarded=True)
        if path is not None:
            self._library.write_report(past, str(path))

    def copy_runner(self, name: str) -> None:
        """Put a runner of the exported bundle on the clipboard."""
        path = Path(self._models.library.bundle) / name
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            sentence = tr("{path} cannot be read ({reason}); export the library again.", path=path, reason=reason)
            self._window.banner.announce(Announcement(mood=Mood.BAD, sentence=sentence))
            return
        QGuiApplication.clipboard().setText(text)
        sentence = tr(
            "Copied {name}, {count:,} lines; it loads the library beside it, in {parent}.",
            name=name,
            count=text.count(chr(10)),
            parent=path.parent,
        )
        self._window.banner.announce(Announcement(mood=Mood.GOOD, sentence=sentence))

    def _open_report(self, path: str) -> None:
        open_path(path, self._window.banner.announce)

    def _listed(self) -> None:
        listing = self._models.checkpoints.listing
        self._window.library_panel.actions_.report_button.set_runs(listing.runs if listing else ())
