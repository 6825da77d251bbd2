"""All decisions of a sketch to turn, one below the other, each with what it was and what replay made of it."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QScrollArea, QSizePolicy, QWidget

from app.models import what_if_wording as wording
from app.models.what_if import WhatIf
from app.translation import tr
from app.widgets.decision_editor import DecisionEditor
from app.widgets.parts import ElidedLabel, label
from tcl_core.what_if_events import Control


class DecisionList(QScrollArea):
    """Signals: turned, with the number of a decision and its new value."""

    turned = Signal(int, object)

    def __init__(self, what_if: WhatIf, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._what_if = what_if
        self._controls: tuple[Control, ...] = ()
        self.editors: list[DecisionEditor] = []
        self.notes: list[QLabel] = []
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleName(tr("Decisions of the schedule"))

    def refresh(self) -> None:
        """Show the model."""
        desk = self._what_if.desk
        controls = desk.controls if desk else ()
        if controls is not self._controls:
            self._controls = controls
            self._rebuild()
        for slot, editor in enumerate(self.editors):
            editor.show_value(self._what_if.decisions[slot])
            text = self._note(slot)
            self.notes[slot].setText(text)
            self.notes[slot].setToolTip(text)
            self.notes[slot].setVisible(bool(text))

    def _rebuild(self) -> None:
        self.editors, self.notes = [], []
        content = QWidget()
        grid = QGridLayout(content)
        grid.setContentsMargins(0, 0, 8, 0)
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(2)
        for slot, control in enumerate(self._controls):
            editor, note = DecisionEditor(control), label("", "muted")
            editor.chosen.connect(partial(self.turned.emit, slot))
            title = ElidedLabel(text=wording.name(control))
            title.setBuddy(editor.boxes[0])
            note.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
            grid.addWidget(title, 2 * slot, 0, Qt.AlignmentFlag.AlignBottom)
            grid.addWidget(note, 2 * slot, 1, Qt.AlignmentFlag.AlignBottom)
            grid.addWidget(editor, 2 * slot + 1, 0, 1, 2)
            grid.setRowMinimumHeight(2 * slot, 22)
            self.editors.append(editor)
            self.notes.append(note)
        if not self._controls:
            grid.addWidget(label(tr("This sketch has no decision to change."), "muted"), 0, 0)
        grid.setColumnStretch(1, 1)
        grid.setRowStretch(2 * len(self._controls) + 1, 1)
        self.setWidget(content)

    def _note(self, slot: int) -> str:
        """What a decision was, and what replay made of it."""
        control, now, own = self._controls[slot], self._what_if.decisions[slot], self._what_if.own[slot]
        answer = self._what_if.answer
        replayed = answer.replayed.decisions[slot] if answer and answer.replayed else now
        notes = [tr("replay: {value}", value=wording.value(control, replayed))] if replayed != now else []
        notes += [tr("was {value}", value=wording.value(control, own))] if own != now else []
        return ", ".join(notes)
