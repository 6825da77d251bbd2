"""The plots panel on recorded events: what is drawn of 100,000 records, naming and picking points, saving plots."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import recorded_run
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from app.models.announcement import Announcement, Mood
from app.models.quantities import digits
from app.models.run_state import OpenedNetwork
from app.models.studio import StudioModels
from app.tokens import DARK, LIGHT
from app.views.plots_panel import Left, PlotsPanel, Right
from app.widgets.plot_card import PlotCard, Saving
from app.widgets.plot_picture import write_png, write_svg
from app.widgets.point_picker import PointPicker
from app.widgets.score_plot import POINTS_SHOWN
from tcl_core import events
from tcl_core.domain import Rationale, Record

# What Qt's offscreen plugin says of windows besides the main one; it says nothing about the studio.
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
MANY = 100_000


def play(models: StudioModels) -> None:
    for event in recorded_run.RecordedRun().events():
        match event:
            case events.RunStarted():
                models.tasks.set_states(event.states)
            case events.PhaseChanged():
                models.stage_times.begin_phase(event)
            case events.RecordMeasured():
                models.scores.add(event.record)
                models.tasks.add_record(event.record)
            case events.Progress():
                models.estimates.add(event)
                models.scores.records.note_time(event.elapsed_s)
                models.stage_times.take_progress(event)
            case events.RoundFinished():
                models.rounds.add(event, *models.scores.records.close_round())
            case events.LibraryBuilt():
                models.estimates.set_library(event.report)
    models.flush()


@pytest.fixture
def models(qtbot: QtBot) -> StudioModels:
    return StudioModels()


@pytest.fixture
def panel(models: StudioModels, qtbot: QtBot) -> PlotsPanel:
    made = PlotsPanel(models)
    qtbot.addWidget(made)
    made.apply_tokens(LIGHT)
    made.resize(1100, 420)
    made.show()
    qtbot.waitExposed(made)
    return made


def on_screen(panel: PlotsPanel, number: int) -> QPoint:
    """Where a point of the scatter is, in its plot's viewport."""
    picker, plot = panel.score_plot.picker, panel.score_plot.plot
    place = number - picker._first
    scene = plot.getViewBox().mapViewToScene(QPointF(picker._x[place], picker._y[place]))
    return plot.mapFromScene(scene)


def settle(panel: PlotsPanel) -> None:
    """Let pyqtgraph take the ranges of what it was given."""
    panel.grab()


def many_records() -> list[Record]:
    template = next(e.record for e in recorded_run.RecordedRun().events() if isinstance(e, events.RecordMeasured))
    random = np.random.default_rng(0)
    keys = [task.key for task in recorded_run.tasks()]
    rows = zip(
        random.integers(len(keys), size=MANY), random.normal(size=MANY), random.uniform(1e-4, 1e-2, MANY), strict=True
    )
    return [
        Record(
            candidate=replace(template.candidate, task_key=keys[task]),
            platform=template.platform,
            trace_json="",
            structural_hash="",
            latencies_s=(float(latency_s),),
            failure=None,
            rationale=Rationale(score=float(score)),
            cut_off=False,
            source=template.source,
            round=0,
            measured_at=0.0,
        )
        for task, score, latency_s in rows
    ]


def test_of_100_000_records_the_newest_are_points_and_all_are_a_shade(models: StudioModels, panel: PlotsPanel) -> None:
    models.tasks.set_tasks(recorded_run.tasks())
    for record in many_records():
        models.scores.add(record)
    models.flush()
    plot = panel.score_plot
    series = (plot._measured, plot._cut_off, plot._failed, plot._best)
    assert sum(len(item.data) for item in series) == POINTS_SHOWN
    assert len(plot.plot.items()) < 60, "the scene holds a few items, not one a record"
    assert np.expm1(plot._density.image).sum() == pytest.approx(MANY)
    assert panel._shown.text() == f"{POINTS_SHOWN} of 100,000 shown"
    last = plot.picker._first + len(plot.picker._x) - 1
    assert panel._serials[last] == MANY - 1
    newest = models.scores.records.summary(MANY - 1)
    assert models.tasks.name_of(newest.candidate.task_key) in panel._describe_record(last)


