"""All models of one window, in one place to hand around."""

from __future__ import annotations

from PySide6.QtCore import QObject

from app.models.budget_check import BudgetCheck
from app.models.checkpoint_table import CheckpointTableModel
from app.models.device_table import DeviceTableModel
from app.models.evaluation import EvaluationState
from app.models.failure_tree import FailureTreeModel
from app.models.import_report import ISSUE_COLUMNS, OPERATOR_COLUMNS
from app.models.library_state import LibraryState
from app.models.log_table import LogTableModel
from app.models.network_graph import NetworkGraphModel
from app.models.open_schedules import OpenSchedules
from app.models.plot_series import EstimateSeries, ScoreSeries
from app.models.pool_maps import PoolMaps
from app.models.round_series import RoundSeries
from app.models.row_table import RowTableModel
from app.models.run_state import RunState
from app.models.stage_times import StageTimes
from app.models.task_table import TaskTableModel
from app.models.training_state import TrainingState
from app.models.what_if import WhatIf
from tcl_core.events import NetworkOpened
from tcl_core.libraries import LibraryReport


class StudioModels(QObject):
    """Owns the models; they live as long as it does."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.run = RunState(self)
        self.tasks = TaskTableModel(self)
        self.graph = NetworkGraphModel(self.tasks, self)
        self.operators = RowTableModel(OPERATOR_COLUMNS, self)
        self.import_issues = RowTableModel(ISSUE_COLUMNS, self)
        self.failures = FailureTreeModel(self)
        self.scores = ScoreSeries(self)
        self.estimates = EstimateSeries(self)
        self.rounds = RoundSeries(self)
        self.pool_maps = PoolMaps(self)
        self.stage_times = StageTimes(self)
        self.library = LibraryState(self.run, self.tasks, self)
        self.log = LogTableModel(self)
        self.checkpoints = CheckpointTableModel(self)
        self.devices = DeviceTableModel(self)
        self.training = TrainingState(self)
        self.evaluation = EvaluationState(self)
        self.schedules = OpenSchedules(self)
        self.what_if = WhatIf(self)
        self.budget = BudgetCheck(self.run, self.tasks, self.checkpoints, self)

    def show_library(self, report: LibraryReport) -> None:
        """In its panel, and as lines in the plot of the estimate."""
        self.library.take(report)
        self.estimates.set_library(report)

    def show_import(self, event: NetworkOpened) -> None:
        """Graph and report of a network; the graph takes its names from the tasks on screen."""
        self.graph.set_graph(event.graph)
        self.operators.set_rows(event.report.operators)
        self.import_issues.set_rows(event.report.issues)

    def forget_results(self) -> None:
        """Forget what was measured and built."""
        self.scores.clear()
        self.rounds.clear()
        self.pool_maps.clear()
        self.estimates.clear()
        self.failures.clear_all()
        self.library.take(None)

    def forget_run(self) -> None:
        """Another network or workspace: forget the last run altogether, and what it measured and built.

        Not for a run that begins: its first stages are timed before it says that it has started.
        """
        self.run.forget_run()
        self.stage_times.clear()
        self.forget_results()

    def flush(self) -> None:
        """Announce what a batch of events changed."""
        self.tasks.flush()
        self.scores.flush()
        self.estimates.flush()
        self.rounds.flush()
        self.pool_maps.flush()
        self.stage_times.flush()
        self.run.announce()
