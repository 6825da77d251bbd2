"""The first thing on screen: open a network, take a recent one, or tune the sample network."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.icons import icon, picture
from app.text_scale import text_scale
from app.tokens import Tokens
from app.translation import tr
from app.widgets.parts import label, line

_RECENT_SHOWN = 4
_LEAST_LINK, _LINK_FRAME = 120, 20
"""Width of a recent network's line, and what the style sheet leaves free at its two ends."""


class StartPage(QWidget):
    """Signals: open_requested, with a path or None for a file dialogue; sample_requested."""

    open_requested = Signal(object)
    sample_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._picture = QLabel()
        self._open = QPushButton(tr("Open a network…"))
        self._open.setObjectName("primary")
        self._open.setToolTip(tr("Open an ONNX file (Ctrl+O)"))
        self._open.clicked.connect(lambda: self.open_requested.emit(None))
        self.sample_button = QPushButton(tr("Tune the sample network"))
        self.sample_button.setToolTip(tr("Tune the bundled network on this machine for the minutes set at the left"))
        self.sample_button.clicked.connect(self.sample_requested)
        self._status = label("", "muted", wrap=True)
        self._recent = QVBoxLayout()
        self._recent.setSpacing(0)
        card = QFrame()
        card.setObjectName("card")
        card.setMaximumWidth(round(600 * text_scale(self.font())))
        self._fill(QVBoxLayout(card))
        outer = QHBoxLayout(self)
        outer.addStretch(1)
        outer.addWidget(card, 4, Qt.AlignmentFlag.AlignVCenter)
        outer.addStretch(1)

    def _fill(self, layout: QVBoxLayout) -> None:
        layout.setContentsMargins(28, 22, 28, 20)
        layout.setSpacing(10)
        heading = QHBoxLayout()
        heading.setSpacing(12)
        heading.addWidget(self._picture)
        heading.addWidget(label("TCL Studio", "title"))
        heading.addStretch()
        layout.addLayout(heading)
        layout.addWidget(
            label(tr("Tune an ONNX network for this machine, and see why each candidate was tried."), wrap=True)
        )
        buttons = QHBoxLayout()
        buttons.addWidget(self._open)
        buttons.addWidget(self.sample_button)
        buttons.addStretch()
        layout.addLayout(buttons)
        layout.addWidget(label(tr("You can also drop an .onnx file anywhere on this window."), "muted", wrap=True))
        layout.addWidget(line())
        layout.addLayout(self._recent)
        layout.addWidget(self._status)

    def show_recent(self, paths: tuple[str, ...]) -> None:
        """List recent networks, newest first."""
        while (item := self._recent.takeAt(0)) is not None:
            if widget := item.widget():
                widget.deleteLater()
        self._recent.addWidget(label(tr("Recent networks") if paths else tr("No network was opened yet."), "muted"))
        for path in paths[:_RECENT_SHOWN]:
            button = _Link(f"{Path(path).name}   ({Path(path).parent})")
            button.setMinimumHeight(button.sizeHint().height())
            button.setToolTip(path)
            button.clicked.connect(lambda _=False, chosen=path: self.open_requested.emit(chosen))
            self._recent.addWidget(button)

    def show_status(self, text: str) -> None:
        """What is going on: the engine starts, a network is being opened."""
        self._status.setText(text)

    def set_enabled(self, can_open: bool) -> None:
        """Whether a network can be opened now."""
        self._open.setEnabled(can_open)
        self.sample_button.setEnabled(can_open)

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self._picture.setPixmap(picture("studio", tokens.text, 40, self.font()))
        self._open.setIcon(icon("open", tokens.on_accent, tokens.disabled))
        self.sample_button.setIcon(icon("sample", tokens.text, tokens.disabled))


class _Link(QPushButton):
    """A line to click that leaves out its middle where there is no room for it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._whole = text
        self.setObjectName("link")
        self.setAccessibleName(text)
        self.setMinimumWidth(_LEAST_LINK)
        self._fit(_LEAST_LINK)

    def _fit(self, width: int) -> None:
        shown = self.fontMetrics().elidedText(self._whole, Qt.TextElideMode.ElideMiddle, width - _LINK_FRAME)
        self.setText(shown.replace("&", "&&"))

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802  Qt's name
        super().resizeEvent(event)
        self._fit(event.size().width())
