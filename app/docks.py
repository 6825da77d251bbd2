"""The panels around the plots, as docks: where they stand at first, what names them, and their share of the window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from PySide6.QtCore import QByteArray, QEvent, QObject, QSize, Qt
from PySide6.QtGui import QAction, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QDockWidget, QFrame, QMainWindow, QScrollArea, QTabBar, QTabWidget, QWidget

from app.translation import later, tr

_LAYOUT_VERSION = 5
"""Goes up when docks are added or renamed: an older saved layout is then ignored."""

_TITLES = {
    "run": later("Run"),
    "tasks": later("Tasks"),
    "network": later("Network"),
    "schedules": later("Schedules"),
    "what-if": later("What-if"),
    "failures": later("Failures"),
    "library": later("Library"),
    "checkpoints": later("Checkpoints"),
    "log": later("Log"),
    "devices": later("Devices"),
}
_SIDE = "run"
_SIDE_WIDTH, _BELOW_HEIGHT = 290, 356
_LEAST_BELOW = 150
"""A head and a few rows of a table."""


class Docks(Mapping[str, QDockWidget]):
    """The docks of a main window, by the name of their panel. Made when the window has its size and tool bar."""

    def __init__(self, window: QMainWindow, panels: Mapping[str, QWidget]) -> None:
        """`panels` has "run", which stands at the side; the others share the room below, as tabs in this order.

        All are named in `_TITLES`; the first ten have keys.
        """
        self._window = window
        window.setDockOptions(
            QMainWindow.DockOption.AllowTabbedDocks
            | QMainWindow.DockOption.AllowNestedDocks
            | QMainWindow.DockOption.GroupedDragging
        )
        self._heights = _Heights(window)
        self._docks = {name: self._dock(name, panel) for name, panel in panels.items()}
        self.actions = [self._action(number, name) for number, name in enumerate(self._docks, start=1)]
        self._place()
        self._title()
        self._default, self._default_height = self.state(), window.height()

    def __getitem__(self, name: str) -> QDockWidget:
        return self._docks[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._docks)

    def __len__(self) -> int:
        return len(self._docks)

    def _dock(self, name: str, panel: QWidget) -> QDockWidget:
        dock = QDockWidget(tr(_TITLES[name]), self._window)
        dock.setObjectName(f"{name} dock")
        dock.setWidget(panel if name == _SIDE else _scrolled(panel, dock.windowTitle()))
        dock.topLevelChanged.connect(self._title)
        dock.dockLocationChanged.connect(self._title)
        dock.installEventFilter(self._heights)
        return dock

    def _action(self, number: int, name: str) -> QAction:
        """Ticked where the panel is in front; chosen, it brings the panel there, or hides it."""
        dock = self[name]
        action = QAction(dock.windowTitle(), self._window)
        if number <= 10:
            action.setShortcut(QKeySequence(f"Alt+{number % 10}"))
        action.setCheckable(True)
        dock.visibilityChanged.connect(action.setChecked)
        action.triggered.connect(lambda wanted: self.show(name) if wanted else dock.hide())
        return action

    def show(self, name: str) -> None:
        """Bring a panel to the front."""
        self[name].show()
        self[name].raise_()

    def show_focused(self, focused: QWidget | None) -> None:
        """Bring the panel that has the focus to the front."""
        for dock in self.values():
            if focused is not None and dock.isAncestorOf(focused) and dock.visibleRegion().isEmpty():
                dock.raise_()

    def front_of(self, names: Iterable[str]) -> str:
        """Which of some panels has the focus, else the first of them that is in sight; "" for none."""
        seen = [name for name in names if not self[name].visibleRegion().isEmpty()]
        focused = self._window.focusWidget()
        inside = (name for name in seen if focused is not None and self[name].isAncestorOf(focused))
        return next(inside, seen[0] if seen else "")

    def _place(self) -> None:
        window, bottom = self._window, Qt.DockWidgetArea.BottomDockWidgetArea
        window.setCorner(Qt.Corner.BottomLeftCorner, Qt.DockWidgetArea.LeftDockWidgetArea)
        window.setTabPosition(bottom, QTabWidget.TabPosition.North)
        window.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, self[_SIDE])
        below = self._first_below()
        for dock in below:
            window.addDockWidget(bottom, dock)
        for first, second in pairwise(below):
            window.tabifyDockWidget(first, second)
        below[0].raise_()
        window.resizeDocks([self[_SIDE]], [_SIDE_WIDTH], Qt.Orientation.Horizontal)
        window.resizeDocks(below[:1], [_BELOW_HEIGHT], Qt.Orientation.Vertical)

    def _first_below(self) -> list[QDockWidget]:
        """Those that stand below at first; the first of them in front."""
        return [dock for name, dock in self.items() if name != _SIDE]

    def _title(self) -> None:
        """A dock among tabs is named by its tab; any other has a title bar."""
        for bar in self._tab_bars():
            # As a rule Qt cuts names where not all have room, to one letter beside large text: arrows lead to them.
            bar.setElideMode(Qt.TextElideMode.ElideNone)
            bar.setUsesScrollButtons(True)
            bar.setAccessibleName(tr("Panels"))
        for dock in self.values():
            plain: QWidget | None = dock.titleBarWidget()
            in_tabs = not dock.isFloating() and bool(self._window.tabifiedDockWidgets(dock))
            if in_tabs and plain is None:
                dock.setTitleBarWidget(QWidget(dock))
            elif not in_tabs and plain is not None:
                dock.setTitleBarWidget(None)  # type: ignore[arg-type]  # Qt: None restores the bar; the stub forgot
                plain.deleteLater()

    def state(self) -> QByteArray:
        """Where the docks are."""
        return self._window.saveState(_LAYOUT_VERSION)

    def restore(self, state: QByteArray) -> None:
        """Put the docks where they were; a state of another version changes nothing."""
        self._window.restoreState(state, _LAYOUT_VERSION)
        self._title()

    def reset(self) -> None:
        """Put the docks where they stood at first, with the share of the window that they had then."""
        self.restore(self._default)
        height = round(_BELOW_HEIGHT * self._window.height() / self._default_height)
        self._window.resizeDocks(self._first_below()[:1], [height], Qt.Orientation.Vertical)

    def keep_share(self, before: QSize, now: QSize) -> None:
        """Give the docks below the share of the window's height that they had: Qt gives the plots all that is gained.

        Args:
            before: size that the window had; invalid when it is shown for the first time.
        """
        self._heights.note_window()
        if not before.isValid() or before.height() == now.height():
            return
        below = [dock for dock in self.values() if self._in_front_below(dock)]
        growth = now.height() / before.height()
        heights = [round((self._heights.of(dock) + self._tab_height(dock)) * growth) for dock in below]
        self._window.resizeDocks(below, heights, Qt.Orientation.Vertical)

    def _tab_height(self, dock: QDockWidget) -> int:
        """What Qt counts to the height of a dock among tabs, besides its own."""
        if not self._window.tabifiedDockWidgets(dock):
            return 0
        return max((bar.height() for bar in self._tab_bars() if bar.isVisible()), default=0)

    def _tab_bars(self) -> list[QTabBar]:
        """Those of docks among tabs; Qt makes one where docks come together."""
        return self._window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)

    def _in_front_below(self, dock: QDockWidget) -> bool:
        """A dock behind another one's tab counts as visible for Qt, with a height of its own; but nobody sees it."""
        area = self._window.dockWidgetArea(dock)
        below = area == Qt.DockWidgetArea.BottomDockWidgetArea and not dock.isFloating()
        return below and not dock.visibleRegion().isEmpty()


class _Heights(QObject):
    """How high docks were in the window that was: when it tells that it is lower, Qt has squeezed them already."""

    def __init__(self, window: QMainWindow) -> None:
        super().__init__(window)
        self._window, self._window_height = window, window.height()
        self._heights: dict[QObject, int] = {}

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802  Qt's name
        if isinstance(event, QResizeEvent) and self._window.height() == self._window_height:
            self._heights[watched] = event.size().height()
        return False

    def note_window(self) -> None:
        """The window has another size, and what becomes of docks from now on counts."""
        self._window_height = self._window.height()

    def of(self, dock: QDockWidget) -> int:
        return self._heights.get(dock, dock.height())


def _scrolled(panel: QWidget, name: str) -> QScrollArea:
    """A panel that is cut off nowhere: a window smaller than it needs shows a part, and scrolls to the rest."""
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setMinimumHeight(_LEAST_BELOW)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    area.setAccessibleName(name)
    area.setWidget(panel)
    for part in (area.viewport(), panel):  # of what is painted over Qt takes the dock for hidden
        part.setAutoFillBackground(False)
    return area
