"""A card that holds a few plots of one kind: a tab each, what is chosen for it, a line below, a menu to save it."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QMenu,
    QSizePolicy,
    QStackedWidget,
    QTabBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.icons import icon
from app.tokens import Tokens
from app.translation import later, tr


class Saving(StrEnum):
    """What the menu offers."""

    PNG = "png"
    SVG = "svg"
    CSV = "csv"
    COPY = "copy"


_OFFERS = {
    Saving.PNG: later("Save as &PNG…"),
    Saving.SVG: later("Save as &SVG…"),
    Saving.CSV: later("Save the numbers as &CSV…"),
    Saving.COPY: later("C&opy the numbers"),
}

_LEAST_HEIGHT = 140
"""Of a plot with its axes: what is lower shows no more than that there is something."""

_LEAST_TABS = 105
"""Width of one name and the buttons to scroll to the others."""


class PlotCard(QFrame):
    """Pages are numbered as they were added; only the one on top is drawn when what it shows changes.

    Signals: save_requested, with a page's number and a `Saving`; turned.
    """

    save_requested = Signal(int, object)
    turned = Signal(int)

    def __init__(self, name: str, *controls: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self.tabs = QTabBar()
        self.tabs.setAccessibleName(name)
        self.tabs.setExpanding(False)
        self.tabs.setUsesScrollButtons(True)  # without, a narrow window cuts the names to nothing
        self.tabs.setElideMode(Qt.TextElideMode.ElideNone)
        self.tabs.setMinimumWidth(_LEAST_TABS)
        self._menu_button = QToolButton()
        self._menu_button.setObjectName("plotmenu")
        self._menu_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._menu_button.setToolTip(tr("Save or copy this plot"))
        self._menu_button.setAccessibleName(tr("Save or copy: {name}", name=name))
        self._menu_button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.menu = QMenu(self._menu_button)
        for saving, text in _OFFERS.items():
            action = self.menu.addAction(tr(text))
            action.triggered.connect(lambda _=False, saving=saving: self._ask(saving))
        self._menu_button.setMenu(self.menu)
        self._pages, self._footers = QStackedWidget(), QStackedWidget()
        self._pages.setMinimumHeight(_LEAST_HEIGHT)
        self._draw: dict[int, Callable[[], None]] = {}
        self._stale: set[int] = set()
        self._footers.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._lay_out(controls)
        self.tabs.currentChanged.connect(self._turn)

    def _lay_out(self, controls: tuple[QWidget, ...]) -> None:
        top = QHBoxLayout()
        top.addWidget(self.tabs)
        top.addStretch(1)
        for control in controls:  # it has what the names leave
            control.setMaximumWidth(control.sizeHint().width())
            control.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
            top.addWidget(control, 100)
        top.addWidget(self._menu_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 6, 12, 8)
        layout.setSpacing(6)
        layout.addLayout(top)
        layout.addWidget(self._pages, 1)
        layout.addWidget(self._footers)

    def add_page(
        self, title: str, hint: str, plot: QWidget, *footer: QLabel, draw: Callable[[], None] | None = None
    ) -> None:
        """Append a plot. Of its footer the first part has what it needs; the others share the rest, at the right.

        Args:
            draw: what `redraw` calls.
        """
        if draw is not None:
            self._draw[self._pages.count()] = draw
        line = QWidget()
        row = QHBoxLayout(line)
        row.setContentsMargins(0, 0, 0, 0)
        for number, part in enumerate(footer):
            if number:
                part.setMinimumWidth(0)
                part.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
                part.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            row.addWidget(part, min(number, 1))
        self._pages.addWidget(plot)
        self._footers.addWidget(line)
        self.tabs.setTabToolTip(self.tabs.addTab(title), hint)

    @property
    def page(self) -> int:
        """Number of the plot on top."""
        return self._pages.currentIndex()

    def show_page(self, number: int) -> None:
        """Bring a plot to the top."""
        self.tabs.setCurrentIndex(number)

    def redraw(self, number: int) -> None:
        """Draw a page anew: at once if it is on top, else when it is turned to."""
        if number == self.page:
            self._draw[number]()
        else:
            self._stale.add(number)

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self._menu_button.setIcon(icon("save", tokens.text))

    def _turn(self, number: int) -> None:
        self._pages.setCurrentIndex(number)
        self._footers.setCurrentIndex(number)
        if number in self._stale:
            self._stale.discard(number)
            self._draw[number]()
        self.turned.emit(number)

    def _ask(self, saving: Saving) -> None:
        self.save_requested.emit(self.page, saving)
