"""Sentences on a tuned library: how fast against whom, whether it is right, what it runs."""

from __future__ import annotations

from app.models import quantities
from app.translation import tr
from tcl_core.libraries import Contest, LibraryReport, Verdict, magnitude

_RIVALS = {"untuned": "untuned TVM", "onnxruntime": "onnxruntime"}


def headline(report: LibraryReport) -> str:
    """The result in one line: "Tuned 1.50 ms: 31.8× as fast as untuned TVM, a tie with onnxruntime". Where it ran on a
    device over the network, that is said.
    """
    if report.tuned is None:
        return tr("Checked, not timed") if report.outputs else tr("Built, neither checked nor timed")
    against = ", ".join(map(_against, report.contests))
    median_ms = quantities.latency(report.tuned.median_ms / 1000)
    tuned = (
        tr("Tuned {median_ms} on {device}", median_ms=median_ms, device=report.device)
        if report.device
        else tr("Tuned {median_ms}", median_ms=median_ms)
    )
    return tuned + (f": {against}" if against else "")


def is_good(report: LibraryReport) -> bool:
    """Whether there is nothing to warn of: no rival is faster, and no result differs."""
    return report.matches is not False and all(one.verdict is not Verdict.SLOWER for one in report.contests)


def _against(contest: Contest) -> str:
    rival = _RIVALS[contest.rival]
    if contest.verdict is Verdict.TIE:
        return tr("a tie with {rival}", rival=rival)
    unsure = contest.verdict is Verdict.OPEN and not contest.is_plain
    open_ = tr(" (too few rounds to be sure)") if unsure else ""
    return tr("{ratio}× as fast as {rival}{open}", ratio=quantities.digits(contest.ratio), rival=rival, open=open_)


def verdict(report: LibraryReport) -> str:
    """What the check against onnxruntime said."""
    if report.max_abs_error is None:
        why = f" {report.failures[-1]}" if report.failures else ""
        said = tr("The library broke when it was run.") if report.crashed else tr("Not checked against onnxruntime.")
        return said + why
    tolerance = tr("rtol {rtol:g}, atol {atol:g}", rtol=report.rtol, atol=report.atol)
    said = tr("Same results as onnxruntime") if report.matches else tr("Results differ from onnxruntime")
    scale = "" if report.largest is None else tr(" of results up to {largest}", largest=magnitude(report.largest))
    sentence = tr(
        "{said}: greatest absolute error {max_abs_error:.2g}{scale} ({tolerance})",
        said=said,
        max_abs_error=report.max_abs_error,
        scale=scale,
        tolerance=tolerance,
    )
    little = tr(". None is greater than the absolute tolerance: zeros would match, too; check with a smaller one")
    return sentence + (little if report.tells_little else "")


def left_out(report: LibraryReport) -> str:
    """Why something is missing that `verdict` does not tell, in sentences: "untuned did not run: ..."."""
    told = report.failures if report.max_abs_error is not None else report.failures[:-1]
    return " ".join(f"{sentence.rstrip('.')}." for sentence in told)


def coverage(report: LibraryReport) -> str:
    """How many tasks run a tuned record, and how many do not."""
    fallbacks, count = len(report.fallback_tasks), len(report.tasks)
    if count == 1:
        return tr("The only task runs untuned code.") if fallbacks else tr("The only task runs its best record.")
    if not fallbacks:
        return tr("All {tuned_tasks} tasks run their best record that applies.", tuned_tasks=report.tuned_tasks)
    rest = tr("1 runs untuned code") if fallbacks == 1 else tr("{count:,} run untuned code", count=fallbacks)
    if report.tuned_tasks == 1:
        return tr("1 of {count} tasks runs its best record that applies; {rest}.", count=count, rest=rest)
    return tr(
        "{tuned_tasks} of {count} tasks run their best record that applies; {rest}.",
        tuned_tasks=report.tuned_tasks,
        count=count,
        rest=rest,
    )
