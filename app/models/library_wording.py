"""Sentences on a tuned library: how fast against whom, whether it is right, what it runs."""

from __future__ import annotations

from app.models import quantities
from tcl_core.libraries import Contest, LibraryReport, Verdict

_RIVALS = {"untuned": "untuned TVM", "onnxruntime": "onnxruntime"}


def headline(report: LibraryReport) -> str:
    """The result in one line: "Tuned 1.50 ms: 31.8x as fast as untuned TVM, a tie with onnxruntime"."""
    if report.tuned is None:
        return "Checked, not timed" if report.outputs else "Built, neither checked nor timed"
    against = ", ".join(map(_against, report.contests))
    return f"Tuned {quantities.latency(report.tuned.median_ms / 1000)}" + (f": {against}" if against else "")


def _against(contest: Contest) -> str:
    rival = _RIVALS[contest.rival]
    if contest.verdict is Verdict.TIE:
        return f"a tie with {rival}"
    open_ = " (too few rounds to be sure)" if contest.verdict is Verdict.OPEN else ""
    return f"{quantities.digits(contest.ratio)}x as fast as {rival}{open_}"


def verdict(report: LibraryReport) -> str:
    """What the check against onnxruntime said."""
    if report.max_abs_error is None:
        why = f" {report.failures[-1]}" if report.failures else ""
        said = "The library broke when it was run." if report.crashed else "Not checked against onnxruntime."
        return said + why
    tolerance = f"rtol {report.rtol:g}, atol {report.atol:g}"
    said = "Same results as onnxruntime" if report.matches else "Results differ from onnxruntime"
    return f"{said}: greatest absolute error {report.max_abs_error:.2g} ({tolerance})"


def coverage(report: LibraryReport) -> str:
    """How many tasks run a tuned record, and how many do not."""
    fallbacks = len(report.fallback_tasks)
    if not fallbacks:
        return f"All {report.tuned_tasks} tasks run their best record."
    return f"{report.tuned_tasks} of {len(report.tasks)} tasks run their best record; {fallbacks} run untuned code."
