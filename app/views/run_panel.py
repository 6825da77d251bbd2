"""The run: its form, start, pause and stop, and how it stands."""

from __future__ import annotations

import re

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.icons import icon
from app.models import quantities, wording
from app.models.budget_check import BudgetCheck
from app.models.round_series import RoundSeries
from app.models.run_state import Activity, RunState
from app.tokens import Tokens
from app.translation import tr
from app.views.past_runs import PastRunsButton
from app.views.run_form import RunForm
from app.widgets.parts import label, line

_BREAKS = re.compile(r"[_/\\]")
_LEAST_WIDTH = 290
"""In pixels: below this fields and buttons are cut off, whatever room the plots would like. More for larger text."""


class RunPanel(QWidget):
    """Signals: start_requested with a `RunRequest`; hold_requested, for pause and resume; stop_requested."""

    start_requested = Signal(object)
    hold_requested = Signal()
    stop_requested = Signal()

    def __init__(self, run: RunState, rounds: RoundSeries, budget: BudgetCheck, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._run, self._rounds, self._budget = run, rounds, budget
        self.form = RunForm()
        self.past_runs = PastRunsButton(
            tr("Repeat a run"),
            tr("Start again with the whole configuration of an earlier run of this network"),
            hides=True,
        )
        self._check = label("", "muted", wrap=True)
        self._check.setAccessibleName(tr("Whether the budget suffices"))
        self._start = QPushButton(tr("Start"))
        self._start.setObjectName("primary")
        self._start.setToolTip(tr("Tune the network (F5)"))
        self._start.clicked.connect(self.request_start)
        self._hold = QPushButton()
        self._hold.setObjectName("narrow")
        self._hold.clicked.connect(self.hold_requested)
        self._stop = QPushButton(tr("Stop"))
        self._stop.setObjectName("narrow")
        self._stop.clicked.connect(self.stop_requested)
        self._phase = label("", "section", wrap=True)
        self._heartbeat = label("", "muted")
        self._bar = QProgressBar()
        self._bar.setRange(0, 1000)
        self._bar.setTextVisible(False)
        self._bar.setAccessibleName(tr("Share of the budget that is used"))
        self._eta = label("", "muted")
        self._elapsed = label("", "muted")
        self._figures: dict[str, QLabel] = {}
        self._icons: Tokens | None = None
        self._lay_out()
        self._pulse = QTimer(self)
        self._pulse.setInterval(1000)
        self._pulse.timeout.connect(self._beat)
        run.changed.connect(self.refresh)
        rounds.changed.connect(self._show_correlation)
        budget.changed.connect(self._judge)
        self.form.changed.connect(self._judge)
        self.refresh()

    def _lay_out(self) -> None:
        content = QWidget()
        layout = QVBoxLayout(content)
        layout.setContentsMargins(12, 6, 12, 12)
        layout.setSpacing(10)
        layout.addWidget(self.form)
        layout.addWidget(self._check)
        buttons = QHBoxLayout()
        buttons.setSpacing(6)
        for button in (self._start, self._hold, self._stop):
            buttons.addWidget(button, 1)
        layout.addLayout(buttons)
        layout.addWidget(self.past_runs)
        layout.addWidget(line())
        layout.addWidget(self._phase)
        layout.addWidget(self._bar)
        times = QHBoxLayout()
        times.addWidget(self._elapsed)
        times.addStretch()
        times.addWidget(self._eta)
        layout.addLayout(times)
        layout.addLayout(self._figure_grid())
        layout.addWidget(self._heartbeat)
        layout.addStretch()
        scroll = _Column(content)
        scroll.setAccessibleName(tr("Run"))
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(scroll)

    def _figure_grid(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(2)
        captions = {
            "trials": tr("trials"),
            "failed": tr("failed"),
            "candidates scored": tr("candidates scored"),
            "rank correlation": tr("rank correlation"),
            "network estimate": tr("network estimate"),
            "resumed records": tr("resumed records"),
        }
        for number, (name, caption) in enumerate(captions.items()):
            figure = label("–", "figure")
            figure.setAccessibleName(caption)
            row, column = divmod(number, 2)
            grid.addWidget(figure, 3 * row, column)
            grid.addWidget(label(caption, "muted"), 3 * row + 1, column)
            grid.setRowMinimumHeight(3 * row + 2, 8)
            self._figures[name] = figure
        self._figures["rank correlation"].setToolTip(
            tr("How well the scores ordered the last nine rounds; 1 is perfect")
        )
        return grid

    def request_start(self) -> None:
        """The start intent, with the form as it is; none while something is wrong with it."""
        if self.form.problem:
            return
        self.start_requested.emit(self.form.request)

    def action_states(self) -> dict[str, bool]:
        """Which of start, hold, stop and open make sense now."""
        activity = self._run.activity
        return {
            "start": activity is Activity.READY and not self.form.problem,
            "hold": activity in {Activity.RUNNING, Activity.PAUSED},
            "stop": self._run.busy or activity is Activity.OPENING,
            "open": not wording.opening_held(activity),
        }

    def refresh(self) -> None:
        """Show the run as it stands."""
        run, states = self._run, self.action_states()
        self._start.setEnabled(states["start"])
        self._hold.setEnabled(states["hold"])
        self._stop.setEnabled(states["stop"])
        self._stop.setToolTip(
            tr("Stop opening the network (Shift+F5)")
            if run.activity is Activity.OPENING
            else tr("Stop at the next candidate; everything measured is kept (Shift+F5)")
        )
        paused = run.activity is Activity.PAUSED
        text = tr("Resume") if paused else tr("Pause")
        if self._hold.text() != text:
            self._hold.setText(text)
            self._hold.setToolTip(tr("Go on") if paused else tr("Hold at the next candidate (F6)"))
            self._draw_hold()
        self.form.setEnabled(not run.busy)
        self.past_runs.show_for(run.opened.network.digest if run.opened else "", ready=states["start"])
        self._judge()
        # Names of fused kernels and paths are one word each: without places to break they would widen the panel.
        self._phase.setText(_BREAKS.sub("\\g<0>\u200b", wording.phase(run)))
        self._show_progress()
        waiting = run.activity in {Activity.OPENING, Activity.CHECKING}
        self._bar.setRange(0, 0 if waiting else 1000)
        if run.busy and not self._pulse.isActive():
            self._pulse.start()
        elif not run.busy:
            self._pulse.stop()
        self._beat()

    def _judge(self) -> None:
        """The budget check, in words and never in colour alone. A run that is on has passed it."""
        self._start.setEnabled(self.action_states()["start"])
        if self._run.busy:
            self._check.hide()
            return
        verdict = self._budget.judge(self.form.request)
        role = "muted" if verdict.enough else "warn"
        if self._check.objectName() != role:
            self._check.setObjectName(role)
            self._check.style().polish(self._check)
        self._check.setText(verdict.sentence)
        self._check.setVisible(bool(verdict.sentence))

    def _show_correlation(self) -> None:
        rho = self._rounds.recent_correlation() if self._run.progress else None
        self._figures["rank correlation"].setText("–" if rho is None else f"{rho:z.2f}")

    def _show_progress(self) -> None:
        run, progress = self._run, self._run.progress
        figures = self._figures
        self._show_correlation()
        figures["resumed records"].setText(f"{run.resumed_records:,}" if run.begun else "–")
        if progress is None:
            self._bar.setValue(0)
            for caption in ("trials", "failed", "candidates scored", "network estimate"):
                figures[caption].setText("–")
            self._eta.setText("")
            self._elapsed.setText("")
            return
        self._bar.setValue(round(1000 * progress.fraction))
        figures["trials"].setText(f"{progress.trials:,}")
        figures["failed"].setText(f"{progress.failed:,}")
        figures["candidates scored"].setText(f"{progress.candidates_scored:,}")
        figures["network estimate"].setText(quantities.latency(progress.estimate_s))
        self._elapsed.setText(tr("{elapsed_s} gone", elapsed_s=quantities.clock(progress.elapsed_s)))
        self._eta.setText(wording.time_left(progress) if run.busy else "")

    def _beat(self) -> None:
        if not self._run.busy or self._run.activity is Activity.PAUSED:
            self._heartbeat.setText("")
            return
        age_s = self._run.heartbeat_age_s()
        role = "warn" if age_s >= wording.SILENCE_S else "muted"
        if self._heartbeat.objectName() != role:
            self._heartbeat.setObjectName(role)
            self._heartbeat.style().polish(self._heartbeat)
        self._heartbeat.setText(tr("Engine: {heartbeat}", heartbeat=wording.heartbeat(age_s)))

    def _draw_hold(self) -> None:
        paused = self._run.activity is Activity.PAUSED
        if self._icons is not None:
            self._hold.setIcon(icon("start" if paused else "pause", self._icons.text, self._icons.disabled))

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self.form.apply_tokens(tokens)
        self._start.setIcon(icon("start", tokens.on_accent, tokens.disabled))
        self._icons = tokens
        self._draw_hold()
        self._stop.setIcon(icon("stop", tokens.text, tokens.disabled))


class _Column(QScrollArea):
    """Scrolls up and down, and is never narrower than what it holds: the desktop's text may be large."""

    def __init__(self, content: QWidget) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMinimumWidth(_LEAST_WIDTH)
        self.setWidget(content)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802  Qt's name
        if watched is self.widget() and event.type() == QEvent.Type.LayoutRequest:
            need = watched.minimumSizeHint().width() + self.verticalScrollBar().sizeHint().width()
            self.setMinimumWidth(max(_LEAST_WIDTH, need))
        return super().eventFilter(watched, event)
