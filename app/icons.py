"""SVG icons in the colour of the text, read from `resources/icons`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from PySide6.QtCore import QByteArray, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

import resources
from app.text_scale import text_scale

ICONS = Path(resources.__file__).parent / "icons"
"""The icons' folder: a real one, since Qt's style sheets read from it too."""

_SIZES = (16, 20, 24, 32, 48, 64, 80)


@cache
def _source(name: str) -> str:
    return (ICONS / f"{name}.svg").read_text(encoding="utf-8")


def _pixmap(renderer: QSvgRenderer, size: int) -> QPixmap:
    pixmap = QPixmap(size, size)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    renderer.render(painter, QRectF(0, 0, size, size))
    painter.end()
    return pixmap


def _renderer(name: str, colour: str) -> QSvgRenderer:
    return QSvgRenderer(QByteArray(_source(name).replace("currentColor", colour).encode()))


def picture(name: str, colour: str, pixels: int, font: QFont) -> QPixmap:
    """The icon `name` for a label: so large beside text of the usual size, larger beside larger text."""
    return icon(name, colour).pixmap(QSize(pixels, pixels) * text_scale(font))


def icon(name: str, colour: str, disabled: str | None = None) -> QIcon:
    """The icon `name` drawn in `colour`, and in `disabled` where its button is. Raises: FileNotFoundError."""
    made, plain = QIcon(), _renderer(name, colour)
    faded = _renderer(name, disabled) if disabled else None
    for size in _SIZES:
        made.addPixmap(_pixmap(plain, size))
        if faded:
            made.addPixmap(_pixmap(faded, size), QIcon.Mode.Disabled)
    return made
