"""One set of colour tokens for palette, style sheet, plots and icons, in light and dark.

The scheme is explicit: Qt's own `setColorScheme(Dark)` changes nothing on some platforms (offscreen among them), so the
Fusion style gets a palette of ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import QDir, QObject, Qt, Signal
from PySide6.QtGui import QColor, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication

from app.icons import ICONS
from app.style_sheet import style_sheet
from app.text_scale import text_scale
from app.tokens import DARK, LIGHT, Tokens


class Scheme(StrEnum):
    """What a person chose."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


@dataclass(frozen=True)
class _Role:
    role: QPalette.ColorRole
    token: str


_ROLES = (
    _Role(QPalette.ColorRole.Window, "window"),
    _Role(QPalette.ColorRole.WindowText, "text"),
    _Role(QPalette.ColorRole.Base, "surface"),
    _Role(QPalette.ColorRole.AlternateBase, "raised"),
    _Role(QPalette.ColorRole.Text, "text"),
    _Role(QPalette.ColorRole.PlaceholderText, "muted"),
    _Role(QPalette.ColorRole.Button, "raised"),
    _Role(QPalette.ColorRole.ButtonText, "text"),
    _Role(QPalette.ColorRole.BrightText, "bad"),
    _Role(QPalette.ColorRole.ToolTipBase, "raised"),
    _Role(QPalette.ColorRole.ToolTipText, "text"),
    _Role(QPalette.ColorRole.Highlight, "selection"),
    _Role(QPalette.ColorRole.HighlightedText, "text"),
    _Role(QPalette.ColorRole.Link, "accent"),
    _Role(QPalette.ColorRole.Accent, "accent"),
    _Role(QPalette.ColorRole.Light, "raised"),
    _Role(QPalette.ColorRole.Midlight, "border"),
    _Role(QPalette.ColorRole.Mid, "border"),
    _Role(QPalette.ColorRole.Dark, "border"),
)
_DISABLED = (QPalette.ColorRole.WindowText, QPalette.ColorRole.Text, QPalette.ColorRole.ButtonText)


def palette(tokens: Tokens) -> QPalette:
    """The tokens as a Qt palette."""
    made = QPalette()
    for entry in _ROLES:
        made.setColor(entry.role, QColor(getattr(tokens, entry.token)))
    for role in _DISABLED:
        made.setColor(QPalette.ColorGroup.Disabled, role, QColor(tokens.disabled))
    return made


class Theme(QObject):
    """The colours in force. Signals: changed, with the new tokens, after the application was restyled."""

    changed = Signal(object)

    def __init__(self, scheme: Scheme = Scheme.SYSTEM, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._scheme = scheme
        self._tokens = self._resolve()
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._follow_system)

    @property
    def tokens(self) -> Tokens:
        return self._tokens

    @property
    def scheme(self) -> Scheme:
        return self._scheme

    def choose(self, scheme: Scheme) -> None:
        """Take a scheme and restyle the application."""
        self._scheme = scheme
        self.apply()

    def apply(self) -> None:
        """Restyle the application with the scheme's colours."""
        self._tokens = self._resolve()
        application = QApplication.instance()
        if isinstance(application, QApplication):
            QDir.setSearchPaths("icons", [str(ICONS)])  # for `url(icons:...)` in the style sheet
            application.setStyle("Fusion")
            application.setPalette(palette(self._tokens))
            application.setStyleSheet(style_sheet(self._tokens, text_scale(application.font())))
        self.changed.emit(self._tokens)

    def _follow_system(self) -> None:
        if self._scheme is Scheme.SYSTEM:
            self.apply()

    def _resolve(self) -> Tokens:
        if self._scheme is Scheme.SYSTEM:
            return DARK if QGuiApplication.styleHints().colorScheme() is Qt.ColorScheme.Dark else LIGHT
        return DARK if self._scheme is Scheme.DARK else LIGHT
