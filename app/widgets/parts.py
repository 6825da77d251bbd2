"""Small parts of panels: labels with a role in the style sheet, a thin line, an empty state with a way out of it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QLabel,
    QPushButton,
    QStyle,
    QStyleOptionComboBox,
    QStylePainter,
    QToolTip,
    QVBoxLayout,
    QWidget,
)

from app.icons import picture
from app.tokens import Tokens

_FIELD_MARGIN = 2
"""Pixels that the style keeps free around a field's words."""


def label(text: str, role: str = "", *, wrap: bool = False) -> QLabel:
    """A label whose look is `role` in the style sheet: title, headline, section, muted, warn or figure."""
    made = QLabel(text)
    made.setObjectName(role)
    made.setWordWrap(wrap)
    made.setTextFormat(Qt.TextFormat.PlainText)
    return made


class ElidedLabel(QLabel):
    """One line that leaves out its middle, or its end, where there is no room for it; the whole text is `text`.

    What is left out is told by a tool tip, unless there is another one.
    """

    def __init__(self, role: str = "", least_width: int = 40, *, text: str = "", end: bool = False) -> None:
        super().__init__(text)
        self._mode = Qt.TextElideMode.ElideRight if end else Qt.TextElideMode.ElideMiddle
        self.setObjectName(role)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setMinimumWidth(least_width)

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802  Qt's name
        painter, room = QPainter(self), self.contentsRect()
        self.style().drawItemText(
            painter, room, int(self.alignment()), self.palette(), self.isEnabled(), self.shown, self.foregroundRole()
        )
        painter.end()

    @property
    def shown(self) -> str:
        """The text as far as there is room for it."""
        return self.fontMetrics().elidedText(self.text(), self._mode, self.contentsRect().width())

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and not self.toolTip() and self.shown != self.text():
            QToolTip.showText(event.globalPos(), self.text(), self)
            return True
        return super().event(event)


class ElidedBox(QComboBox):
    """A choice that leaves out the end of its words where there is no room for them; its list shows them whole."""

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802  Qt's name
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        painter = QStylePainter(self)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        option.currentText = self.shown
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)
        painter.end()

    @property
    def shown(self) -> str:
        """The words as far as there is room for them."""
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        field = QStyle.SubControl.SC_ComboBoxEditField
        room = self.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, field, self).width()
        return self.fontMetrics().elidedText(self.currentText(), Qt.TextElideMode.ElideRight, room - _FIELD_MARGIN)


def line() -> QFrame:
    """A thin horizontal line."""
    made = QFrame()
    made.setObjectName("line")
    return made


class EmptyState(QWidget):
    """What a panel shows before it has content: an icon, what will be here, and what to do for it."""

    def __init__(self, icon_name: str, headline: str, hint: str, button: QPushButton | None = None) -> None:
        super().__init__()
        self._icon_name = icon_name
        self._picture = QLabel()
        self._picture.setAlignment(Qt.AlignmentFlag.AlignCenter)
        title, text = label(headline, "section"), label(hint, "muted", wrap=True)
        self._hint = text
        layout = QVBoxLayout(self)
        layout.setSpacing(6)
        layout.addStretch()
        for part in (self._picture, title, text):
            layout.addWidget(part)
        for part in (title, text):
            part.setAlignment(Qt.AlignmentFlag.AlignCenter)
        if button is not None:
            layout.addSpacing(4)
            layout.addWidget(button, alignment=Qt.AlignmentFlag.AlignCenter)
        layout.addStretch()

    def say(self, hint: str) -> None:
        """Say something else on what to do."""
        self._hint.setText(hint)

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self._picture.setPixmap(picture(self._icon_name, tokens.disabled, 32, self.font()))
