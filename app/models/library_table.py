"""The tuned library: who was timed, with spread, beside what the check against onnxruntime said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QObject

from app.models import quantities
from app.models.row_table import Column, RowTableModel
from tcl_core.domain import LibraryReport, Timing


@dataclass(frozen=True, kw_only=True)
class Contender:
    """One row. `speed_up`: this median / the tuned median; None where either is missing, and for the tuned library."""

    name: str
    timing: Timing | None
    speed_up: float | None


def _timed(text: Callable[[Timing], str], otherwise: str = "–") -> Callable[[Contender], str]:
    return lambda row: text(row.timing) if row.timing else otherwise


_COLUMNS: tuple[Column[Contender], ...] = (
    Column("Contender", "Timed in turns, on the same inputs and threads", lambda row: row.name),
    Column(
        "Median (ms)",
        "Median latency of the whole network, in milliseconds",
        _timed(lambda timing: quantities.digits(timing.median_ms), "could not run"),
        numeric=True,
    ),
    Column(
        "Low to high (ms)",
        "Fastest and slowest round, in milliseconds",
        _timed(lambda timing: f"{quantities.digits(timing.low_ms)} to {quantities.digits(timing.high_ms)}"),
        numeric=True,
    ),
    Column(
        "Tuned is",
        "How many times as fast the tuned library is",
        lambda row: "–" if row.speed_up is None else f"{quantities.digits(row.speed_up)}x as fast",
        numeric=True,
    ),
    Column("Rounds", "Rounds timed", _timed(lambda timing: str(timing.repeats)), numeric=True),
)


class LibraryTableModel(RowTableModel[Contender]):
    """Rows: untuned TVM, tuned, onnxruntime. Reset whenever a report arrives."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(_COLUMNS, parent)
        self._report: LibraryReport | None = None

    @property
    def report(self) -> LibraryReport | None:
        """The report on screen."""
        return self._report

    @property
    def contenders(self) -> tuple[Contender, ...]:
        """All rows."""
        return tuple(self._rows)

    def set_report(self, report: LibraryReport | None) -> None:
        """Show a report; None shows nothing."""
        self._report = report
        self.set_rows(_contenders(report) if report else [])


def headline(report: LibraryReport) -> str:
    """The result in one line: "Tuned 1.50 ms: 31.8x as fast as untuned TVM, 0.80x as fast as onnxruntime"."""
    if report.tuned is None:
        return "The tuned library could not be timed."
    rivals = [row for row in _contenders(report) if row.speed_up is not None]
    against = ", ".join(f"{quantities.digits(row.speed_up or 0.0)}x as fast as {row.name}" for row in rivals)
    return f"Tuned {quantities.latency(report.tuned.median_ms / 1000)}" + (f": {against}" if against else "")


def verdict(report: LibraryReport) -> str:
    """What the check against onnxruntime said."""
    if report.matches is None or report.max_abs_error is None:
        return "Not checked: onnxruntime could not run this network."
    tolerance = f"rtol {report.rtol:g}, atol {report.atol:g}"
    said = "Same results as onnxruntime" if report.matches else "Results differ from onnxruntime"
    return f"{said}: greatest absolute error {report.max_abs_error:.2g} ({tolerance})"


def coverage(report: LibraryReport) -> str:
    """How many tasks run a tuned record, and which do not."""
    if not report.fallback_tasks:
        return f"All {report.tuned_tasks} tasks run their best record."
    return f"{report.tuned_tasks} tasks run their best record; untuned: {', '.join(report.fallback_tasks)}"


def _contenders(report: LibraryReport) -> list[Contender]:
    tuned_ms = report.tuned.median_ms if report.tuned else 0.0
    timings = (("untuned TVM", report.untuned), ("tuned", report.tuned), ("onnxruntime", report.onnxruntime))
    return [
        Contender(
            name=name,
            timing=timing,
            speed_up=timing.median_ms / tuned_ms if timing and tuned_ms > 0 and name != "tuned" else None,
        )
        for name, timing in timings
    ]
