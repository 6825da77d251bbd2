"""The window's actions with their shortcuts, and the menus and tool bar made of them."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenu, QSizePolicy, QToolBar, QWidget

from app.icons import icon
from app.theme import Scheme
from app.tokens import Tokens
from app.translation import tr


class Actions:
    """All actions of one window. Attributes are named by what they do; `recent` is a menu."""

    def __init__(self, window: QMainWindow) -> None:
        def make(text: str, hint: str, *keys: QKeySequence | str) -> QAction:
            action = QAction(text, window)
            action.setShortcuts([QKeySequence(key) for key in keys])
            written = ", ".join(QKeySequence(key).toString() for key in keys[:1])
            action.setToolTip(f"{hint} ({written})" if written else hint)
            action.setStatusTip(hint)
            return action

        self.open = make(tr("&Open…"), tr("Open an ONNX network"), "Ctrl+O")
        self.sample = make(tr("Tune the &sample network"), tr("Tune the bundled network"))
        self.export = make(tr("&Export library…"), tr("Build the tuned library into a folder"), "Ctrl+E")
        self.quit = make(tr("&Quit"), tr("Close the studio"), "Ctrl+Q")
        self.start = make(tr("&Start"), tr("Tune the network"), "F5")
        self.hold = make(tr("&Pause"), tr("Hold at the next candidate, or go on"), "F6")
        self.stop = make(tr("S&top"), tr("Stop at the next candidate, or stop opening a network"), "Shift+F5")
        self.find = make(tr("&Find in the panel"), tr("Find a task or a call in the panel in front"), "Ctrl+F")
        self.reset_layout = make(tr("&Reset layout"), tr("Put all panels back where they were"))
        self.toggle_scheme = make(tr("Light or dark"), tr("Switch between light and dark"), "Ctrl+T")
        self.recent = QMenu(tr("Open &recent"), window)
        self.schemes = self._scheme_group(window)
        self.quit.setMenuRole(QAction.MenuRole.QuitRole)

    def _scheme_group(self, window: QMainWindow) -> QActionGroup:
        group = QActionGroup(window)
        for scheme, text in (
            (Scheme.SYSTEM, tr("As the s&ystem")),
            (Scheme.LIGHT, tr("&Light")),
            (Scheme.DARK, tr("&Dark")),
        ):
            action = group.addAction(text)
            action.setCheckable(True)
            action.setData(scheme.value)
        return group

    def check_scheme(self, scheme: Scheme) -> None:
        """Mark the scheme in force."""
        for action in self.schemes.actions():
            action.setChecked(action.data() == scheme.value)

    def fill_menus(self, window: QMainWindow, panels: list[QAction]) -> None:
        """Menus: file, run, view."""
        bar = window.menuBar()
        file = bar.addMenu(tr("&File"))
        file.addAction(self.open)
        file.addMenu(self.recent)
        file.addAction(self.sample)
        file.addSeparator()
        file.addAction(self.export)
        file.addSeparator()
        file.addAction(self.quit)
        run = bar.addMenu(tr("&Run"))
        run.addActions([self.start, self.hold, self.stop])
        view = bar.addMenu(tr("&View"))
        view.addAction(self.find)
        view.addSeparator()
        view.addActions(panels)
        view.addSeparator()
        view.addActions(self.schemes.actions())
        view.addSeparator()
        view.addAction(self.reset_layout)

    def make_tool_bar(self) -> QToolBar:
        """Open, start, pause, stop, export; the scheme at the far end."""
        bar = QToolBar(tr("Tool bar"))
        bar.setObjectName("tool bar")
        bar.setMovable(False)
        bar.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        bar.addAction(self.open)
        bar.addSeparator()
        bar.addActions([self.start, self.hold, self.stop])
        bar.addSeparator()
        bar.addAction(self.export)
        spacer = QWidget()
        spacer.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        bar.addWidget(spacer)
        bar.addAction(self.toggle_scheme)
        return bar

    def apply_tokens(self, tokens: Tokens, *, paused: bool = False) -> None:
        """Draw the icons in the theme's colours."""
        named = {
            "open": self.open,
            "sample": self.sample,
            "export": self.export,
            "start": self.start,
            "stop": self.stop,
            "restart": self.reset_layout,
        }
        for name, action in named.items():
            action.setIcon(icon(name, tokens.text, tokens.disabled))
        self.hold.setIcon(icon("start" if paused else "pause", tokens.text, tokens.disabled))
        self.toggle_scheme.setIcon(icon("light" if tokens.dark else "dark", tokens.text))
        self.toggle_scheme.setText(tr("Light") if tokens.dark else tr("Dark"))