def test_the_mouse_names_the_nearest_point_and_a_click_selects_it(
    models: StudioModels, panel: PlotsPanel, qtbot: QtBot
) -> None:
    play(models)
    settle(panel)
    picker, plot = panel.score_plot.picker, panel.score_plot.plot
    spot = on_screen(panel, 300)
    plot.scene().sigMouseMoved.emit(plot.mapToScene(spot))
    assert picker.card.isVisible()
    record = models.scores.records.summary(int(panel._serials[picker.current]))
    assert models.tasks.name_of(record.candidate.task_key) in picker.card.text()
    assert "score" in picker.card.text()
    assert plot.rect().contains(picker.card.geometry())
    with qtbot.waitSignal(panel.record_selected) as picked:
        qtbot.mouseClick(plot.viewport(), Qt.MouseButton.LeftButton, pos=spot)
    assert picked.args == [record]
    assert picker.pinned == picker.current
    plot.scene().sigMouseMoved.emit(QPointF(2.0, 2.0))
    assert not picker.card.isVisible()
    assert picker.pinned >= 0, "the selected one stays marked"


def test_the_selected_record_stays_marked_in_its_tasks_own_scatter(models: StudioModels, panel: PlotsPanel) -> None:
    play(models)
    picker = panel.score_plot.picker
    picker.picked.emit(200)
    record = models.scores.records.summary(int(panel._serials[200]))
    panel.select_task(record.candidate.task_key)
    assert panel._serials[picker.pinned] == record.serial
    panel.select_task(next(s.task.key for s in models.tasks.states if s.task.key != record.candidate.task_key))
    assert picker.pinned == -1
    panel.select_task("")
    assert picker.pinned == 200
    panel.left.show_page(Left.ROUNDS)
    panel.select_task(record.candidate.task_key)
    panel.left.show_page(Left.SCORES)
    assert panel._serials[picker.pinned] == record.serial, "also where it is drawn later"
    models.scores.clear()
    assert picker.pinned == -1


def test_points_are_reached_by_the_keyboard(models: StudioModels, panel: PlotsPanel, qtbot: QtBot) -> None:
    play(models)
    settle(panel)
    picker, plot = panel.score_plot.picker, panel.score_plot.plot
    total = len(panel._serials)
    for key, expected in (
        (Qt.Key.Key_End, total - 1),
        (Qt.Key.Key_Left, total - 2),
        (Qt.Key.Key_Right, total - 1),
        (Qt.Key.Key_Right, total - 1),
        (Qt.Key.Key_PageUp, total - 51),
        (Qt.Key.Key_Home, 0),
    ):
        qtbot.keyClick(plot, key)
        assert picker.current == expected
    assert plot.accessibleDescription() == picker.card.text()
    with qtbot.waitSignal(panel.record_selected) as picked:
        qtbot.keyClick(plot, Qt.Key.Key_Return)
    assert picked.args[0].serial == panel._serials[0]
    qtbot.keyClick(plot, Qt.Key.Key_Escape)
    assert picker.current == -1
    assert not picker.card.isVisible()


def test_new_records_leave_the_point_in_question_alone(models: StudioModels, panel: PlotsPanel) -> None:
    play(models)
    settle(panel)
    picker = panel.score_plot.picker
    picker._show(10)
    for event in recorded_run.RecordedRun(seed=1).events():
        if isinstance(event, events.RecordMeasured):
            models.scores.add(event.record)
    models.flush()
    assert picker.current == 10


def turn_to_all(panel: PlotsPanel) -> None:
    for card, page in (*((panel.left, page) for page in Left), *((panel.right, page) for page in Right)):
        card.show_page(page)
        settle(panel)


@pytest.mark.parametrize("tokens", [LIGHT, DARK])
def test_every_page_is_drawn_and_says_what_it_shows(
    models: StudioModels, panel: PlotsPanel, tokens: object, qtbot: QtBot
) -> None:
    panel.apply_tokens(tokens)
    parts = (panel.score_plot, panel.round_plot, panel.estimate_plot, panel.stage_plot, panel.roofline_plot)
    turn_to_all(panel)
    assert all(part.plot.hint for part in parts), "an empty plot says what to do"
    play(models)
    turn_to_all(panel)
    assert not any(part.plot.hint for part in parts)
    assert panel.stage_plot.texts[0].startswith("21.0 s")
    assert len(panel.round_plot.picker._x) == 30
    assert panel._horizontal.isHidden(), "time by stage is not drawn over trials"
    panel.round_plot.picker._show(12)
    assert "rank correlation" in panel.round_plot.picker.card.text()


