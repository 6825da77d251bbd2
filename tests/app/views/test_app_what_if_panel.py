"""The what-if panel on recorded answers: controls, prediction, the reasons, keys, and the list."""

from __future__ import annotations

from dataclasses import replace

import pytest
import recorded_what_if as recorded
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QStyle, QStyleOptionComboBox
from pytestqt.qtbot import QtBot

from app.models.run_state import Activity
from app.models.studio import StudioModels
from app.tokens import DARK, LIGHT
from app.views.what_if_panel import WhatIfPanel
from app.widgets.decision_editor import DecisionEditor
from tcl_core.domain import Source
from tcl_core.what_if_events import WhatIfMeasured

# What Qt's offscreen plugin says of windows besides the main one; it says nothing about the studio.
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


@pytest.fixture
def panel(models: StudioModels, qtbot: QtBot) -> WhatIfPanel:
    made = WhatIfPanel(models.what_if, models.schedules, models.tasks, models.run)
    qtbot.addWidget(made)
    made.apply_tokens(LIGHT)
    made.resize(1100, 380)
    made.show()
    qtbot.waitExposed(made)
    return made


def show(models: StudioModels) -> None:
    models.what_if.open(recorded.desk())
    answer(models)


def answer(models: StudioModels) -> None:
    candidate = models.what_if.candidate
    assert candidate is not None
    models.what_if.scored = recorded.scored(1, candidate)
    models.what_if.announce()


def choose(panel: WhatIfPanel, slot: int, text: str, place: int = 0) -> None:
    """As a person does with the keyboard or the mouse."""
    box = panel.decisions.editors[slot].boxes[place]
    index = box.findText(text)
    assert index >= 0
    box.setCurrentIndex(index)
    box.activated.emit(index)


def texts(panel: WhatIfPanel, slot: int) -> list[str]:
    return [box.currentText() for box in panel.decisions.editors[slot].boxes]


def test_an_empty_panel_says_what_to_do(panel: WhatIfPanel, models: StudioModels, qtbot: QtBot) -> None:
    assert panel._stack.currentIndex() == 0 and not panel.first_button.isEnabled()
    models.schedules.task_key, models.schedules.tuned = recorded.TASK.key, True
    models.schedules.announce()
    assert recorded.TASK.name in panel.first_button.toolTip()
    with qtbot.waitSignal(panel.best_requested):
        qtbot.mouseClick(panel.first_button, Qt.MouseButton.LeftButton)


def test_decisions_are_shown_by_loop_and_block(panel: WhatIfPanel, models: StudioModels) -> None:
    show(models)
    assert panel.title.text() == f"{recorded.TASK.name} · sketch 1"
    assert [texts(panel, slot) for slot in range(4)] == [
        ["8", "4", "2"],
        ["4", "4", "2"],
        ["up to 16 steps"],
        ["under loop i_0"],
    ]
    box = panel.decisions.editors[0].boxes[1]
    assert box.accessibleName() == "2nd factor, tile of loop i in matmul"
    assert box.toolTip().startswith("Extent of the 2nd loop")
    assert not any(note.text() for note in panel.decisions.notes)


def test_a_factor_without_a_choice_says_so(qtbot: QtBot) -> None:
    control = recorded.CONTROLS[0]
    editor = DecisionEditor(replace(control, values=control.values[:1]))
    qtbot.addWidget(editor)
    hints = {(box.isEnabled(), box.toolTip()) for box in editor.boxes}
    assert hints == {(False, "It has one legal value only")}


def test_a_factor_takes_the_others_with_it_and_can_be_undone(panel: WhatIfPanel, models: StudioModels) -> None:
    show(models)
    choose(panel, 0, "32")
    assert texts(panel, 0) == ["32", "1", "2"]
    assert panel.decisions.notes[0].text() == "was 8·4·2"
    assert panel.card.rank.text() == "…" and panel.reset.isEnabled()
    answer(models)
    assert panel.card.rank.text() == "12th of 160 measured"
    assert panel.card.score.text().startswith("Predicted score 1.50")
    assert panel.card.alike.text() == "Records that score alike ran in 500 µs to 900 µs."
    panel.undo.trigger()
    assert texts(panel, 0) == ["8", "4", "2"] and not panel.reset.isEnabled()
    panel.redo.trigger()
    assert texts(panel, 0) == ["32", "1", "2"]
    panel.reset.trigger()
    assert models.what_if.candidate == recorded.OWN


