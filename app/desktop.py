"""Hands files and folders to the desktop, which opens them in the program that a person has for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

from app.models.announcement import Announcement, Mood
from app.translation import tr


def open_path(path: str, announce: Callable[[Announcement], None]) -> None:
    """Open a file or folder; where that fails, `announce` is told why. The desktop itself would fail silently."""
    if not Path(path).exists():
        announce(Announcement(mood=Mood.BAD, sentence=tr("There is no {path} any more.", path=path)))
    elif not QDesktopServices.openUrl(QUrl.fromLocalFile(path)):
        sentence = tr("The desktop has no program that opens {path}; open it yourself.", path=path)
        announce(Announcement(mood=Mood.WARN, sentence=sentence))
