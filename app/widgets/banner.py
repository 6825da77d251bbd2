"""A sentence across the panel with one action: what happened, and the way on. Never a box in front of the window."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QToolButton, QWidget

from app.icons import icon, picture
from app.models.announcement import Announcement, Mood
from app.tokens import LIGHT, Tokens
from app.translation import tr
from app.widgets.parts import label

_ICONS = {Mood.GOOD: "check", Mood.NEUTRAL: "info", Mood.WARN: "warning", Mood.BAD: "warning"}


class Banner(QFrame):
    """Shows one `Announcement` at a time. Signals: acted, with the announcement's action."""

    acted = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("banner")
        self._tokens = LIGHT
        self._announcement: Announcement | None = None
        self._picture = QLabel()
        self._text = label("", wrap=True)
        self._action = QPushButton()
        self._action.clicked.connect(self._act)
        self._close = QToolButton()
        self._close.setAutoRaise(True)
        self._close.setToolTip(tr("Dismiss"))
        self._close.setAccessibleName(tr("Dismiss the message"))
        self._close.clicked.connect(lambda: self.announce(None))
        layout = QHBoxLayout(self)
        layout.setContentsMargins(12, 8, 8, 8)
        layout.addWidget(self._picture)
        layout.addWidget(self._text, 1)
        layout.addWidget(self._action)
        layout.addWidget(self._close)
        self.hide()

    @property
    def text(self) -> str:
        """The sentence on screen; "" while hidden."""
        return self._announcement.sentence if self._announcement else ""

    @property
    def action_button(self) -> QPushButton:
        """The way on."""
        return self._action

    def announce(self, announcement: Announcement | None) -> None:
        """Show an announcement in place of the one before; None hides."""
        self._announcement = announcement
        self.setVisible(announcement is not None)
        if announcement is None:
            return
        self._text.setText(announcement.sentence)
        self.setAccessibleName(announcement.sentence)
        self._action.setText(announcement.action_text)
        self._action.setVisible(announcement.action is not None)
        self.setProperty("mood", announcement.mood.value)
        self.style().unpolish(self)
        self.style().polish(self)
        self._draw()

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self._tokens = tokens
        self._close.setIcon(icon("close", tokens.muted))
        self._draw()

    def _draw(self) -> None:
        if self._announcement is None:
            return
        mood = self._announcement.mood
        colours = {Mood.GOOD: self._tokens.good, Mood.WARN: self._tokens.warn, Mood.BAD: self._tokens.bad}
        colour = colours.get(mood, self._tokens.muted)
        self._picture.setPixmap(picture(_ICONS[mood], colour, 18, self.font()))

    def _act(self) -> None:
        if self._announcement is not None:
            action = self._announcement.action
            self.announce(None)
            self.acted.emit(action)
