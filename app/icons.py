"""SVG icons in the colour of the text, read from `resources/icons`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

import resources

ICONS = Path(resources.__file__).parent / "icons"
"""The icons' folder: a real one, since Qt's style sheets read from it too."""

_SIZES = (16, 20, 24, 32, 48, 64)


@cache
def _source(name: str) -> str:
    return (ICONS / f"{name}.svg").read_text(encoding="utf-8")


def _pixmap(svg: str, size: int) -> QPixmap:
    pixmap = QPixmap(size, size)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    QSvgRenderer(QByteArray(svg.encode())).render(painter, QRectF(0, 0, size, size))
    painter.end()
    return pixmap


def icon(name: str, colour: str, disabled: str | None = None) -> QIcon:
    """The icon `name` drawn in `colour`, and in `disabled` where its button is. Raises: FileNotFoundError."""
    made = QIcon()
    for size in _SIZES:
        made.addPixmap(_pixmap(_source(name).replace("currentColor", colour), size))
        if disabled:
            faded = _pixmap(_source(name).replace("currentColor", disabled), size)
            made.addPixmap(faded, QIcon.Mode.Disabled)
    return made
