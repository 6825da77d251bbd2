"""The whole window around engines that play recorded events."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import recorded_run
import studio_engines
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence, QStatusTipEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QFrame,
    QGraphicsView,
    QLineEdit,
    QMenu,
    QMenuBar,
    QMessageBox,
    QPushButton,
    QTabBar,
    QToolBar,
)
from pytestqt.qtbot import QtBot

from app.application import Studio
from app.jobs.engine_process import EngineTarget
from app.models.run_request import RunRequest
from app.models.run_state import Activity, EngineHealth
from app.settings import Settings
from app.theme import Scheme
from app.tokens import DARK, LIGHT
from tcl_core.config import NetworkConfig

# What Qt's offscreen plugin says of windows besides the main one; it says nothing about the studio.
OFFSCREEN = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
Open = Callable[[EngineTarget], Studio]


def until(qtbot: QtBot, studio: Studio, activity: Activity) -> None:
    qtbot.waitUntil(lambda: studio.models.run.activity is activity)


def open_sample(qtbot: QtBot, studio: Studio, path: str | None = None) -> None:
    studio.window.open_requested.emit(path)
    until(qtbot, studio, Activity.READY)


def start(qtbot: QtBot, studio: Studio) -> None:
    open_sample(qtbot, studio)
    studio.window.actions_.start.trigger()
    qtbot.waitUntil(lambda: studio.models.run.progress is not None)


def test_opening_a_network_shows_its_tasks(open_studio: Open, qtbot: QtBot, settings: Settings) -> None:
    studio = open_studio(studio_engines.playing)
    assert studio.window.start_page.isVisible()
    open_sample(qtbot, studio, "/networks/resnet.onnx")
    assert studio.window.task_panel.proxy.rowCount() == 15
    assert studio.window.task_panel.table.isVisible()
    assert studio.window.plots_panel.isVisible()
    assert studio.window.windowTitle().startswith("resnet")
    assert settings.recent == ("/networks/resnet.onnx",)
    assert studio.window.run_panel.form.request.workspace.endswith("workspaces/resnet")


def test_the_status_is_there_again_after_the_hint_of_an_action(open_studio: Open, qtbot: QtBot) -> None:
    studio = open_studio(studio_engines.playing)
    open_sample(qtbot, studio)
    window = studio.window
    assert window.status.isVisible() and window.status.text() == "Ready to tune"
    for hint in ("Open an ONNX network", ""):  # the mouse comes to a button, and goes
        QApplication.sendEvent(window, QStatusTipEvent(hint))
        assert window.status.isVisible() is (not hint) and window.statusBar().currentMessage() == hint


def test_recent_networks_are_opened_again_or_forgotten(open_studio: Open, qtbot: QtBot, settings: Settings) -> None:
    settings.add_recent("/networks/resnet.onnx")
    studio = open_studio(studio_engines.playing)
    window = studio.window
    menu = window.actions_.recent
    network, _, clear = menu.actions()
    with qtbot.waitSignal(window.open_requested) as wish:
        network.trigger()
    assert wish.args == ["/networks/resnet.onnx"]
    clear.trigger()
    qtbot.waitUntil(lambda: not menu.isEnabled())
    assert settings.recent == ()
    open_sample(qtbot, studio)
    assert not menu.menuAction().isEnabled(), "there is nothing to open again"


def test_a_recent_network_far_down_is_named_as_far_as_there_is_room(
    open_studio: Open, qtbot: QtBot, settings: Settings
) -> None:
    path = "/networks/" + "a_folder_with_a_long_name/" * 8 + "r&d.onnx"
    settings.add_recent(path)
    window = open_studio(studio_engines.playing).window
    (link,) = (button for button in window.start_page.findChildren(QPushButton) if button.toolTip() == path)
    qtbot.waitUntil(lambda: link.width() > 300)
    assert link.text().startswith("r&&d.onnx") and "…" in link.text()
    assert link.sizeHint().width() <= link.width()
    with qtbot.waitSignal(window.open_requested) as wish:
        link.click()
    assert wish.args == [path]


def test_a_whole_run_fills_every_panel(open_studio: Open, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    studio = open_studio(studio_engines.playing)
    models, window = studio.models, studio.window
    qtbot.mouseClick(window.start_page.sample_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: models.library.report is not None)
    until(qtbot, studio, Activity.READY)
    assert sum(state.trials for state in models.tasks.states) == 160
    assert models.failures.total == sum(state.failures for state in models.tasks.states) > 0
    assert window.docks["failures"].windowTitle() == f"Failures ({models.failures.total})"
    tree = window.failures_panel.tree
    group = tree.model().index(0, 0)
    with qtbot.waitSignal(window.record_selected) as opened:
        tree.activated.emit(tree.model().index(0, 0, group))
    assert opened.args[0].cause == group.data()
    with qtbot.assertNotEmitted(window.record_selected):
        tree.activated.emit(group)
    assert len(models.scores.points().x) == 140
    assert "140 of 140 shown" in window.plots_panel._shown.text()
    assert len(models.estimates.estimate_ms) > 0
    assert len(models.estimates.references) == 3
    rho = models.rounds.recent_correlation()
    assert rho is not None
    assert window.run_panel._figures["rank correlation"].text() == f"{rho:.2f}"
    monkeypatch.setattr(models.rounds, "recent_correlation", lambda: -0.001)
    models.rounds.changed.emit()
    assert window.run_panel._figures["rank correlation"].text() == "0.00"
    assert window.library_panel.times.model().rowCount() == 3
    assert "Tuned 11.4 ms" in window.banner.text
    assert window.library_panel.actions_.export_button.isEnabled()
    sentences = [models.log.entry(row).sentence for row in range(models.log.rowCount())]
    assert any("No C compiler" in sentence for sentence in sentences)
    window.export_requested.emit("/exports/here")
    qtbot.waitUntil(lambda: "Exported to /exports/here" in window.banner.text)


def test_pause_resume_and_stop_reach_the_engine(open_studio: Open, qtbot: QtBot) -> None:
    studio = open_studio(studio_engines.obedient)
    window, run, log = studio.window, studio.models.run, studio.models.log
    start(qtbot, studio)
    assert run.activity is Activity.RUNNING
    assert not window.actions_.open.isEnabled()
    window.actions_.hold.trigger()
    assert run.activity is Activity.PAUSED
    assert window.actions_.hold.text() == "&Resume"
    qtbot.waitUntil(lambda: log.rowCount() > 0 and log.entry(0).sentence == "PauseRun")
    window.actions_.hold.trigger()
    qtbot.waitUntil(lambda: log.entry(0).sentence == "ResumeRun")
    window.actions_.stop.trigger()
    assert run.activity is Activity.STOPPING
    until(qtbot, studio, Activity.READY)
    assert run.outcome.startswith("Stopped after")
    assert studio.engine.generation == 1


def test_a_run_that_opens_its_network_again_goes_on(open_studio: Open, qtbot: QtBot) -> None:
    studio = open_studio(studio_engines.obedient)
    start(qtbot, studio)
    studio.window.run_panel.form.set_workspace("/chosen")
    trials = sum(state.trials for state in studio.models.tasks.states)
    studio.engine.events.emit((recorded_run.opened(),))
    assert studio.models.run.activity is Activity.RUNNING
    assert studio.window.actions_.stop.isEnabled() and not studio.window.actions_.start.isEnabled()
    assert studio.window.run_panel.form.request.workspace == "/chosen"
    assert sum(state.trials for state in studio.models.tasks.states) >= trials > 0


def test_deaf_engine_is_ended_and_the_run_can_be_continued(open_studio: Open, qtbot: QtBot) -> None:
    studio = open_studio(studio_engines.deaf)
    open_sample(qtbot, studio)
    studio.window.actions_.start.trigger()
    qtbot.waitUntil(lambda: studio.models.log.rowCount() > 1)
    studio.window.actions_.stop.trigger()
    until(qtbot, studio, Activity.READY)
    assert "did not obey a stop within 2 s" in studio.window.banner.text
    assert studio.window.banner.action_button.text() == "Continue the run"
    qtbot.waitUntil(lambda: studio.models.run.engine is EngineHealth.READY)
    studio.window.banner.action_button.click()
    assert studio.models.run.activity is Activity.RUNNING


def test_crash_is_shown_and_a_new_engine_comes_up(open_studio: Open, qtbot: QtBot) -> None:
    studio = open_studio(studio_engines.crashing)
    open_sample(qtbot, studio)
    studio.window.actions_.start.trigger()
    qtbot.waitUntil(lambda: "SIGKILL" in studio.window.banner.text)
    assert "Everything measured is kept" in studio.window.banner.text
    assert studio.models.run.activity is Activity.READY
    assert sum(state.trials for state in studio.models.tasks.states) > 0, "what was measured stays on screen"
    qtbot.waitUntil(lambda: studio.models.run.engine is EngineHealth.READY)
    assert studio.engine.generation == 2


def test_engine_that_cannot_start_offers_another_try(open_studio: Open, qtbot: QtBot) -> None:
    studio = open_studio(studio_engines.stillborn)
    qtbot.waitUntil(lambda: studio.models.run.engine is EngineHealth.DOWN)
    assert "status 3" in studio.window.banner.text
    studio.window.banner.action_button.click()
    qtbot.waitUntil(lambda: studio.models.log.rowCount() == 2)


def test_refusal_is_a_sentence_in_a_panel(open_studio: Open, qtbot: QtBot) -> None:
    studio = open_studio(studio_engines.playing)
    studio.window.open_requested.emit("/networks/broken.onnx")
    qtbot.waitUntil(lambda: "is not an ONNX file" in studio.window.banner.text)
    assert studio.models.run.activity is Activity.IDLE
    assert studio.models.log.entry(0).kind == "refused"


def test_fixed_inputs_of_a_file_that_could_not_be_opened_are_not_the_networks(open_studio: Open, qtbot: QtBot) -> None:
    studio = open_studio(studio_engines.telling)
    form = studio.window.run_panel.form
    terms = NetworkConfig(shapes=(("x", (1, 8)),), values=(("rate", (2.0,)),))
    form.set_terms(terms)
    studio.controller.open_network("/networks/good.onnx", terms=terms)
    qtbot.waitUntil(lambda: studio.models.run.activity is Activity.READY)
    studio.controller.open_network("/networks/broken.onnx")
    qtbot.waitUntil(lambda: "is not an ONNX file" in studio.window.banner.text)
    form.set_terms(NetworkConfig(shapes=(("y", (2, 2)),)))
    studio.window.actions_.start.trigger()
    assert studio.controller._config is not None
    config = studio.controller._config.network_config
    assert (config.shapes, config.values) == (terms.shapes, terms.values)


def test_the_last_wish_wins_while_networks_are_opened(open_studio: Open, qtbot: QtBot) -> None:
    studio = open_studio(studio_engines.slow_to_open)
    for name in ("first", "second", "third"):
        studio.controller.open_network(f"/networks/{name}.onnx")
    qtbot.waitUntil(lambda: studio.models.run.opened is not None)
    assert studio.models.run.opened is not None
    assert studio.models.run.opened.network.name == "third"


def test_a_run_of_the_sample_is_not_one_of_the_network_wished_for_next(open_studio: Open, qtbot: QtBot) -> None:
    studio = open_studio(studio_engines.slow_to_open)
    studio.controller.tune_sample(RunRequest())
    studio.controller.open_network("/networks/other.onnx")
    qtbot.waitUntil(lambda: studio.models.run.opened is not None)
    assert studio.models.run.activity is Activity.READY, "nobody asked for a run of it"
    studio.controller.open_network("/networks/third.onnx")
    studio.controller.tune_sample(RunRequest())
    until(qtbot, studio, Activity.RUNNING)


@OFFSCREEN
def test_closing_during_a_run_asks_once(open_studio: Open, qtbot: QtBot) -> None:
    studio = open_studio(studio_engines.obedient)
    window = studio.window
    start(qtbot, studio)
    assert not window.close()
    question = window.question
    assert question is not None
    assert not window.close()
    assert window.question is question, "the same question, not a second one"
    assert question.defaultButton().text() == "Keep running", "Enter loses nothing"
    _press(question, "Keep running")
    assert window.isVisible()
    assert studio.models.run.activity is Activity.RUNNING
    window.close()
    assert window.question is not None
    _press(window.question, "Stop and close")
    qtbot.waitUntil(lambda: not window.isVisible())
    assert studio.engine.isFinished()


def _press(question: QMessageBox, text: str) -> None:
    next(button for button in question.buttons() if button.text() == text).click()


def test_theme_is_switched_everywhere_and_remembered(open_studio: Open, qtbot: QtBot, settings: Settings) -> None:
    studio = open_studio(studio_engines.playing)
    window = studio.window
    for scheme, tokens in ((Scheme.DARK, DARK), (Scheme.LIGHT, LIGHT)):
        next(action for action in window.actions_.schemes.actions() if action.data() == scheme.value).trigger()
        assert window.palette().window().color().name() == tokens.window
        plot = window.plots_panel.score_plot._plot
        assert plot.backgroundBrush().color().name() == tokens.surface
        assert settings.scheme is scheme
    window.actions_.toggle_scheme.trigger()
    assert settings.scheme is Scheme.DARK


@OFFSCREEN
def test_layout_and_form_are_restored(open_studio: Open, qtbot: QtBot) -> None:
    first = open_studio(studio_engines.playing)
    first.window.docks["log"].hide()
    first.window.docks["failures"].setFloating(True)
    first.window.run_panel.form._trials.setValue(640)
    first.window.close()
    second = open_studio(studio_engines.playing)
    assert second.window.docks["log"].isHidden()
    assert second.window.docks["failures"].isFloating()
    assert second.window.docks["failures"].titleBarWidget() is None, "a floating panel can be moved by its title"
    assert second.window.run_panel.form.request.trials == 640
    second.window.actions_.reset_layout.trigger()
    assert not second.window.docks["log"].isHidden()
    assert not second.window.docks["failures"].isFloating()


def test_everything_that_can_be_pressed_has_a_name(tuned_studio: Open) -> None:
    window = tuned_studio(studio_engines.playing).window
    own = QLineEdit | QAbstractSpinBox | QComboBox | QAbstractItemView | QMenuBar | QToolBar | QTabBar
    nameless = [
        widget
        for kind in (QAbstractButton, QComboBox, QLineEdit, QAbstractSpinBox, QTabBar, QAbstractItemView, QGraphicsView)
        for widget in window.findChildren(kind)
        if not isinstance(widget.parent(), own)  # Qt's own buttons inside a field
        and type(widget.parent()) is not QFrame  # and lists under a box
        and not (widget.accessibleName() or (isinstance(widget, QAbstractButton) and widget.text()))
    ]
    assert not nameless


def test_no_two_entries_of_a_menu_have_the_same_key(tuned_studio: Open) -> None:
    window = tuned_studio(studio_engines.playing).window
    for menu in window.findChildren(QMenu):
        keys = [key for action in menu.actions() if (key := QKeySequence.mnemonic(action.text()).toString())]
        assert len(keys) == len(set(keys)), [action.text() for action in menu.actions()]


@pytest.mark.parametrize(("action", "keys"), [("open", "Ctrl+O"), ("start", "F5"), ("stop", "Shift+F5")])
def test_shortcuts(open_studio: Open, action: str, keys: str) -> None:
    window = open_studio(studio_engines.playing).window
    assert getattr(window.actions_, action).shortcut().toString() == keys