def test_a_factor_of_a_long_loop_is_shown_whole(qtbot: QtBot) -> None:
    long = replace(recorded.CONTROLS[0], values=((4, 1048576), (1048576, 4)))
    editor = DecisionEditor(long)
    qtbot.addWidget(editor)
    editor.show_value((4, 1048576))
    editor.resize(editor.sizeHint())
    editor.show()
    qtbot.waitExposed(editor)
    for box in editor.boxes:
        about = QStyleOptionComboBox()
        box.initStyleOption(about)
        room = box.style().subControlRect(
            QStyle.ComplexControl.CC_ComboBox, about, QStyle.SubControl.SC_ComboBoxEditField, box
        )
        assert room.width() >= box.fontMetrics().horizontalAdvance("1048576")


def test_undo_has_its_key(panel: WhatIfPanel, models: StudioModels, qtbot: QtBot) -> None:
    show(models)
    choose(panel, 2, "off")
    panel.activateWindow()
    panel.decisions.editors[2].boxes[0].setFocus()
    qtbot.waitUntil(panel.decisions.editors[2].boxes[0].hasFocus)
    qtbot.keyClick(panel.decisions.editors[2].boxes[0], Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert texts(panel, 2) == ["up to 16 steps"]


def test_what_replay_changes_stands_beside_the_decision(panel: WhatIfPanel, models: StudioModels) -> None:
    show(models)
    models.what_if.turn(0, recorded.MOVED)
    answer(models)
    assert panel.decisions.notes[0].text() == "replay: 32·2·1, was 8·4·2"
    assert panel.card.measure_button.isEnabled()


def test_measuring_waits_for_a_candidate_that_can_be_measured(
    panel: WhatIfPanel, models: StudioModels, qtbot: QtBot
) -> None:
    show(models)
    button = panel.card.measure_button
    assert not button.isEnabled() and panel.card.reason.text() == "It is measured already."
    assert panel.card.measured.text() == "Measured: 600 µs, 1.50× the best"
    models.what_if.turn(0, recorded.ILLEGAL)
    answer(models)
    assert not button.isEnabled() and "a primitive does not apply" in panel.card.problem.text()
    models.what_if.undo.undo()
    choose(panel, 2, "off")
    answer(models)
    with qtbot.waitSignal(panel.measure_requested):
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    models.what_if.measuring = True
    models.what_if.announce()
    assert not button.isEnabled() and button.text() == "Measuring…"
    models.what_if.measuring = False
    models.what_if.announce()
    assert button.isEnabled() and button.text() == "Measure"
    with qtbot.waitSignal(panel.measure_requested):
        qtbot.keyClick(panel, Qt.Key.Key_M, Qt.KeyboardModifier.ControlModifier)


def test_during_a_run_it_says_when_it_answers(panel: WhatIfPanel, models: StudioModels) -> None:
    show(models)
    choose(panel, 2, "off")
    models.run.activity = Activity.RUNNING
    models.run.announce()
    assert "between this round and the next" in panel.card.reason.text()
    assert panel.card.measure_button.isEnabled()


def test_what_was_measured_is_opened_and_taken_over(panel: WhatIfPanel, models: StudioModels, qtbot: QtBot) -> None:
    show(models)
    assert panel._no_made.isVisible() and not panel.open_button.isEnabled()
    choose(panel, 2, "off")
    answer(models)
    candidate = recorded.turned(2, (0,))
    record = recorded.record(candidate, latency_s=3e-4, source=Source.PERSON)
    models.what_if.take_measured(WhatIfMeasured(request=1, record=record, known=False, best_s=3e-4), None)
    models.what_if.announce()
    assert panel.card.measured.text() == "Measured: 300 µs, the best of its task"
    assert not panel._no_made.isVisible()
    panel.reset.trigger()
    panel.table.selectRow(0)
    with qtbot.waitSignal(panel.schedule_requested) as opened:
        qtbot.mouseClick(panel.open_button, Qt.MouseButton.LeftButton)
    assert opened.args == [candidate]
    qtbot.mouseClick(panel.take_button, Qt.MouseButton.LeftButton)
    assert models.what_if.candidate == candidate and models.what_if.undo.canUndo()


def test_a_problem_is_told_where_it_arose(panel: WhatIfPanel, models: StudioModels) -> None:
    models.what_if.problem = "There is no workspace."
    models.what_if.announce()
    assert panel._empty._hint.text() == "There is no workspace."
    show(models)
    models.what_if.problem = "The workspace is in use."
    models.what_if.announce()
    assert panel.card.problem.text() == "The workspace is in use."


def test_everything_has_a_name_in_both_schemes(panel: WhatIfPanel, models: StudioModels) -> None:
    show(models)
    panel.apply_tokens(DARK)
    assert all(box.accessibleName() for editor in panel.decisions.editors for box in editor.boxes)
    assert panel.table.accessibleName() and panel.decisions.accessibleName()
    assert all(isinstance(action, QAction) and action.text() for action in (panel.undo, panel.redo, panel.reset))
