"""Devices over the network around engines that look at samples: the panel, the form, settings, what is told when."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import device_samples
import pytest
import recorded_run
import studio_engines
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot
from silent_desk import Desk

from app.application import Studio
from app.device_controller import DeviceController, this_machine
from app.jobs.engine_process import EngineTarget
from app.jobs.engine_thread import EngineLoss
from app.models.announcement import WayOn
from app.models.device_table import DeviceColumn
from app.models.run_request import request_of
from app.models.run_state import Activity
from app.settings import Settings
from app.views.devices_panel import DevicesPanel
from tcl_core.device_events import DeviceSeen
from tcl_core.devices import LookAtDevice
from tcl_core.domain import Failure, Stage
from tcl_core.events import Crashed, Refused, RunStarted

PI = "pi.local:9090"
Open = Callable[[EngineTarget], Studio]


@pytest.fixture
def studio(open_studio: Open, qtbot: QtBot) -> Studio:
    """A studio with its devices in front, and none over the network yet."""
    studio = open_studio(device_samples.looking)
    studio.window.show_panel("devices")
    qtbot.waitUntil(lambda: not panel(studio).visibleRegion().isEmpty())
    return studio


def panel(studio: Studio) -> DevicesPanel:
    return studio.window.devices_panel


def click(qtbot: QtBot, button: QPushButton) -> None:
    assert button.isEnabled()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def column(studio: Studio, number: int) -> list[str]:
    model = studio.models.devices
    return [model.index(row, number).data() for row in range(model.rowCount())]


def add(qtbot: QtBot, studio: Studio, address: str) -> None:
    """As a person does, with the keyboard; waits for what the look shows."""
    panel(studio).address.setFocus()
    qtbot.keyClicks(panel(studio).address, address)
    qtbot.keyClick(panel(studio).address, Qt.Key.Key_Return)
    if address in device_samples.LOOKS:
        look = device_samples.LOOKS[address]
        row = studio.models.devices.row_of(address)
        qtbot.waitUntil(lambda: studio.models.devices.device(row).look == look)


def target(studio: Studio) -> str:
    return studio.window.run_panel.form.request.target


def choices(studio: Studio) -> list[str]:
    box = studio.window.run_panel.form._target
    return [box.itemText(row) for row in range(box.count())][5:]


def test_whoever_has_no_device_reads_how_to_get_one(studio: Studio) -> None:
    assert panel(studio)._empty.isVisible() and not panel(studio)._card.isVisible()
    assert "`main.py serve`" in panel(studio)._empty._hint.text()
    here = this_machine()
    assert column(studio, DeviceColumn.DEVICE) == ["This machine"]
    assert column(studio, DeviceColumn.CPU) == [here.cpu] and column(studio, DeviceColumn.CORES) == [f"{here.cores}"]
    for button in (panel(studio).look_button, panel(studio).look_at_all_button, panel(studio).remove_button):
        assert not button.isEnabled() and button.accessibleName()


def test_a_device_is_added_and_looked_at(studio: Studio, qtbot: QtBot) -> None:
    for address in device_samples.LOOKS:
        add(qtbot, studio, address)
    assert column(studio, DeviceColumn.STATE) == ["free", "free", "busy", "absent", "unfit", "free"]
    assert panel(studio).address.text() == "" and panel(studio)._card.isVisible()
    for number, look in enumerate(device_samples.LOOKS.values(), start=1):
        panel(studio).table.selectRow(number)
        assert panel(studio)._name.text() == look.address
        assert panel(studio)._sentence.text() == (look.sentence or "A run on it can begin now.")
    panel(studio).table.selectRow(1)
    assert "apache-tvm 0.27.0.post1" in panel(studio)._details.text()


def test_what_is_no_address_is_refused_in_the_panel(studio: Studio, qtbot: QtBot) -> None:
    add(qtbot, studio, "pi.local")
    assert panel(studio)._refusal.isVisible()
    assert '"pi.local" is no address of a device: write HOST:PORT' in panel(studio)._refusal.text()
    assert studio.models.devices.addresses == () and panel(studio).address.text() == "pi.local"
    qtbot.keyClicks(panel(studio).address, ":9090")
    assert not panel(studio)._refusal.isVisible()
    qtbot.keyClick(panel(studio).address, Qt.Key.Key_Return)
    assert studio.models.devices.addresses == (PI,)


def test_nothing_written_is_nothing_added(studio: Studio, qtbot: QtBot) -> None:
    click(qtbot, panel(studio).add_button)
    assert studio.models.devices.addresses == () and panel(studio).address.hasFocus()


def test_a_device_that_is_there_already_is_shown_and_looked_at_again(studio: Studio, qtbot: QtBot) -> None:
    add(qtbot, studio, "desk:9190/pi4")
    add(qtbot, studio, PI)
    add(qtbot, studio, " desk:9190/pi4 ")
    assert studio.models.devices.addresses == ("desk:9190/pi4", PI)
    assert panel(studio).selected is not None and panel(studio).selected.address == "desk:9190/pi4"


def test_looking_again_says_that_it_looks(studio: Studio, qtbot: QtBot) -> None:
    add(qtbot, studio, "later:9090")
    add(qtbot, studio, PI)
    assert column(studio, DeviceColumn.STATE)[1] == "looking …"
    panel(studio).table.selectRow(1)
    assert not panel(studio).look_button.isEnabled(), "a look is out"
    panel(studio).table.selectRow(2)
    click(qtbot, panel(studio).look_button)
    assert column(studio, DeviceColumn.STATE) == ["free", "looking …", "looking …"]
    qtbot.waitUntil(lambda: column(studio, DeviceColumn.STATE)[2] == "free")
    click(qtbot, panel(studio).look_at_all_button)
    qtbot.waitUntil(lambda: column(studio, DeviceColumn.STATE)[2] == "free")


def test_a_removed_device_comes_back_by_undo(studio: Studio, qtbot: QtBot) -> None:
    for address in (PI, "desk:9190/pi4", "192.168.178.43:9090"):
        add(qtbot, studio, address)
    panel(studio).table.selectRow(2)
    click(qtbot, panel(studio).remove_button)
    assert studio.models.devices.addresses == (PI, "192.168.178.43:9090")
    assert studio.window.banner.text == "desk:9190/pi4 is no longer remembered."
    click(qtbot, studio.window.banner.action_button)
    assert studio.models.devices.addresses == (PI, "desk:9190/pi4", "192.168.178.43:9090")
    assert column(studio, DeviceColumn.STATE)[2] == "busy", "what was seen is known yet"


def test_the_next_run_is_put_on_a_device_and_back(studio: Studio, qtbot: QtBot) -> None:
    add(qtbot, studio, PI)
    add(qtbot, studio, "desk:9190/pi4")
    panel(studio).table.selectRow(1)
    click(qtbot, panel(studio).tune_button)
    assert target(studio) == "cpu@pi.local:9090"
    studio.window.run_panel.form._target.setEditText('{"kind": "llvm", "mcpu": "cortex-a72"}@pi.local:9090')
    panel(studio).table.selectRow(2)
    click(qtbot, panel(studio).tune_button)
    assert target(studio) == '{"kind": "llvm", "mcpu": "cortex-a72"}@desk:9190/pi4'
    panel(studio).table.selectRow(0)
    click(qtbot, panel(studio).tune_button)
    assert target(studio) == '{"kind": "llvm", "mcpu": "cortex-a72"}'


def test_the_device_of_a_run_that_is_on_stays(studio: Studio) -> None:
    studio.models.run.activity = Activity.RUNNING
    studio.models.run.announce()
    assert not panel(studio).tune_button.isEnabled() and "A run is on" in panel(studio).tune_button.toolTip()
    panel(studio).table.activated.emit(studio.models.devices.index(0, 0))
    assert target(studio) == "cpu"
    studio.models.run.settle()


def test_all_is_done_with_the_keyboard(studio: Studio, qtbot: QtBot) -> None:
    add(qtbot, studio, PI)
    table = panel(studio).table
    seen = set()
    for _ in range(8):
        qtbot.keyClick(studio.window.focusWidget(), Qt.Key.Key_Tab)
        seen.add(studio.window.focusWidget())
    buttons = (panel(studio).add_button, panel(studio).tune_button, panel(studio).look_button)
    assert {*buttons, panel(studio).look_at_all_button, panel(studio).remove_button, table} <= seen
    table.setFocus()
    qtbot.keyClick(table, Qt.Key.Key_Return)
    assert target(studio) == "cpu@pi.local:9090"
    table.setFocus()
    qtbot.keyClick(table, Qt.Key.Key_Up)
    qtbot.keyClick(table, Qt.Key.Key_Delete)
    assert studio.models.devices.addresses == (PI,), "this machine cannot be removed"
    qtbot.keyClick(table, Qt.Key.Key_Down)
    qtbot.keyClick(table, Qt.Key.Key_Delete)
    assert studio.models.devices.addresses == ()


def test_the_panel_has_keys_of_its_own(open_studio: Open) -> None:
    docks = open_studio(studio_engines.playing).window.docks
    action = docks.actions[list(docks).index("devices")]
    assert (action.text(), action.shortcut().toString()) == ("Devices", "Alt+0")


def test_devices_are_remembered_and_what_was_seen_is_not(open_studio: Open, settings: Settings, qtbot: QtBot) -> None:
    settings.devices = (PI, "later:9090")
    studio = open_studio(device_samples.looking)
    qtbot.wait(50)
    assert column(studio, DeviceColumn.STATE) == ["free", "unknown", "unknown"], "nobody has asked"
    studio.window.show_panel("devices")
    qtbot.waitUntil(lambda: column(studio, DeviceColumn.STATE) == ["free", "free", "looking …"])


def test_a_panel_that_is_in_front_from_the_start_looks(open_studio: Open, settings: Settings, qtbot: QtBot) -> None:
    before = open_studio(device_samples.looking)
    before.window.show_panel("devices")
    qtbot.waitUntil(lambda: not panel(before).visibleRegion().isEmpty())
    before.window.close_unasked()
    settings.devices = (PI,)
    studio = open_studio(device_samples.looking)
    qtbot.waitUntil(lambda: column(studio, DeviceColumn.STATE) == ["free", "free"])


def test_the_form_offers_what_is_remembered(studio: Studio, qtbot: QtBot) -> None:
    form = studio.window.run_panel.form
    form._target.setEditText("cpu@pi")
    form._target.lineEdit().setCursorPosition(3)
    add(qtbot, studio, PI)
    add(qtbot, studio, "192.168.178.43:9090")
    assert choices(studio) == ["cpu@pi.local:9090", "cpu@192.168.178.43:9090"]
    assert (target(studio), form._target.lineEdit().cursorPosition()) == ("cpu@pi", 3), "it is being written"
    meanings = [form._target.itemData(row, Qt.ItemDataRole.ToolTipRole) for row in (5, 6)]
    assert meanings == ["Cortex-A72, 4 cores", "A device over the network"]
    assert "behind an @" in form._target.toolTip()
    studio.devices.remove(PI)
    assert choices(studio) == ["cpu@192.168.178.43:9090"]
    form._target.setCurrentIndex(5)
    assert target(studio) == "cpu@192.168.178.43:9090"


def test_a_device_that_was_tuned_on_by_hand_is_remembered(studio: Studio, settings: Settings, qtbot: QtBot) -> None:
    studio.window.run_panel.form._target.setEditText("cpu@pi.local:9090")
    studio.window.open_requested.emit("/networks/broken.onnx")
    qtbot.waitUntil(lambda: "is not an ONNX file" in studio.window.banner.text)
    assert settings.devices == (), "it is not known that it can be tuned on"
    studio.window.open_requested.emit(None)
    qtbot.waitUntil(lambda: settings.devices == (PI,))
    assert choices(studio) == ["cpu@pi.local:9090"]
    qtbot.waitUntil(lambda: column(studio, DeviceColumn.STATE)[1] == "free")


@pytest.fixture
def devices(desk: Desk) -> DeviceController:
    """Around an engine that says nothing itself; one device is remembered, and the look at it is out."""
    desk.devices.add(PI)
    assert desk.engine.sent[-1] == LookAtDevice(address=PI)
    return desk.devices


def looks(desk: Desk) -> list[str]:
    return [command.address for command in desk.engine.sent if isinstance(command, LookAtDevice)]


def state(desk: Desk, row: int = 1) -> str:
    return str(desk.models.devices.index(row, DeviceColumn.STATE).data())


def test_one_look_at_a_time(desk: Desk, devices: DeviceController) -> None:
    devices.look_at(PI)
    devices.look_at("")
    devices.look_at("unheard.of:1")
    assert looks(desk) == [PI]
    desk.tell(DeviceSeen(look=device_samples.FREE))
    devices.look_at(PI)
    assert looks(desk) == [PI, PI]


def test_a_look_that_comes_back_too_late_is_for_nobody(desk: Desk, devices: DeviceController) -> None:
    devices.remove(PI)
    desk.tell(DeviceSeen(look=device_samples.FREE))
    assert desk.models.devices.addresses == ()
    devices.restore()
    assert state(desk) == "looking …" and looks(desk) == [PI, PI], "what it showed is lost: it is looked at again"
    devices.restore()
    assert desk.models.devices.addresses == (PI,)


def test_undo_puts_nothing_there_twice(desk: Desk, devices: DeviceController, settings: Settings) -> None:
    devices.remove(PI)
    assert settings.devices == ()
    said = desk.said[-1]
    assert said is not None and said.action is WayOn.RESTORE_DEVICE
    devices.add(PI)
    devices.take_way_on(WayOn.RESTORE_DEVICE)
    assert settings.devices == (PI,)
    devices.remove(PI)
    devices.take_way_on(WayOn.SHOW_LOG)
    assert settings.devices == ()


def test_a_look_whose_engine_is_gone_is_over(desk: Desk, devices: DeviceController) -> None:
    desk.engine.lost.emit(EngineLoss(generation=1, forced=False, reason="It is gone.", restarting=True))
    assert state(desk) == "unknown"
    devices.look_at_unseen()
    assert state(desk) == "looking …" and looks(desk) == [PI, PI]
    failure = Failure(stage=Stage.IMPORT, cause="KeyError", message="")
    desk.tell(Crashed(failure=failure, log_path="/log"))
    assert state(desk) == "unknown"


def test_whoever_brings_the_panel_to_the_front_sees_this_machine(desk: Desk, devices: DeviceController) -> None:
    devices.look_at_unseen()
    devices.look_at_unseen()
    assert desk.models.devices.device(0).look == device_samples.HERE
    assert looks(desk) == [PI], "the look at it is out already"


def test_a_run_remembers_its_device_too(desk: Desk, devices: DeviceController, settings: Settings) -> None:
    started, *_ = desk.started("/w")
    desk.tell(replace(started, config=replace(recorded_run.config(), target="cpu@desk:9190/pi4")))
    assert settings.devices == (PI, "desk:9190/pi4") and looks(desk) == [PI, "desk:9190/pi4"]
    desk.tell(replace(started, config=replace(recorded_run.config(), target="cpu@what?")))
    assert settings.devices == (PI, "desk:9190/pi4")


@pytest.mark.parametrize(("target", "state"), [("cpu", "busy"), (f"cpu@{PI}", "free")])
def test_this_machine_is_busy_while_a_run_measures_on_it(
    desk: Desk, devices: DeviceController, target: str, state: str
) -> None:
    began, *_ = desk.started("/w")
    assert isinstance(began, RunStarted)
    desk.controller.start_run(request_of(began.config))
    desk.tell(replace(began, config=replace(began.config, target=target)))
    devices.look_at_unseen()  # whoever looks at the table now sees the same
    here = desk.models.devices.device(0).look
    assert here is not None and here.state.value == state and here.cpu == device_samples.HERE.cpu
    desk.controller.hold_or_resume()
    assert desk.models.devices.device(0).mark.value == state, "a run that is held goes on"
    desk.tell(Refused(stage="tune", sentence="It broke off."))
    assert desk.models.devices.device(0).mark.value == "free"
