"""The form of a run: targets, the keyboard's way through it, the wheel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import studio_engines
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QAbstractSpinBox, QApplication, QComboBox, QWidget
from pytestqt.qtbot import QtBot

from app.application import Studio
from app.jobs.engine_process import EngineTarget
from app.models.run_state import Activity

Open = Callable[[EngineTarget], Studio]


def turn(widget: QWidget) -> None:
    """One notch of the wheel, towards a person."""
    middle = QPointF(widget.rect().center())
    event = QWheelEvent(
        middle, widget.mapToGlobal(middle), QPoint(), QPoint(0, -120), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(widget, event)


def test_a_target_is_chosen_or_written(open_studio: Open) -> None:
    form = open_studio(studio_engines.playing).window.run_panel.form
    assert form.request.target == "cpu"
    assert [form._target.itemText(row) for row in range(form._target.count())][-1] == "cuda"
    form._target.setCurrentIndex(2)
    assert form.request.target == "cpu:x86-64-v3"
    form._target.setEditText(' {"kind": "llvm"} ')
    assert form.request.target == '{"kind": "llvm"}'
    form._target.setEditText("")
    assert form.request.target == "cpu"


def test_a_target_on_no_address_is_told_in_the_form(open_studio: Open, qtbot: QtBot) -> None:
    studio = open_studio(studio_engines.playing)
    studio.window.open_requested.emit(None)
    qtbot.waitUntil(lambda: studio.models.run.activity is Activity.READY)
    form, start = studio.window.run_panel.form, studio.window.actions_.start
    form._target.setEditText("cpu@nowhere")
    assert form._problem.isVisible() and '"nowhere" is no address of a device' in form._problem.text()
    assert not start.isEnabled()
    form._target.setEditText("cpu@nowhere:9090")
    assert not form._problem.isVisible() and start.isEnabled()


def test_devices_are_offered_whole_behind_the_usual_targets(open_studio: Open) -> None:
    form = open_studio(studio_engines.playing).window.run_panel.form
    box, address = form._target, "a.very.long.name.of.a.host.example.org:9190/epyc"
    usual = [box.itemText(row) for row in range(box.count())]
    form._target.setCurrentIndex(1)
    form.offer_devices([("pi.local:9090", "Cortex-A72, 4 cores"), (address, "")])
    assert [box.itemText(row) for row in range(box.count())] == [*usual, "cpu@pi.local:9090", f"cpu@{address}"]
    assert (form.request.target, box.currentIndex()) == ("cpu:x86-64-v2", 1)
    assert box.view().minimumWidth() > box.fontMetrics().horizontalAdvance(f"cpu@{address}")
    form.set_device("pi.local:9090")
    assert form.request.target == "cpu:x86-64-v2@pi.local:9090"
    form.offer_devices([])
    assert box.count() == len(usual) and form.request.target == "cpu:x86-64-v2@pi.local:9090"


@pytest.mark.parametrize(
    ("minutes", "kept", "text"),
    [
        (None, None, "no limit"),
        (3.0, 3.0, "3"),
        (0.25, 0.25, "0.25"),
        (0.04, 0.04, "0.04"),
        (1e-6, 1e-4, "0.0001"),
        (1440.5, 1440.5, "1440.5"),
    ],
)
def test_minutes_are_kept_as_they_are(open_studio: Open, minutes: float | None, kept: float | None, text: str) -> None:
    form = open_studio(studio_engines.playing).window.run_panel.form
    form.set_request(replace(form.request, minutes=minutes))
    assert (form.request.minutes, form._minutes.text()) == (kept, text)


def test_minutes_are_typed(open_studio: Open, qtbot: QtBot) -> None:
    form = open_studio(studio_engines.playing).window.run_panel.form
    form._minutes.selectAll()
    qtbot.keyClicks(form._minutes, "0.125")
    assert form.request.minutes == 0.125


def test_tab_goes_through_the_form_as_it_stands(open_studio: Open) -> None:
    form = open_studio(studio_engines.playing).window.run_panel.form
    form.more_button.setChecked(True)
    chain, part = [form._workspace], form._workspace.nextInFocusChain()
    while part is not form._workspace:
        chain.append(part)
        part = part.nextInFocusChain()
    order = [chain.index(one) for one in (form._workspace, form._browse, form.more_button, form._threads, form._seed)]
    assert order == sorted(order)


def test_the_wheel_changes_only_the_field_at_work(open_studio: Open, qtbot: QtBot) -> None:
    form = open_studio(studio_engines.playing).window.run_panel.form
    before = form.request
    for box in (*form.findChildren(QAbstractSpinBox), *form.findChildren(QComboBox)):
        turn(box)
    assert form.request == before
    sampler = next(box for box in form.findChildren(QComboBox) if box.currentText() == before.sampler)
    sampler.setFocus()
    qtbot.waitUntil(sampler.hasFocus)
    turn(sampler)
    assert form.request.sampler != before.sampler
