"""The tasks in the window: filtered, selected, ticked and given budgets, up to what a run is asked for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import recorded_run
import studio_engines
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.application import Studio
from app.jobs.engine_process import EngineTarget
from app.models.run_state import Activity
from app.models.task_columns import TaskColumn
from app.models.task_table import KEY_ROLE
from app.views.task_panel import TaskPanel
from app.widgets.limit_delegate import TrialsBox

Open = Callable[[EngineTarget], Studio]


def open_sample(qtbot: QtBot, studio: Studio) -> None:
    studio.window.open_requested.emit(None)
    qtbot.waitUntil(lambda: studio.models.run.activity is Activity.READY)


def test_a_filter_that_matches_nothing_says_so(open_studio: Open, qtbot: QtBot) -> None:
    studio = open_studio(studio_engines.playing)
    open_sample(qtbot, studio)
    panel = studio.window.task_panel
    qtbot.keyClicks(panel.filter, "conv")
    assert 0 < panel.proxy.rowCount() < 15 and not panel._no_match.isVisible()
    qtbot.keyClicks(panel.filter, "olution of nothing")
    assert panel._no_match.isVisible() and "“convolution of nothing”" in panel._no_match.text()
    panel.filter.clear()
    assert panel.proxy.rowCount() == 15 and not panel._no_match.isVisible()


def test_ctrl_f_goes_to_the_field_of_the_panel_in_front(open_studio: Open, qtbot: QtBot) -> None:
    studio = open_studio(studio_engines.playing)
    open_sample(qtbot, studio)
    window = studio.window
    tasks, network = window.task_panel, window.network_panel
    window.actions_.find.trigger()
    assert window.focusWidget() is tasks.filter
    qtbot.keyClicks(tasks.filter, "conv")
    tasks.table.setFocus()
    qtbot.keyClick(tasks.table, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert window.focusWidget() is tasks.filter and tasks.filter.selectedText() == "conv", "to be typed over"
    window.show_panel("network")
    qtbot.waitUntil(lambda: window.docks.front_of(("tasks", "network")) == "network")
    window.actions_.find.trigger()
    assert window.focusWidget() is network.search
    window.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, window.docks["tasks"])
    qtbot.waitUntil(lambda: not window.docks["tasks"].visibleRegion().isEmpty())
    network.view.setFocus()
    window.actions_.find.trigger()
    assert window.focusWidget() is network.search, "both are in sight: the one that has the focus"
    window.docks["tasks"].hide()
    window.show_panel("log")
    window.log_panel.setFocus()
    before = window.focusWidget()
    window.actions_.find.trigger()
    assert window.focusWidget() is before, "nothing to find in"


def test_what_a_filter_hides_stays_selected_and_is_seen_again(open_studio: Open, qtbot: QtBot) -> None:
    studio = open_studio(studio_engines.playing)
    open_sample(qtbot, studio)
    panel, plots = studio.window.task_panel, studio.window.plots_panel
    panel.table.selectRow(2)
    key, rows = plots.chosen_task, panel.table.selectionModel().selectedRows
    panel.filter.setText("nothing has this name")
    assert not rows() and plots.chosen_task == key == studio.models.schedules.task_key
    panel.filter.clear()
    assert [index.row() for index in rows()] == [2] and plots.chosen_task == key
    panel._tasks.beginResetModel()
    panel._tasks.endResetModel()
    assert [index.row() for index in rows()] == [2], "a run of the same network begins"
    panel.table.clearSelection()
    assert plots.chosen_task == ""


def test_selecting_a_task_selects_it_in_the_scatter_and_back(open_studio: Open, qtbot: QtBot) -> None:
    studio = open_studio(studio_engines.playing)
    open_sample(qtbot, studio)
    panel, plots = studio.window.task_panel, studio.window.plots_panel
    panel.table.selectRow(2)
    key = plots.chosen_task
    assert key == panel.proxy.index(2, 0).data(int(Qt.ItemDataRole.UserRole) + 2)
    plots.select_task("")
    assert not panel.table.selectionModel().selectedRows()


def test_one_task_is_selected_and_it_is_the_one_that_is_shown(open_studio: Open, qtbot: QtBot) -> None:
    studio = open_studio(studio_engines.playing)
    open_sample(qtbot, studio)
    table, viewport = studio.window.task_panel.table, studio.window.task_panel.table.viewport()
    table.selectRow(1)
    for modifier in (Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier):
        for row in (3, 0):
            index = table.model().index(row, TaskColumn.WEIGHT)
            qtbot.mouseClick(viewport, Qt.MouseButton.LeftButton, modifier, table.visualRect(index).center())
            assert [shown.row() for shown in table.selectionModel().selectedRows()] == [row]
            assert studio.window.plots_panel.chosen_task == index.siblingAtColumn(0).data(KEY_ROLE)


def test_a_run_is_asked_for_the_ticked_tasks(open_studio: Open, qtbot: QtBot) -> None:
    studio = open_studio(studio_engines.telling)
    open_sample(qtbot, studio)
    panel, key = studio.window.task_panel, recorded_run.tasks()[3].key
    panel.select_task(key)
    panel.table.actions()[0].trigger()
    studio.window.actions_.start.trigger()
    log = studio.models.log
    qtbot.waitUntil(lambda: log.rowCount() > 0 and log.entry(0).sentence == f"tunes {key}")


def budget_box(panel: TaskPanel) -> TrialsBox:
    """That of the selected task, opened to type into."""
    panel.table.actions()[2].trigger()
    box = panel.table.findChild(TrialsBox)
    assert isinstance(box, TrialsBox)
    return box


def test_a_tasks_budget_is_typed_into_the_table_and_reaches_the_run(open_studio: Open, qtbot: QtBot) -> None:
    studio = open_studio(studio_engines.telling)
    open_sample(qtbot, studio)
    panel, key = studio.window.task_panel, recorded_run.tasks()[3].key

    def type_budget(text: str) -> None:
        box = budget_box(panel)
        qtbot.keyClick(box, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
        qtbot.keyClick(box, Qt.Key.Key_Delete)
        qtbot.keyClicks(box, text)
        qtbot.keyClick(box, Qt.Key.Key_Return)
        qtbot.waitUntil(lambda: panel.table.findChild(TrialsBox) is None)

    panel.select_task(key)
    panel.table.actions()[0].trigger()
    type_budget("40")
    studio.window.actions_.start.trigger()
    log = studio.models.log
    said = f"tunes {key}, {key} at most 40"
    qtbot.waitUntil(lambda: log.rowCount() > 0 and log.entry(0).sentence == said)
    type_budget("")
    assert studio.models.tasks.task_trials == ()


def test_a_start_takes_the_budget_that_is_being_typed(open_studio: Open, qtbot: QtBot) -> None:
    studio = open_studio(studio_engines.telling)
    open_sample(qtbot, studio)
    panel, key = studio.window.task_panel, recorded_run.tasks()[3].key
    panel.select_task(key)
    box = budget_box(panel)
    qtbot.keyClicks(box, "48")
    studio.window.actions_.start.trigger()
    assert studio.controller._config is not None
    assert studio.controller._config.budget.task_trials == ((key, 48),)
    qtbot.waitUntil(lambda: panel.table.findChild(TrialsBox) is None)
    panel.keep_budget()
    assert studio.models.tasks.task_trials == ((key, 48),)


def test_a_budget_can_be_typed_while_the_table_changes(open_studio: Open, qtbot: QtBot) -> None:
    studio = open_studio(studio_engines.telling)
    open_sample(qtbot, studio)
    panel, tasks, state = studio.window.task_panel, studio.models.tasks, studio.models.tasks.states[3]
    panel.select_task(state.task.key)
    box = budget_box(panel)
    for trials, digit in enumerate("128", start=1):
        qtbot.keyClicks(box, digit)
        tasks.update_state(replace(state, trials=trials))
        tasks.flush()
    qtbot.keyClick(box, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: panel.table.findChild(TrialsBox) is None)
    assert tasks.task_trials == ((state.task.key, 128),)


def test_no_number_of_a_large_or_small_task_is_cut_short(open_studio: Open, qtbot: QtBot) -> None:
    studio = open_studio(studio_engines.playing)
    open_sample(qtbot, studio)
    tasks, table = studio.models.tasks, studio.window.task_panel.table
    small, large, *_ = (state.task for state in tasks.states)
    tasks.set_tasks([replace(small, flops=34_500.0), replace(large, flops=1.2e11)])
    for state, best_s in zip(tasks.states, (1.23e-7, 1.234567), strict=True):
        tasks.update_state(replace(state, best_s=best_s, trials=1234, failures=1234))
    tasks.set_gains([(small.key, 0.00123e-6), (large.key, math.inf)])
    tasks.set_active(small.key)
    tasks.flush()
    for column in (column for column in TaskColumn if column is not TaskColumn.TASK):
        assert table.columnWidth(column) >= table.sizeHintForColumn(column), column.name


def test_a_long_name_leaves_room_for_the_facts_and_the_filter(open_studio: Open, qtbot: QtBot) -> None:
    studio = open_studio(studio_engines.playing)
    open_sample(qtbot, studio)
    opened, panel = studio.models.run.opened, studio.window.task_panel
    assert opened is not None
    network = replace(opened.network, name="a_name_as_exporters_write_them_" * 5)
    studio.models.run.opened = replace(opened, network=network)
    studio.window.resize(1024, 700)
    studio.models.run.announce()
    qtbot.waitUntil(lambda: "…" in panel._name.shown)
    assert panel._facts.shown == panel._facts.text()
    assert panel.filter.width() >= 130