def test_best_so_far_is_the_networks_or_the_chosen_tasks(models: StudioModels, panel: PlotsPanel) -> None:
    play(models)
    curve = panel.estimate_plot._curve
    assert np.allclose(curve.yData, np.log10(models.estimates.estimate_ms))
    assert len(panel.estimate_plot.lines) == 3
    panel._horizontal.setCurrentIndex(1)
    assert curve.xData.tolist() == models.estimates.trials.tolist()
    state = models.tasks.states[3]
    panel.select_task(state.task.key)
    assert 10 ** curve.yData[-1] == pytest.approx(state.best_s * 1000)
    assert curve.xData[-1] == models.scores.records.run_trials
    assert not panel.estimate_plot.lines, "the whole network's latencies say nothing of one task"
    assert state.task.name in panel._best_note.text()
    panel.estimate_plot.picker._show(0)
    assert "after" in panel.estimate_plot.picker.card.text()


def test_before_every_task_has_a_record_it_is_said_how_many_have(models: StudioModels, panel: PlotsPanel) -> None:
    models.tasks.set_tasks(recorded_run.tasks())
    models.tasks.add_record(many_records()[0])
    models.tasks.flush()
    models.scores.changed.emit()
    assert panel._best_note.text() == "1 of 15 tasks has a record so far"


def test_a_task_under_the_roof_is_named_and_chosen(models: StudioModels, panel: PlotsPanel) -> None:
    opened = recorded_run.opened()
    models.run.opened = OpenedNetwork(network=opened.network, platform=opened.platform, report=opened.report)
    play(models)
    assert not panel.roofline_plot.picker._x.size, "what is not on top is drawn when it is turned to"
    panel.right.show_page(Right.ROOFLINE)
    features = opened.platform.features
    assert panel.roofline_plot.roofs == (
        f"peak {digits(features.peak_flops / 1e9)} GFLOP/s",
        f"memory {digits(features.bandwidth_bytes_s / 1e9)} GB/s",
    )
    shown = panel._roofline
    assert len(shown.keys) == len(panel.roofline_plot.picker._x) > 3
    panel.roofline_plot.picker._show(2)
    said = panel.roofline_plot.picker.card.text()
    assert said.startswith(models.tasks.name_of(shown.keys[2]))
    assert f"{100 * shown.share[2]:.0f} % of the roof" in said
    panel.roofline_plot.picker.picked.emit(2)
    assert panel.chosen_task == shown.keys[2]


def ask(card: PlotCard, page: int, saving: Saving) -> None:
    card.show_page(page)
    card.menu.actions()[list(Saving).index(saving)].trigger()


@pytest.fixture
def choose(monkeypatch: pytest.MonkeyPatch) -> Callable[[object], None]:
    return lambda path: monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))


@pytest.mark.parametrize(("side", "page"), [("left", 0), ("left", 1), ("right", 0), ("right", 1), ("right", 2)])
def test_each_plot_is_saved_as_png_svg_and_csv(
    models: StudioModels, panel: PlotsPanel, choose: Callable, tmp_path: Path, qtbot: QtBot, side: str, page: int
) -> None:
    play(models)
    card: PlotCard = getattr(panel, side)
    said: list[Announcement] = []
    panel.saving_ended.connect(said.append)
    for saving in (Saving.PNG, Saving.SVG, Saving.CSV):
        choose(tmp_path / f"plot.{saving}")
        ask(card, page, saving)
    qtbot.waitUntil(lambda: len(said) == 3)
    assert {announcement.mood for announcement in said} == {Mood.GOOD}
    image = QImage(str(tmp_path / "plot.png"))
    assert image.width() > 600
    assert image.pixelColor(image.width() - 1, 1) == LIGHT.surface
    assert b"<svg" in (tmp_path / "plot.svg").read_bytes()[:300]
    with (tmp_path / "plot.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows
    assert all(None not in row for row in rows)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plot.csv", "plot.png", "plot.svg"]


def test_svg_shows_axes_and_points_where_png_does(models: StudioModels, panel: PlotsPanel, tmp_path: Path) -> None:
    play(models)
    settle(panel)
    plot = panel.score_plot.plot
    write_png(plot, tmp_path / "plot.png")
    write_svg(plot, tmp_path / "plot.svg")
    expected = QImage(str(tmp_path / "plot.png")).convertToFormat(QImage.Format.Format_Grayscale8)
    drawn = QImage(expected.size(), QImage.Format.Format_ARGB32)
    painter = QPainter(drawn)
    QSvgRenderer(str(tmp_path / "plot.svg")).render(painter)
    painter.end()
    pair = [_coarse(image) for image in (expected, drawn.convertToFormat(QImage.Format.Format_Grayscale8))]
    assert np.corrcoef(pair[0].ravel(), pair[1].ravel())[0, 1] > 0.8


def _coarse(image: QImage) -> np.ndarray:
    """Mean darkness of squares of 12 pixels: the two differ in the width of letters and lines."""
    rows, columns = image.height() // 12, image.width() // 12
    pixels = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.bytesPerLine())
    return pixels[: 12 * rows, : 12 * columns].reshape(rows, 12, columns, 12).mean(axis=(1, 3))


