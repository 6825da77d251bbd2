"""A plot as a picture: PNG at twice the size on screen, or SVG.

pyqtgraph's exporters are imported when a person first asks for a picture: their parameter trees would slow the start.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PySide6.QtCore import QBuffer, QIODevice, QRectF, QSize
from PySide6.QtGui import QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QGraphicsItem

_FINER = 2
"""Pixels of the PNG for each on screen, so that it can be printed."""


def write_png(plot: Any, path: Path) -> None:
    """Raises: OSError."""
    from pyqtgraph.exporters import ImageExporter

    exporter = ImageExporter(plot.plotItem)
    exporter.parameters()["width"] = max(1, int(plot.plotItem.width())) * _FINER
    buffer = _buffer()
    with _drawn_anew(plot):
        exporter.export(toBytes=True).save(buffer, "PNG")
    path.write_bytes(buffer.data().data())  # Qt's own writer would not say why it failed


def write_svg(plot: Any, path: Path) -> None:
    """Raises: OSError."""
    from pyqtgraph.exporters import SVGExporter

    # Its `export` takes the paths of Qt's generator apart and stumbles over those of Qt 6.11 (pyqtgraph 0.14:
    # "not enough values to unpack" in `correctCoordinates`), all for the clipping that SVG 1.1 of Qt 6.5 has. The
    # exporter still makes every item draw shapes in place of its cached pixels.
    exporter = SVGExporter(plot.plotItem)
    source = QRectF(exporter.getSourceRect())
    area = QRectF(0, 0, source.width(), source.height())
    buffer = _buffer()
    generator = QSvgGenerator(QSvgGenerator.SvgVersion.Svg11)
    generator.setOutputDevice(buffer)
    generator.setSize(QSize(round(area.width()), round(area.height())))
    generator.setViewBox(area)
    # Axes are played from a QPicture, which is scaled by the ratio of the two resolutions.
    generator.setResolution(plot.logicalDpiX())
    generator.setTitle(plot.accessibleName())
    painter = QPainter(generator)
    exporter.setExportMode(True, {"antialias": True, "painter": painter, "resolutionScale": 1.0})
    try:
        painter.fillRect(area, plot.backgroundBrush())
        with _drawn_anew(plot):
            exporter.render(painter, area, source)
    finally:
        painter.end()
        exporter.setExportMode(False)
    path.write_bytes(buffer.data().data())


@contextmanager
def _drawn_anew(plot: Any) -> Iterator[None]:
    """Axes are kept as pixels of the screen; a picture has finer ones, or shapes."""
    cached = [
        (item, item.cacheMode()) for item in plot.items() if item.cacheMode() is not QGraphicsItem.CacheMode.NoCache
    ]
    for item, _ in cached:
        item.setCacheMode(QGraphicsItem.CacheMode.NoCache)
    try:
        yield
    finally:
        for item, mode in cached:
            item.setCacheMode(mode)


def _buffer() -> QBuffer:
    made = QBuffer()
    made.open(QIODevice.OpenModeFlag.WriteOnly)
    return made
