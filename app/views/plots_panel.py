"""Live plots in two cards: how well the cost model predicts, and how the network gets faster and what that takes."""

from __future__ import annotations

import math
from enum import IntEnum

import numpy as np
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QSplitter, QVBoxLayout, QWidget

from app.models import best_line, plot_tables, plot_wording
from app.models.roofline import roofline
from app.models.studio import StudioModels
from app.tokens import Tokens
from app.translation import later, tr
from app.views import pool_map_page
from app.views.plot_saving import PlotSaving
from app.views.pool_map_page import PoolMapPage
from app.widgets.estimate_plot import EstimatePlot
from app.widgets.parts import ElidedBox, ElidedLabel
from app.widgets.plot_card import PlotCard, Saving
from app.widgets.roofline_plot import RooflinePlot
from app.widgets.round_plot import RoundPlot
from app.widgets.score_plot import ScorePlot
from app.widgets.stage_plot import StagePlot

_LEGEND = later("● measured   ▽ cut off   ✕ failed   ★ best   ─ median")
_HINT = later(
    "Each point is a record: where its score stood among those of its round, which one "
    "state of the model gave, and how fast it then was, its task's best latency / latency. "
    "The line is the median of each fifth: it rises where the model knows which are faster."
)
_ROUND_HINT = later(
    "How well the scores ordered what a round then measured: Spearman's rank correlation "
    "of score and speed, and the share of pairs ordered rightly. Lines: mean of the last "
    "nine rounds, by their records. Dashed: what guessing gives."
)
_ROOF_HINT = later(
    "How fast each task runs, against what this platform's measured arithmetic peak and "
    "memory bandwidth allow. Bytes are those of a task's arguments, each moved once; "
    "data that stays in a cache lifts a task above the slope."
)

_LEAST_TASK, _LEAST_AXIS = 84, 100
"""Widths of the choices in a window as small as can be: they leave room for the names of the plots."""


class Left(IntEnum):
    """Pages of the left card."""

    SCORES = 0
    ROUNDS = 1
    POOL = 2


class Right(IntEnum):
    """Pages of the right card."""

    BEST = 0
    STAGES = 1
    ROOFLINE = 2


