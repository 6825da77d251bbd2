"""Two plots side by side: predicted against measured, live; and the network's estimate over the run."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QFrame, QHBoxLayout, QSplitter, QVBoxLayout, QWidget

from app.models.plot_series import EstimateSeries, ScoreSeries
from app.models.task_table import TaskTableModel
from app.tokens import Tokens
from app.widgets.estimate_plot import EstimatePlot
from app.widgets.parts import label
from app.widgets.score_plot import ScorePlot

_LEGEND = "● measured   ▽ cut off   ✕ failed   ★ best"
_HINT = (
    "Each point is a record. For all tasks the score is shown as its rank inside its task, because scores are "
    "comparable only inside one task. Relative speed: the task's best latency / latency."
)


class PlotsPanel(QWidget):
    """Signals: task_selected, with the key of the task chosen for the scatter or "" for all."""

    task_selected = Signal(str)

    def __init__(
        self, scores: ScoreSeries, estimates: EstimateSeries, tasks: TaskTableModel, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._scores, self._estimates, self._tasks = scores, estimates, tasks
        self.score_plot, self.estimate_plot = ScorePlot(), EstimatePlot()
        self._choice = QComboBox()
        self._choice.setAccessibleName("Task shown in the scatter plot")
        self._choice.setToolTip("Show all tasks, or one")
        self._choice.setMinimumContentsLength(12)
        self._choice.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self._choice.currentIndexChanged.connect(self._choose)
        self._horizontal = QComboBox()
        self._horizontal.addItems(["over time", "over trials"])
        self._horizontal.setAccessibleName("What the estimate is plotted over")
        self._horizontal.currentIndexChanged.connect(self._turn)
        self._shown = label("", "muted")
        self._note = label("", "muted")
        legend = label(_LEGEND, "muted")
        legend.setToolTip(_HINT)
        splitter = QSplitter(Qt.Orientation.Horizontal)
        splitter.setChildrenCollapsible(False)
        splitter.addWidget(_card("Predicted against measured", self._choice, self.score_plot, legend, self._shown))
        splitter.addWidget(_card("Network estimate", self._horizontal, self.estimate_plot, self._note))
        splitter.setStretchFactor(0, 1)
        splitter.setStretchFactor(1, 1)
        splitter.setSizes([5000, 5000])
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(splitter)
        scores.changed.connect(self.refresh_scores)
        estimates.changed.connect(self.refresh_estimate)
        tasks.modelReset.connect(self._list_tasks)
        self._list_tasks()
        self.refresh_estimate()

    @property
    def chosen_task(self) -> str:
        """Key of the task in the scatter, "" for all."""
        return str(self._choice.currentData() or "")

    def select_task(self, task_key: str) -> None:
        """Show one task in the scatter, "" for all."""
        self._choice.setCurrentIndex(max(0, self._choice.findData(task_key)))

    def refresh_scores(self) -> None:
        """Draw the scatter anew."""
        points = self._scores.points(self.chosen_task)
        drawn = self.score_plot.show_points(points.x, points.y, points.cut_off)
        self._shown.setText(f"{drawn:,} of {len(points.x):,} shown")
        self._shown.setToolTip(f"{points.unscored:,} further records have no predicted score")

    def refresh_estimate(self) -> None:
        """Draw the estimate anew."""
        series = self._estimates
        over_trials = self._horizontal.currentIndex() == 1
        lines = tuple((reference.name, reference.latency_ms) for reference in series.references)
        self.estimate_plot.show_estimate(series.trials if over_trials else series.elapsed_s, series.estimate_ms, lines)
        self._note.setText(
            "sum of weight x best latency over all tasks"
            if len(series.estimate_ms)
            else "appears once every task has a record"
        )

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self.score_plot.apply_tokens(tokens)
        self.estimate_plot.apply_tokens(tokens)

    def _list_tasks(self) -> None:
        self._choice.blockSignals(True)
        self._choice.clear()
        self._choice.addItem("All tasks", "")
        for state in self._tasks.states:
            self._choice.addItem(state.task.name, state.task.key)
        self._choice.blockSignals(False)
        self._choose()

    def _choose(self) -> None:
        chosen = self.chosen_task
        self.score_plot.set_label("predicted score" if chosen else "rank of the predicted score inside its task")
        self.refresh_scores()
        self.task_selected.emit(chosen)

    def _turn(self) -> None:
        self.estimate_plot.set_horizontal(trials=self._horizontal.currentIndex() == 1)
        self.refresh_estimate()


def _card(title: str, choice: QComboBox, plot: QWidget, *footer: QWidget) -> QFrame:
    card = QFrame()
    card.setObjectName("card")
    top = QHBoxLayout()
    top.addWidget(label(title, "section"))
    top.addStretch()
    top.addWidget(choice)
    bottom = QHBoxLayout()
    for number, part in enumerate(footer):
        if number:
            bottom.addStretch()
        bottom.addWidget(part)
    layout = QVBoxLayout(card)
    layout.setContentsMargins(12, 8, 12, 8)
    layout.setSpacing(6)
    layout.addLayout(top)
    layout.addWidget(plot, 1)
    layout.addLayout(bottom)
    return card
