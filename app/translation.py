"""Texts in the person's language: marked where they stand, looked up when they are shown.

``packaging/translations.py`` collects them for a translator. What the core says (refusals, notices, failures) is
English: it knows no Qt.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QCoreApplication, QLocale, QTranslator

import resources

FOLDER = Path(resources.__file__).parent / "translations"
NAME = "studio"
"""A translation is `studio_de.qm`, made from `studio_de.ts`."""


def tr(text: str, /, **values: object) -> str:
    """A text in the person's language, with `values` in its braces: ``tr("{count:,} trials", count=3)``.

    `text` is a literal, or one that was marked with `later`: others cannot be collected.
    """
    said = QCoreApplication.translate("", text)
    return said.format(**values) if values else said


def later(text: str) -> str:
    """Mark a text that is made before it is known who reads it; `tr` looks it up when it is shown."""
    return text


def install(application: QCoreApplication, locale: QLocale, folder: Path = FOLDER) -> bool:
    """Show the window in a language, if there is a translation into it; says whether there is one."""
    translator = QTranslator(application)
    return translator.load(locale, NAME, "_", str(folder)) and application.installTranslator(translator)
