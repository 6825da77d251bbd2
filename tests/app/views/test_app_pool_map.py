"""The map of a pool in the live plots: what is drawn, named, opened by a click, and saved."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import recorded_pool
import recorded_run
import studio_engines
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from app.application import Studio
from app.jobs.engine_process import EngineTarget
from app.models import pool_maps
from app.models.run_request import RunRequest
from app.models.studio import StudioModels
from app.tokens import DARK, LIGHT
from app.views.plots_panel import Left, PlotsPanel
from app.widgets.plot_card import Saving
from tcl_core.domain import Rationale

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
CHOSEN, SIZE, MEASURED = recorded_pool.CHOSEN, recorded_pool.SIZE, recorded_pool.MEASURED


@pytest.fixture
def models(qtbot: QtBot) -> StudioModels:
    made = StudioModels()
    made.tasks.set_tasks(recorded_run.tasks())
    return made


@pytest.fixture
def panel(models: StudioModels, qtbot: QtBot) -> PlotsPanel:
    made = PlotsPanel(models)
    qtbot.addWidget(made)
    made.apply_tokens(LIGHT)
    made.resize(1100, 420)
    made.left.show_page(Left.POOL)
    made.show()
    qtbot.waitExposed(made)
    return made


def show(models: StudioModels, **changes: object) -> None:
    models.pool_maps.add(replace(recorded_pool.mapped(), **changes))  # type: ignore[arg-type]
    models.flush()


@pytest.mark.parametrize("tokens", [LIGHT, DARK])
def test_each_standing_has_a_shape_of_its_own(models: StudioModels, panel: PlotsPanel, tokens: object) -> None:
    page = panel.pool_map
    panel.apply_tokens(tokens)
    assert "first round" in page.view.plot.hint
    show(models)
    assert not page.view.plot.hint
    assert page.view.counts == (SIZE - CHOSEN, MEASURED, CHOSEN)
    shapes = {item.opts["symbol"] for item in (page.view._pool, page.view._measured, page.view._chosen)}
    assert len(shapes) == 3
    assert page.note.text() == f"{recorded_pool.TASK.name}, round 5"
    assert "256 of 256 of the pool and 48 of 48 measured before" in page.note.toolTip()
    cut = replace(recorded_pool.mapped(), pool_total=2000)
    assert pool_maps.note(cut, "t") == "t, round 5, 304 of 2,048 shown"
    assert "41 %" in page.note.toolTip() and "17 %" in page.note.toolTip()
    panel.grab()


def test_a_point_is_named_with_its_reasons(models: StudioModels, panel: PlotsPanel) -> None:
    show(models)
    shown = recorded_pool.mapped()
    picker = panel.pool_map.view.picker
    first = shown.chosen[0]
    picker._show(first.point)
    text = picker.card.text()
    assert recorded_pool.TASK.name in text and "chosen as number 1 of 12" in text
    assert "R 0.25   D 0.75   U 0.50" in text
    assert str(1001 + first.point) in text, "what was replayed, not what was proposed"
    other = next(number for number in range(SIZE) if number not in shown.chosen_points)
    picker._show(other)
    assert "not chosen" in picker.card.text() and f"score {shown.scores[other]:.2f}" in picker.card.text()
    picker._show(SIZE)
    assert "measured before" in picker.card.text() and "score" not in picker.card.text()


def test_a_click_opens_what_is_measured_and_nothing_else(models: StudioModels, panel: PlotsPanel, qtbot: QtBot) -> None:
    show(models)
    shown = recorded_pool.mapped()
    picker = panel.pool_map.view.picker
    for number, candidate in (
        (shown.chosen[3].point, shown.chosen[3].candidate),
        (SIZE + 7, shown.candidates[SIZE + 7]),
    ):
        with qtbot.waitSignal(panel.candidate_selected) as picked:
            picker.picked.emit(number)
        assert picked.args == [candidate] and picker.pinned == number
    other = next(number for number in range(SIZE) if number not in shown.chosen_points)
    with qtbot.assertNotEmitted(panel.candidate_selected):
        picker.picked.emit(other)


def test_each_task_has_its_last_map_and_all_tasks_the_newest(models: StudioModels, panel: PlotsPanel) -> None:
    other = recorded_run.tasks()[0]
    show(models)
    show(models, task_key=other.key, round=9)
    page = panel.pool_map
    assert page.note.text().startswith(f"{other.name}, round 10")
    page.view.picker.pin(3)
    panel.select_task(recorded_pool.TASK.key)
    assert page.note.text().startswith(f"{recorded_pool.TASK.name}, round 5")
    assert page.view.picker.pinned == -1, "a number means another candidate there"
    show(models, round=11)
    assert "round 12" in page.note.text()
    panel.select_task(recorded_run.tasks()[5].key)
    assert page.view.plot.hint and page.note.text() == "" and page.view.counts == (0, 0, 0)
    models.pool_maps.clear()
    panel.select_task("")
    assert page.view.plot.hint


def test_the_map_is_saved_as_png_svg_and_csv(
    models: StudioModels, panel: PlotsPanel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    show(models)
    said: list[object] = []
    panel.saving_ended.connect(said.append)
    for saving in (Saving.PNG, Saving.SVG, Saving.CSV):
        path = tmp_path / f"map.{saving}"
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, path=path: (str(path), ""))
        panel.left.save_requested.emit(Left.POOL, saving)
    qtbot.waitUntil(lambda: len(said) == 3)
    assert QImage(str(tmp_path / "map.png")).width() > 600
    assert b"<svg" in (tmp_path / "map.svg").read_bytes()[:300]
    with (tmp_path / "map.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == SIZE + MEASURED
    chosen = [row for row in rows if row["standing"] == "chosen"]
    assert sorted(int(row["place"]) for row in chosen) == list(range(1, CHOSEN + 1))
    assert {row["diversity"] for row in chosen} == {"0.75"}
    assert {row["score"] for row in rows if row["standing"] == "measured"} == {""}
    assert {row["standing"] for row in rows} == {"measured", "chosen", "pool"}


def test_an_empty_map_is_saved_as_a_header(models: StudioModels, panel: PlotsPanel) -> None:
    assert list(panel.pool_map.table().rows) == []


def test_a_map_without_a_spread_says_so() -> None:
    flat = replace(recorded_pool.mapped(scored=False), explained=(0.0, 0.0))
    assert pool_maps.spread(flat).startswith(
        "The cost model cannot tell these candidates apart: they all lie on one point"
    )
    assert "score –" in pool_maps.card(
        replace(flat, chosen=(replace(flat.chosen[0], rationale=Rationale()),)), flat.chosen[0].point, "t"
    )


def test_a_run_shows_its_maps_and_a_click_opens_the_schedule(
    open_studio: Callable[[EngineTarget], Studio], qtbot: QtBot
) -> None:
    studio = open_studio(studio_engines.inspecting)
    studio.controller.tune_sample(RunRequest())
    qtbot.waitUntil(lambda: studio.models.library.report is not None)
    studio.engine.events.emit((recorded_pool.mapped(),))
    plots = studio.window.plots_panel
    plots.left.show_page(Left.POOL)
    plots.grab()
    picker, plot = plots.pool_map.view.picker, plots.pool_map.view.plot
    plot.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.keyClick(plot, Qt.Key.Key_End)
    assert picker.current == SIZE + MEASURED - 1
    qtbot.keyClick(plot, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: studio.models.schedules.chosen.view is not None)
    assert studio.models.schedules.chosen.view.record.candidate.task_key == recorded_pool.TASK.key