def test_csv_holds_every_record_with_its_reasons(
    models: StudioModels, panel: PlotsPanel, choose: Callable, tmp_path: Path, qtbot: QtBot
) -> None:
    play(models)
    choose(tmp_path / "records.v2")
    with qtbot.waitSignal(panel.saving_ended) as ended:
        ask(panel.left, Left.SCORES, Saving.CSV)
    assert ended.args[0].sentence == f"Saved {tmp_path / 'records.v2.csv'}."
    with (tmp_path / "records.v2.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 360
    assert {row["task"] for row in rows} == {task.name for task in recorded_run.tasks()}
    assert {row["diversity"] for row in rows} == {"0.4"}
    failed = [row for row in rows if row["failure"]]
    assert failed
    assert {row["latency_s"] for row in failed} == {""}


@pytest.mark.parametrize("saving", [Saving.PNG, Saving.SVG, Saving.CSV])
def test_a_file_that_cannot_be_written_is_one_sentence(
    models: StudioModels, panel: PlotsPanel, choose: Callable, tmp_path: Path, qtbot: QtBot, saving: Saving
) -> None:
    play(models)
    choose(tmp_path / "nowhere" / f"plot.{saving}")
    with qtbot.waitSignal(panel.saving_ended) as ended:
        ask(panel.left, Left.SCORES, saving)
    announcement: Announcement = ended.args[0]
    assert announcement.mood is Mood.BAD
    assert "No such file or directory" in announcement.sentence
    assert "nowhere" in announcement.sentence


def test_a_cancelled_question_writes_nothing(
    models: StudioModels, panel: PlotsPanel, choose: Callable, tmp_path: Path, qtbot: QtBot
) -> None:
    choose("")
    with qtbot.assertNotEmitted(panel.saving_ended):
        ask(panel.left, Left.SCORES, Saving.PNG)
    assert not list(tmp_path.iterdir())


def test_numbers_are_copied_as_a_table(models: StudioModels, panel: PlotsPanel, qtbot: QtBot) -> None:
    play(models)
    with qtbot.waitSignal(panel.saving_ended) as ended:
        ask(panel.left, Left.ROUNDS, Saving.COPY)
    lines = QGuiApplication.clipboard().text().splitlines()
    assert lines[0].startswith("round\ttask\t")
    assert len(lines) == 31
    assert ended.args[0].sentence == "Copied 30 rows of numbers."


def test_nearest_point_is_found_in_pixels_and_only_within_reach(models: StudioModels, panel: PlotsPanel) -> None:
    settle(panel)
    picker: PointPicker = panel.score_plot.picker
    picker.set_points(np.array([0.0, 1.0]), np.array([0.5, 0.5]), first=7)
    width, _ = panel.score_plot.plot.getViewBox().viewPixelSize()
    assert picker.point_at(QPointF(5 * width, 0.5)) == 7
    assert picker.point_at(QPointF(40 * width, 0.5)) == -1


def test_before_the_first_estimate_the_note_counts_the_tasks_that_have_a_record(
    models: StudioModels, panel: PlotsPanel
) -> None:
    models.tasks.set_tasks(recorded_run.tasks())
    record = next(e.record for e in recorded_run.RecordedRun().events() if isinstance(e, events.RecordMeasured))
    models.tasks.add_record(record)
    models.scores.add(record)
    models.flush()
    assert panel._best_note.text() == "1 of 15 tasks has a record so far"
