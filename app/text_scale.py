"""How large a desktop's text is, for sizes that are written in pixels."""

from __future__ import annotations

from PySide6.QtGui import QFont, QFontInfo

_WRITTEN_FOR_PX = 12


def text_scale(font: QFont) -> float:
    """The font's size as a share of the one that pixels are written for; 1 where it is smaller."""
    return max(1.0, QFontInfo(font).pixelSize() / _WRITTEN_FOR_PX)
