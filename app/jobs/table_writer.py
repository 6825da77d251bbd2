"""Writes a plot's table a slice at a time, so that 100,000 rows do not hold the window up."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from PySide6.QtCore import QObject, QTimer, Signal

from app.models.plot_tables import Cell, PlotTable

SLICE = 500
"""Rows between two turns of the event loop: about 5 ms."""


class TableWriter(QObject):
    """Lives in the window's thread and works in its idle time. Deletes itself when it is done.

    Args:
        path: a CSV file, written beside itself and then renamed; None makes tab-separated text instead.

    Signals:
        done: the text, "" where a file was written.
        failed: why there is no file.
    """

    done = Signal(str)
    failed = Signal(str)

    def __init__(self, table: PlotTable, path: Path | None, parent: QObject) -> None:
        super().__init__(parent)
        self._table, self._path = table, path
        self._rows: Iterator[tuple[Cell, ...]] = iter(table.rows)
        self._stream: TextIO = io.StringIO(newline="")
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._write_slice)

    def start(self) -> None:
        """Begin; the rows follow whenever the event loop has nothing else to do."""
        try:
            if self._path is not None:
                self._stream = self._partial.open("w", encoding="utf-8", newline="")
            self._writer().writerow(self._table.header)
        except OSError as error:
            self._give_up(error)
            return
        self._timer.start(0)

    @property
    def _partial(self) -> Path:
        assert self._path is not None
        return self._path.with_name(f".{self._path.name}.part")

    def _writer(self) -> Any:
        return csv.writer(self._stream, delimiter="," if self._path else "\t", lineterminator="\n")

    def _write_slice(self) -> None:
        rows = list(islice(self._rows, SLICE))
        try:
            self._writer().writerows(rows)
            if len(rows) < SLICE:
                self._finish()
        except OSError as error:
            self._give_up(error)

    def _finish(self) -> None:
        self._timer.stop()
        text = self._stream.getvalue() if isinstance(self._stream, io.StringIO) else ""
        self._stream.close()
        if self._path is not None:
            self._partial.replace(self._path)
        self.done.emit(text)
        self.deleteLater()

    def _give_up(self, error: OSError) -> None:
        self._timer.stop()
        if self._path is not None and not self._stream.closed:
            self._stream.close()
            self._partial.unlink(missing_ok=True)
        self.failed.emit(error.strerror or str(error))
        self.deleteLater()
