"""Saves a plot or its numbers: asks for the file, writes it, says in one sentence how it went."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from app.jobs.table_writer import TableWriter
from app.models.announcement import Announcement, Mood
from app.models.plot_tables import PlotTable
from app.translation import later, tr
from app.views.save_question import ask_where_to_save
from app.widgets.plot_card import Saving
from app.widgets.plot_picture import write_png, write_svg

_FILTERS = {
    Saving.PNG: later("PNG pictures (*.png)"),
    Saving.SVG: later("SVG pictures (*.svg)"),
    Saving.CSV: later("Comma-separated values (*.csv)"),
}


class TableSaving(QObject):
    """Saves numbers. Signals: ended, with an `Announcement`."""

    ended = Signal(object)

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._folder = ""

    def save(self, table: PlotTable) -> None:
        """Ask where to, and write; nothing happens when the question is cancelled."""
        path = self._ask(Saving.CSV, table.name, tr("Save the numbers"))
        if path is not None:
            self._write_table(table, path)

    def _ask(self, saving: Saving, name: str, question: str) -> Path | None:
        ending = f".{saving.value}"
        proposal = Path(self._folder) / f"{name}{ending}"
        path = ask_where_to_save(self._window, question, proposal, tr(_FILTERS[saving]), ending)
        if path is not None:
            self._folder = str(path.parent)
        return path

    def _write_table(self, table: PlotTable, path: Path | None) -> None:
        writer = TableWriter(table, path, self)
        if path is None:
            writer.done.connect(self._copied)
        else:
            writer.done.connect(lambda _text: self._saved(path))
            writer.failed.connect(lambda why: self._failed(path, why))
        writer.start()

    def _copied(self, text: str) -> None:
        QGuiApplication.clipboard().setText(text)
        count = text.count(chr(10)) - 1
        sentence = (
            tr("Copied 1 row of numbers.") if count == 1 else tr("Copied {count:,} rows of numbers.", count=count)
        )
        self.ended.emit(Announcement(mood=Mood.GOOD, sentence=sentence))

    def _saved(self, path: Path) -> None:
        self.ended.emit(Announcement(mood=Mood.GOOD, sentence=tr("Saved {path}.", path=path)))

    def _failed(self, path: Path, why: str) -> None:
        sentence = tr("{path} could not be written ({why}); choose another folder or name.", path=path, why=why)
        self.ended.emit(Announcement(mood=Mood.BAD, sentence=sentence))


class PlotSaving(TableSaving):
    """Saves plots, and the numbers behind them."""

    def save_plot(self, saving: Saving, plot: Any, table: PlotTable) -> None:
        """Ask where to, and write; nothing happens when the question is cancelled."""
        if saving is Saving.COPY:
            self._write_table(table, None)
            return
        path = self._ask(saving, table.name, tr("Save the plot"))
        if path is None:
            return
        if saving is Saving.CSV:
            self._write_table(table, path)
            return
        try:
            (write_png if saving is Saving.PNG else write_svg)(plot, path)
        except OSError as error:
            self._failed(path, error.strerror or str(error))
        else:
            self._saved(path)
