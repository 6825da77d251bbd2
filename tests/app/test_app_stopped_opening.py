"""A network that is being opened, and need not be any more: the window is at once as it was before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import recorded_run
import studio_engines
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot
from silent_desk import Desk

from app.application import Studio
from app.jobs.engine_process import EngineTarget
from app.jobs.engine_thread import EngineLoss
from app.models.announcement import Mood
from app.models.log_table import EntryKind
from app.models.open_schedules import NOTHING
from app.models.run_request import request_of
from app.models.run_state import Activity, EngineHealth
from tcl_core import events

LARGE = "/networks/large.onnx"
Open = Callable[[EngineTarget], Studio]


def opened_paths(desk: Desk) -> list[str | None]:
    return [command.path for command in desk.engine.sent if isinstance(command, events.OpenNetwork)]


def stop_by_button(qtbot: QtBot, studio: Studio) -> None:
    qtbot.mouseClick(studio.window.run_panel._stop, Qt.MouseButton.LeftButton)


def stop_by_key(qtbot: QtBot, studio: Studio) -> None:
    action = studio.window.actions_.stop
    assert action.isEnabled() and action.shortcut().toString() == "Shift+F5"
    action.trigger()


@pytest.mark.parametrize("stop", [stop_by_button, stop_by_key])
@pytest.mark.parametrize("earlier", [None, "resnet"])
def test_stop_leaves_off_opening_and_another_network_can_be_opened(
    open_studio: Open, qtbot: QtBot, stop: Callable[[QtBot, Studio], None], earlier: str | None
) -> None:
    studio = open_studio(studio_engines.importing)
    window, run = studio.window, studio.models.run
    if earlier is not None:
        window.open_requested.emit(f"/networks/{earlier}.onnx")
        qtbot.waitUntil(lambda: run.activity is Activity.READY)
    title = window.windowTitle()
    window.open_requested.emit(LARGE)
    qtbot.waitUntil(lambda: studio.models.log.rowCount() > 0)
    assert run.activity is Activity.OPENING
    assert window.run_panel._stop.toolTip().startswith("Stop opening")
    stop(qtbot, studio)
    assert run.activity is (Activity.READY if earlier else Activity.IDLE)
    assert window.windowTitle() == title
    assert window.start_page.isVisible() is (earlier is None)
    assert not window.actions_.stop.isEnabled() and window.actions_.open.isEnabled()
    assert window.banner.isVisible() and "Opening large.onnx was stopped." in window.banner.text
    window.open_requested.emit("/networks/other.onnx")
    qtbot.waitUntil(lambda: run.opened is not None and run.opened.network.name == "other")
    assert run.activity is Activity.READY and run.engine is EngineHealth.READY
    log = studio.models.log
    assert {log.entry(row).kind for row in range(log.rowCount())} == {EntryKind.NOTICE}


@pytest.mark.parametrize("earlier", [None, "resnet"])
def test_a_network_that_takes_long_is_left_off_for_another(
    open_studio: Open, qtbot: QtBot, earlier: str | None
) -> None:
    studio = open_studio(studio_engines.importing)
    window, run, log = studio.window, studio.models.run, studio.models.log
    if earlier is not None:
        window.open_requested.emit(f"/networks/{earlier}.onnx")
        qtbot.waitUntil(lambda: run.activity is Activity.READY)
    window.open_requested.emit(LARGE)
    qtbot.waitUntil(lambda: log.rowCount() > 0)
    engine = studio.engine.engine_pid
    actions = window.actions_
    assert all(one.isEnabled() for one in (actions.open, actions.sample, window.start_page.sample_button))
    window.open_requested.emit("/networks/other.onnx")
    assert run.activity is Activity.OPENING and run.opening_name == "other.onnx"
    assert not window.banner.isVisible(), "nobody asked for a stop"
    qtbot.waitUntil(lambda: run.opened is not None and run.opened.network.name == "other")
    assert run.activity is Activity.READY and run.engine is EngineHealth.READY
    assert studio.engine.engine_pid != engine
    sentences = [log.entry(row).sentence for row in range(log.rowCount())]
    assert "Opening large.onnx was stopped." in sentences


def test_a_network_that_is_soon_open_needs_no_fresh_engine_for_another(desk: Desk, qtbot: QtBot) -> None:
    left: list[str] = []
    desk.engine.lost.connect(lambda loss: left.append(loss.reason))
    desk.tell(events.EngineReady(seconds=0.05, pid=1))
    shown = desk.models.run.opened
    desk.controller.open_network("/n/first.onnx")
    desk.controller.open_network("/n/broken.onnx")
    desk.controller.tune_sample(request_of(recorded_run.config()))
    desk.tell(recorded_run.opened(replace(recorded_run.NETWORK, name="first")))
    desk.tell(events.Refused(stage="network", sentence="It is broken."))
    assert desk.models.run.activity is Activity.OPENING and desk.models.run.opened is shown
    assert not any(said is not None for said in desk.said), "nobody waits for these any more"
    qtbot.wait(150)
    assert not left
    desk.tell(recorded_run.opened())
    assert desk.models.run.opened is not None and desk.models.run.opened.network == recorded_run.NETWORK
    assert isinstance(desk.engine.sent[-1], events.StartRun)


def test_what_is_on_screen_stays_where_only_what_nobody_waits_for_was_opened(desk: Desk) -> None:
    desk.models.library.tuned = True
    desk.models.schedules.pinned = NOTHING
    proposed: list[object] = []
    desk.checkpoints.terms_told.connect(proposed.append)
    desk.checkpoints.refused.connect(proposed.append)
    for path in (LARGE, "/n/dynamic.onnx", "/n/broken.onnx"):
        desk.controller.open_network(path)
    desk.tell(recorded_run.opened(replace(recorded_run.NETWORK, name="large", shapes=(("x", (1, 3)),))))
    desk.tell(events.Refused(stage="network", sentence="It is dynamic.", shapes=(("x", (1, 3)),)))
    broken = events.Refused(stage="network", sentence="It is broken.")
    desk.tell(broken)
    assert desk.models.run.activity is Activity.READY
    assert desk.models.library.tuned and not desk.models.library.held
    assert desk.models.schedules.pinned is NOTHING
    assert proposed == [broken], "the form is about the network that was asked for last"


def test_a_fresh_engine_does_what_was_to_follow(desk: Desk, qtbot: QtBot) -> None:
    desk.controller.open_network(LARGE)
    with qtbot.waitSignal(desk.engine.lost) as lost:
        desk.controller.tune_sample(request_of(recorded_run.config()))
        desk.tell(events.EngineReady(seconds=0.05, pid=1))
    assert lost.args is not None and lost.args[0].reason == "Opening large.onnx was stopped."
    assert opened_paths(desk)[-3:] == [LARGE, None, None], "asked of the engine that is gone, and once more"
    desk.tell(events.EngineReady(seconds=0.05, pid=2), recorded_run.opened())
    assert any(isinstance(command, events.StartRun) for command in desk.engine.sent)


def test_an_engine_that_was_lost_over_another_network_is_asked_again(desk: Desk) -> None:
    desk.controller.open_network(LARGE)
    desk.controller.tune_sample(request_of(recorded_run.config()))
    lost = EngineLoss(generation=1, forced=False, reason="The engine was ended by SIGSEGV.", restarting=True)
    desk.engine.lost.emit(lost)
    assert opened_paths(desk)[-3:] == [LARGE, None, None], "asked of the engine that is gone, and once more"
    assert desk.models.run.activity is Activity.OPENING and desk.models.run.opening_name == "the sample network"
    assert desk.said[-1] is None and desk.models.log.entry(0).sentence == lost.reason
    desk.engine.lost.emit(replace(lost, generation=2))
    assert len(opened_paths(desk)) == 4, "this time it was over the sample: that would kill one engine after the other"
    assert desk.models.run.activity is Activity.READY
    assert desk.said[-1] is not None and desk.said[-1].mood is Mood.BAD


def test_an_engine_that_does_not_start_is_asked_nothing(desk: Desk) -> None:
    desk.controller.open_network(LARGE)
    desk.controller.open_network("/n/next.onnx")
    desk.engine.lost.emit(EngineLoss(generation=1, forced=False, reason="It exited.", restarting=False))
    assert opened_paths(desk)[-2:] == [LARGE, "/n/next.onnx"]
    assert desk.models.run.engine is EngineHealth.DOWN and desk.models.run.activity is Activity.READY


def test_a_network_that_is_being_opened_is_not_begun_anew(desk: Desk) -> None:
    desk.controller.open_network(LARGE)
    sent = len(desk.engine.sent)
    desk.controller.open_network(LARGE)
    assert len(desk.engine.sent) == sent
    assert not any(said is not None for said in desk.said)
    desk.controller.open_network(LARGE, threads=1)
    assert desk.engine.sent[-1] == events.OpenNetwork(path=LARGE, threads=1)


def test_what_was_to_follow_does_not(desk: Desk) -> None:
    shown = desk.models.run.opened
    desk.controller.tune_sample(request_of(recorded_run.config()))
    desk.controller.open_network("/n/next.onnx")
    desk.controller.stop_run()
    said = desk.said[-1]
    assert said is not None and said.mood is Mood.NEUTRAL and said.action is None
    assert desk.models.run.activity is Activity.READY and desk.models.run.opened is shown
    desk.open(None, recorded_run.opened())
    assert desk.models.run.activity is Activity.READY
    assert not any(isinstance(command, events.StartRun) for command in desk.engine.sent)
    assert desk.engine.sent[-1] != events.OpenNetwork(path="/n/next.onnx")


def test_the_form_is_about_the_network_that_was_asked_for_before(desk: Desk) -> None:
    desk.open("/n/net.onnx", recorded_run.opened(replace(recorded_run.NETWORK, path="/n/net.onnx")))
    desk.controller.open_network(LARGE)
    desk.controller.open_network("/n/next.onnx")
    desk.controller.stop_run()
    assert desk.controller.asked_path == "/n/net.onnx"
    assert desk.models.run.opened is not None and desk.models.run.opened.network.path == "/n/net.onnx"
