"""Boxes in an area that scrolls: the wheel scrolls the area, and changes a box only where a person is at work in it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QWidget


class WheelPass(QObject):
    """Lets the wheel pass by the boxes it watches, unless they have the focus; which the wheel no longer gives them."""

    def __init__(self, parent: QObject, *boxes: QWidget) -> None:
        super().__init__(parent)
        for box in boxes:
            box.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            box.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802  Qt's name
        if event.type() == QEvent.Type.Wheel and isinstance(watched, QWidget) and not watched.hasFocus():
            event.ignore()  # taken here, and handed on to the parent
            return True
        return super().eventFilter(watched, event)
