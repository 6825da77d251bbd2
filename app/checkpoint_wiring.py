"""Connects the checkpoints panel, the run form and the checkpoint controller; asks a person for files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog

from app.checkpoint_controller import CheckpointController
from app.controller import Controller
from app.main_window import MainWindow
from app.models.announcement import WayOn, proposal
from app.models.checkpoint_table import start_model
from app.models.network_terms import AS_IN_FILE
from app.models.run_request import request_of
from app.models.studio import StudioModels
from app.translation import later, tr
from app.views.save_question import ask_where_to_save
from tcl_core.checkpoint_events import CheckpointFacts, PastRun
from tcl_core.config import NetworkConfig
from tcl_core.events import Refused

_FILES = later("Checkpoints (*.safetensors);;All files (*)")
_ENDING = ".safetensors"


class CheckpointWiring(QObject):
    """Lives as long as the window."""

    def __init__(
        self, window: MainWindow, models: StudioModels, controller: Controller, checkpoints: CheckpointController
    ) -> None:
        super().__init__(window)
        self._window, self._models = window, models
        self._controller, self._checkpoints = controller, checkpoints
        panel, form = window.checkpoints_panel, window.run_panel.form
        panel.import_requested.connect(self.choose_import)
        panel.export_requested.connect(self.choose_export)
        panel.remove_requested.connect(checkpoints.remove_checkpoint)
        panel.start_chosen.connect(self.start_from)
        panel.default_requested.connect(checkpoints.set_default)
        panel.train_requested.connect(checkpoints.train)
        panel.evaluate_requested.connect(checkpoints.evaluate)
        panel.stop_requested.connect(checkpoints.stop)
        panel.saving_ended.connect(window.banner.announce)
        checkpoints.made.connect(self._note_made)
        checkpoints.removed.connect(self._forget)
        checkpoints.announced.connect(window.banner.announce)
        checkpoints.terms_told.connect(self._take_terms)
        checkpoints.refused.connect(self._take_refusal)
        models.checkpoints.modelReset.connect(self._listed)
        controller.workspace_chosen.connect(checkpoints.set_workspace)
        form.checkpoint_wanted.connect(self.choose_checkpoint)
        form.reopen_requested.connect(self.reopen)
        window.run_panel.past_runs.chosen.connect(self.repeat)
        window.banner.acted.connect(self._take_way_on)
        self._made = self._unchosen = ""
        self._as_in_file: str | None = None  # a network that is opened while the form is about the one before

    def open_network(self, path: str | None) -> None:
        """Open a network as the form says; what it says of a network belongs to the one it was written for."""
        request = self._window.run_panel.form.request
        again = path is not None and path == self._controller.asked_path
        terms = request.terms if again else AS_IN_FILE
        self._as_in_file = None if again else path
        self._controller.open_network(path, request.target, request.threads, terms)

    def reopen(self) -> None:
        """Open the network that was asked for last once more, as the form says now."""
        if self._controller.asked_path is not None:
            self.open_network(self._controller.asked_path)

    def start_from(self, facts: CheckpointFacts) -> None:
        """The next run starts from a checkpoint."""
        self._window.run_panel.form.choose_checkpoint(facts.path, start_model(facts))
        self._window.show_panel("run")

    def repeat(self, past: PastRun) -> None:
        """Show an earlier run's configuration and start it."""
        listing = self._models.checkpoints.listing
        # The folder may have moved since.
        config = replace(past.config, workspace=(listing.workspace if listing else None) or past.config.workspace)
        self._window.run_panel.form.set_request(request_of(config))
        self._controller.repeat_run(config)

    def _take_terms(self, terms: NetworkConfig) -> None:
        """The network is open, and the form says how."""
        self._as_in_file = None
        self._window.run_panel.form.set_terms(terms)

    def _take_refusal(self, refusal: Refused) -> None:
        """What the form says is of the network that was asked for last from now on, and not of the one before."""
        form = self._window.run_panel.form
        if self._as_in_file is not None and self._as_in_file == self._controller.asked_path:
            form.set_terms(AS_IN_FILE)
        self._as_in_file = None
        if refusal.proposes:
            form.propose(refusal)

    # Questions to a person

    def choose_checkpoint(self) -> None:
        """Ask for the file that the next run starts from."""
        path, _ = QFileDialog.getOpenFileName(self._window, tr("Start from a checkpoint"), self._folder(), tr(_FILES))
        if path:
            self._window.run_panel.form.choose_checkpoint(path)

    def choose_import(self) -> None:
        """Ask for a file to import."""
        path, _ = QFileDialog.getOpenFileName(self._window, tr("Import a checkpoint"), "", tr(_FILES))
        if path:
            self._checkpoints.import_checkpoint(path)

    def choose_export(self, facts: CheckpointFacts) -> None:
        """Ask for a new file to export to."""
        proposal = Path.home() / f"{facts.name}{_ENDING}"
        question = tr("Export the checkpoint")
        path = ask_where_to_save(self._window, question, proposal, tr(_FILES), _ENDING, guarded=True)
        if path is not None:
            self._checkpoints.export_checkpoint(facts, str(path))

    def _folder(self) -> str:
        workspace = self._window.run_panel.form.request.workspace
        return str(Path(workspace) / "checkpoints") if workspace else ""

    def _take_way_on(self, way: WayOn) -> None:
        if way is WayOn.RESTORE_CHECKPOINT:
            self._checkpoints.restore()
        elif way is WayOn.OPEN_AS_PROPOSED:
            self._open_as_proposed()

    def _open_as_proposed(self) -> None:
        """Unless the form was made wrong meanwhile: then the offer stays."""
        problem = self._window.run_panel.form.problem
        if problem:
            self._window.banner.announce(proposal(problem))
        else:
            self.reopen()

    def _note_made(self, path: str) -> None:
        self._made = path
        if path == self._unchosen:
            self._unchosen = ""
            form = self._window.run_panel.form
            if form.request.checkpoint is None:  # nothing was chosen in its place meanwhile
                form.choose_checkpoint(path)

    def _forget(self, path: str) -> None:
        """No run starts from a file that is gone, until it is restored."""
        form = self._window.run_panel.form
        if form.request.checkpoint == path:
            form.choose_checkpoint(None)
            self._unchosen = path

    def _listed(self) -> None:
        """Forms offer what the workspace has now; what was just made is selected."""
        listing = self._models.checkpoints.listing
        form, panel = self._window.run_panel.form, self._window.checkpoints_panel
        form.checkpoint.set_listed(listing.checkpoints if listing else ())
        self._window.run_panel.past_runs.set_runs(listing.runs if listing else ())
        if self._made and self._models.checkpoints.row_of(self._made) >= 0:
            panel.select(self._made)
            self._made = ""
