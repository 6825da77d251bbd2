"""What is known of a library as JSON and as the tables that end a run."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from tcl_core.command_line.output import Output
from tcl_core.latencies import milliseconds
from tcl_core.libraries import Contest, LibraryReport, Timing, Verdict, finite, magnitude, output_json

_LITTLE = (
    "  no result is greater than the absolute tolerance, so that zeros would match, too: verify with a smaller --atol"
)


def library_json(report: LibraryReport) -> dict[str, Any]:
    """The library's part of a JSON result."""
    contenders = {"untuned": report.untuned, "tuned": report.tuned, "onnxruntime": report.onnxruntime}
    return {
        "latency_ms": {name: timing.median_ms if timing else None for name, timing in contenders.items()},
        "latency_spread_ms": {
            name: [timing.low_ms, timing.high_ms] if timing else None for name, timing in contenders.items()
        },
        "against": {one.rival: _contest_json(one) for one in report.contests},
        "max_abs_error": finite(report.max_abs_error),
        "matches": report.matches,
        "rtol": report.rtol,
        "atol": report.atol,
        "outputs": [output_json(output) for output in report.outputs],
        "failures": list(report.failures),
        "library": report.path,
        "device": report.device or None,
        "tuned_tasks": report.tuned_tasks,
        "fallback_tasks": list(report.fallback_tasks),
        "passed_over_records": {task.name: task.passed_over for task in report.tasks if task.passed_over},
    }


def _contest_json(contest: Contest) -> dict[str, Any]:
    return {
        "speed_up": contest.ratio,
        "interval": None if contest.low is None else [contest.low, contest.high],
        "rounds": contest.rounds,
        "verdict": contest.verdict.value,
    }


def show_library(report: LibraryReport, output: Output) -> None:
    """The contenders side by side, the numerical check, and where the library lies."""
    if report.tuned is not None:
        _show_times(report, output)
    _show_check(report, output)
    for failure in report.failures:
        output.result.print(failure, soft_wrap=True)
    for task in report.tasks:
        if task.fallback:
            output.result.print(f"not tuned: {task.name} ({task.fallback})", soft_wrap=True)
        elif task.without:
            output.result.print(f"tuned: {task.name} ({task.without})", soft_wrap=True)
    if report.path is not None or report.tuned is not None:
        output.result.print(f"library: {report.path or 'not exported'}", soft_wrap=True)


def _show_times(report: LibraryReport, output: Output) -> None:
    table = Table(box=None, pad_edge=False)
    where = f", on {report.device}" if report.device else ""
    table.add_column(f"whole network{where}", no_wrap=True)
    for heading in ("median (ms)", "10-90 % (ms)", "tuned is", "95 % interval"):
        table.add_column(heading, justify="right")
    table.add_row("untuned TVM", *_timed(report.untuned), *_told(report.contest("untuned")))
    table.add_row("tuned", *_timed(report.tuned), "", "")
    table.add_row(report.reference, *_timed(report.onnxruntime), *_told(report.contest("onnxruntime")))
    output.result.print(table)


def _timed(timing: Timing | None) -> tuple[str, str]:
    if timing is None:
        return "-", "-"
    return milliseconds(timing.median_ms), f"{milliseconds(timing.low_ms)} - {milliseconds(timing.high_ms)}"


def _told(contest: Contest | None) -> tuple[str, str]:
    """How the tuned library did against a rival: verdict and interval."""
    if contest is None:
        return "-", "-"
    if contest.low is None or contest.high is None:
        return f"{_times(contest.ratio)} as fast", contest.verdict.value
    verdict = "tie" if contest.verdict is Verdict.TIE else f"{_times(contest.ratio)} as fast"
    return verdict, f"{_times(contest.low)} - {_times(contest.high)}"


def _times(ratio: float) -> str:
    """Three digits or so: the table has to fit into 80 columns."""
    decimals = 2 if ratio < 10 else 1 if ratio < 100 else 0
    return f"{ratio:,.{decimals}f}x"


def _show_check(report: LibraryReport, output: Output) -> None:
    tolerance = f"tolerance rtol {report.rtol:g}, atol {report.atol:g}"
    if report.max_abs_error is not None:
        verdict = "matches" if report.matches else "DOES NOT MATCH"
        scale = "" if report.largest is None else f" of results up to {magnitude(report.largest)}"
        error = f"greatest absolute error {report.max_abs_error:.1e}{scale}"
        output.result.print(f"{verdict} onnxruntime: {error} ({tolerance})", soft_wrap=True)
        if report.tells_little:
            output.result.print(_LITTLE, soft_wrap=True)
    else:
        output.result.print(f"not checked against onnxruntime ({tolerance})", soft_wrap=True)
    for check in report.outputs:
        if len(report.outputs) > 1 or not check.matches:
            output.result.print(
                f"  {check.name}: absolute {check.max_abs_error:.1e}, relative {check.max_rel_error:.1e}, "
                f"{check.beyond:,} of {check.elements:,} elements outside",
                soft_wrap=True,
            )