class PlotsPanel(QWidget):
    """Signals.

    task_selected: key of the task chosen for the plots, or "" for all.
    record_selected: the `RecordSummary` of a point that was clicked.
    candidate_selected: the recorded `Candidate` of a point of the pool's map that was clicked.
    saving_ended: an `Announcement` of how saving a plot went.
    """

    task_selected = Signal(str)
    record_selected = Signal(object)
    candidate_selected = Signal(object)
    saving_ended = Signal(object)

    def __init__(self, models: StudioModels, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._scores, self._estimates, self._tasks = models.scores, models.estimates, models.tasks
        self._rounds, self._times, self._run = models.rounds, models.stage_times, models.run
        self._roofline = roofline([], None)
        self._serials = np.empty(0, dtype=np.intp)
        self._best = best_line.EMPTY
        self._selected = -1
        self.score_plot, self.estimate_plot = ScorePlot(self._describe_record), EstimatePlot(self._describe_best)
        self.round_plot, self.stage_plot = RoundPlot(self._describe_round), StagePlot()
        self.roofline_plot = RooflinePlot(self._describe_roof)
        self.pool_map = PoolMapPage(models, self)
        self._saving = PlotSaving(self)
        self._make_choices()
        self._make_cards()
        splitter = QSplitter(Qt.Orientation.Horizontal)
        splitter.setChildrenCollapsible(False)
        for card in (self.left, self.right):
            splitter.addWidget(card)
        splitter.setSizes([5000, 5000])
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(splitter)
        self._connect()
        self._list_tasks()
        self.right.redraw(Right.STAGES)
        self.right.redraw(Right.ROOFLINE)

    def _make_choices(self) -> None:
        self._choice = ElidedBox()
        self._choice.setAccessibleName(tr("Task shown in the plots"))
        self._choice.setToolTip(tr("Show all tasks, or one"))
        self._choice.setMinimumContentsLength(12)
        self._choice.setMinimumWidth(_LEAST_TASK)
        self._choice.setSizeAdjustPolicy(ElidedBox.SizeAdjustPolicy.AdjustToContents)
        self._horizontal = ElidedBox()
        self._horizontal.addItems([tr("over time"), tr("over trials")])
        self._horizontal.setMinimumWidth(_LEAST_AXIS)
        self._horizontal.setAccessibleName(tr("What the best latency is plotted over"))

    def _make_cards(self) -> None:
        self._shown, self._best_note, self._stage_note, self._roof_note = (_note() for _ in range(4))
        legend, round_legend = _note(tr(_LEGEND)), _note(tr("● rank correlation   ■ pairwise accuracy"))
        legend.setToolTip(tr(_HINT))
        round_legend.setToolTip(tr(_ROUND_HINT))
        self.left = PlotCard(tr("Plots of the cost model"), self._choice)
        self.left.add_page(
            tr("Prediction"),
            tr("Predicted against measured. {hint}", hint=tr(_HINT)),
            self.score_plot,
            legend,
            self._shown,
            draw=self._draw_scores,
        )
        self.left.add_page(tr("Rounds"), tr(_ROUND_HINT), self.round_plot, round_legend, draw=self._draw_rounds)
        self.left.add_page(
            tr("Pool"), tr(pool_map_page.HINT), self.pool_map.view, self.pool_map.legend, self.pool_map.note
        )
        self.right = PlotCard(tr("Plots of the run"), self._horizontal)
        self.right.add_page(
            tr("Best"),
            tr("The network's estimate, or the best of one task"),
            self.estimate_plot,
            self._best_note,
            draw=self._draw_best,
        )
        self.right.add_page(
            tr("Stages"),
            tr("Where the time of the run goes"),
            self.stage_plot,
            self._stage_note,
            draw=self._draw_stages,
        )
        roof_legend = _note(tr("○ after the first round   ● best"))
        self.right.add_page(
            tr("Roofline"),
            tr(_ROOF_HINT),
            self.roofline_plot,
            roof_legend,
            self._roof_note,
            draw=self._draw_roofline,
        )

    def _connect(self) -> None:
        self._choice.currentIndexChanged.connect(self._choose)
        self._horizontal.currentIndexChanged.connect(self._turn)
        self.right.turned.connect(lambda page: self._horizontal.setVisible(page == Right.BEST))
        self.left.save_requested.connect(self._save_left)
        self.right.save_requested.connect(self._save_right)
        self._saving.ended.connect(self.saving_ended)
        self.score_plot.picker.picked.connect(self._pick)
        self.pool_map.candidate_selected.connect(self.candidate_selected)
        # Methods, which Qt forgets with the panel; a partial or a lambda would be called as long as the models live.
        self._scores.changed.connect(self._redraw_scores)
        self._estimates.changed.connect(self._redraw_best)
        self._rounds.changed.connect(self._redraw_rounds)
        self._times.changed.connect(self._redraw_stages)
        self._tasks.modelReset.connect(self._list_tasks)
        for changed in (self._tasks.modelReset, self._tasks.dataChanged):
            changed.connect(self._redraw_roofline)
        self._tasks.dataChanged.connect(self._refresh_hints)
        self.roofline_plot.picker.picked.connect(lambda number: self.select_task(self._roofline.keys[number]))

    @property
    def chosen_task(self) -> str:
        """Key of the task in the plots, "" for all."""
        return str(self._choice.currentData() or "")

    def select_task(self, task_key: str) -> None:
        """Show one task in the plots, "" for all."""
        self._choice.setCurrentIndex(max(0, self._choice.findData(task_key)))

    def _draw_scores(self) -> None:
        points = self._scores.points(self.chosen_task)
        if self._selected >= len(self._scores.records):
            self._selected = -1  # its run is forgotten
            self.score_plot.picker.forget()
        self._serials = points.serials
        drawn = self.score_plot.show_points(points.x, points.y, points.cut_off, points.trend)
        self._mark_selected()
        total = len(points.x)
        states, chosen = self._tasks.states, self.chosen_task
        empty = plot_wording.empty_scatter(states, chosen, points.unscored, begun=self._run.begun)
        self.score_plot.plot.show_hint("" if total else empty)
        self._shown.setText(tr("{drawn:,} of {total:,} shown", drawn=drawn, total=total) if total else "")
        self._shown.setToolTip(plot_wording.scatter_note(total, points.unscored, all_drawn=drawn == total))

    def _draw_best(self) -> None:
        chosen = self.chosen_task
        line = best_line.of_task(self._scores.records, chosen) if chosen else best_line.of_network(self._estimates)
        self._best = line
        x = line.trials if self._horizontal.currentIndex() == 1 else line.elapsed_s
        references = tuple((reference.name, reference.latency_ms) for reference in line.references)
        self.estimate_plot.show_estimate(x, line.best_ms, references)
        self.estimate_plot.plot.show_hint(
            "" if len(x) or references else plot_wording.empty_best(self._tasks.states, chosen)
        )
        self._best_note.setText(plot_wording.best_note(self._tasks.states, chosen, shown=len(x) > 0))

    def _draw_rounds(self) -> None:
        points = self._rounds.points(self.chosen_task)
        self.round_plot.show_rounds(
            np.array([point.number for point in points], dtype=float),
            np.array([point.scored for point in points], dtype=float),
            np.array([point.rank_correlation for point in points], dtype=float),
            np.array([point.pairwise_accuracy for point in points], dtype=float),
        )
        known = any(not math.isnan(point.pairwise_accuracy) for point in points)
        self.round_plot.plot.show_hint(
            "" if known else tr("Appears with the first round that was scored and measured.")
        )

    def _draw_stages(self) -> None:
        seconds = self._times.seconds
        self.stage_plot.show_seconds([(stage.value, value) for stage, value in seconds])
        self.stage_plot.plot.show_hint("" if seconds else tr("Start a run: its time by stage appears here."))
        exact = tr("as the run measured it") if self._times.exact else tr("so far, by what the run was doing")
        self._stage_note.setText(exact if seconds else "")

    def _draw_roofline(self) -> None:
        opened = self._run.opened
        self._roofline = shown = roofline(self._tasks.states, opened.platform.features if opened else None)
        self.roofline_plot.show_roofline(shown)
        self.roofline_plot.plot.show_hint(
            "" if shown.keys or shown.roof else tr("Appears with the first task's record.")
        )
        self._roof_note.setText(plot_wording.roof_note(shown.left_out))

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        plots = (self.score_plot, self.round_plot, self.estimate_plot, self.stage_plot, self.roofline_plot)
        for part in (*plots, self.pool_map.view, self.left, self.right):
            part.apply_tokens(tokens)

    def _redraw_scores(self) -> None:
        self.left.redraw(Left.SCORES)
        self._refresh_task_best()

    def _redraw_best(self) -> None:
        self.right.redraw(Right.BEST)

    def _redraw_rounds(self) -> None:
        self.left.redraw(Left.ROUNDS)

    def _redraw_stages(self) -> None:
        self.right.redraw(Right.STAGES)

    def _redraw_roofline(self) -> None:
        self.right.redraw(Right.ROOFLINE)

    def _refresh_task_best(self) -> None:
        """Records change the line of one task, and while there is no line, what is missing for it."""
        if self.chosen_task or not len(self._best.elapsed_s):
            self.right.redraw(Right.BEST)

    def _refresh_hints(self) -> None:
        """What an empty plot says depends on what earlier sessions measured."""
        if not len(self._serials):
            self.left.redraw(Left.SCORES)
        if not len(self._best.elapsed_s):
            self.right.redraw(Right.BEST)

    def _list_tasks(self) -> None:
        chosen = self.chosen_task
        self._choice.blockSignals(True)
        self._choice.clear()
        self._choice.addItem(tr("All tasks"), "")
        for state in self._tasks.states:
            self._choice.addItem(state.task.name, state.task.key)
        self._choice.setCurrentIndex(max(0, self._choice.findData(chosen)))
        self._choice.blockSignals(False)
        self._choice.setMaximumWidth(self._choice.sizeHint().width())  # names are whole where the card has room
        self._choose()

    def _choose(self) -> None:
        chosen = self.chosen_task
        self.score_plot.picker.forget()
        for card, page in ((self.left, Left.SCORES), (self.left, Left.ROUNDS), (self.right, Right.BEST)):
            card.redraw(page)
        self.pool_map.choose_task(chosen)
        self.task_selected.emit(chosen)

    def _turn(self) -> None:
        self.estimate_plot.set_horizontal(trials=self._horizontal.currentIndex() == 1)
        self.right.redraw(Right.BEST)

    def _pick(self, number: int) -> None:
        self._selected = int(self._serials[number])
        self.score_plot.picker.pin(number)
        self.record_selected.emit(self._scores.records.summary(self._selected))

    def _mark_selected(self) -> None:
        """Find the selected record among the points on screen."""
        place = int(np.searchsorted(self._serials, self._selected))
        here = place < len(self._serials) and self._serials[place] == self._selected
        self.score_plot.picker.pin(place if here else -1)

    def _describe_record(self, number: int) -> str:
        record = self._scores.records.summary(int(self._serials[number]))
        return plot_wording.record_card(record, self._tasks.name_of(record.candidate.task_key))

    def _describe_round(self, number: int) -> str:
        point = self._rounds.points(self.chosen_task)[number]
        return plot_wording.round_card(point, self._tasks.name_of(point.task_key))

    def _describe_best(self, number: int) -> str:
        line = self._best
        return plot_wording.best_card(line.trials[number], line.elapsed_s[number], float(line.best_ms[number]) / 1000)

    def _describe_roof(self, number: int) -> str:
        shown, name = self._roofline, self._tasks.name_of(self._roofline.keys[number])
        return plot_wording.roof_card(
            name, *(float(values[number]) for values in (shown.intensity, shown.first, shown.best, shown.share))
        )

    def _save_left(self, page: int, saving: Saving) -> None:
        name_of, chosen = self._tasks.name_of, self.chosen_task
        if page == Left.SCORES:
            table = plot_tables.of_records(self._scores.records, name_of, chosen)
            self._saving.save_plot(saving, self.score_plot.plot, table)
        elif page == Left.ROUNDS:
            self._saving.save_plot(saving, self.round_plot.plot, plot_tables.of_rounds(self._rounds, name_of, chosen))
        else:
            self._saving.save_plot(saving, self.pool_map.view.plot, self.pool_map.table())

    def _save_right(self, page: int, saving: Saving) -> None:
        if page == Right.BEST:
            name = self._tasks.name_of(self.chosen_task) if self.chosen_task else "network"
            self._saving.save_plot(saving, self.estimate_plot.plot, plot_tables.of_best(self._best, name))
        elif page == Right.STAGES:
            self._saving.save_plot(saving, self.stage_plot.plot, plot_tables.of_stages(self._times))
        else:
            table = plot_tables.of_roofline(self._roofline, self._tasks.name_of)
            self._saving.save_plot(saving, self.roofline_plot.plot, table)


def _note(text: str = "") -> ElidedLabel:
    return ElidedLabel("muted", text=text, end=True)
