"""A library report as JSON and as the table that ends a run."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from tcl_core.command_line.output import Output
from tcl_core.domain import LibraryReport, Timing


def library_json(report: LibraryReport) -> dict[str, Any]:
    """The library's part of a JSON result."""
    contenders = {"untuned": report.untuned, "tuned": report.tuned, "onnxruntime": report.onnxruntime}
    return {
        "latency_ms": {name: timing.median_ms if timing else None for name, timing in contenders.items()},
        "latency_spread_ms": {
            name: [timing.low_ms, timing.high_ms] if timing else None for name, timing in contenders.items()
        },
        "max_abs_error": report.max_abs_error,
        "matches": report.matches,
        "rtol": report.rtol,
        "atol": report.atol,
        "library": report.path,
        "tuned_tasks": report.tuned_tasks,
        "fallback_tasks": list(report.fallback_tasks),
    }


def show_library(report: LibraryReport, output: Output) -> None:
    """Untuned TVM, tuned and onnxruntime side by side, the numerical check, and where the library lies."""
    table = Table(box=None, pad_edge=False)
    table.add_column("one run of the network")
    for heading in ("median (ms)", "10-90 % (ms)", "speed-up"):
        table.add_column(heading, justify="right")
    rows: list[tuple[str, Timing | None]] = [
        ("untuned TVM", report.untuned),
        ("tuned", report.tuned),
        ("onnxruntime", report.onnxruntime),
    ]
    for name, timing in rows:
        if timing is None:
            table.add_row(name, "-", "-", "-")
            continue
        gain = f"{report.untuned.median_ms / timing.median_ms:.1f}x" if report.untuned else "-"
        table.add_row(name, f"{timing.median_ms:.3f}", f"{timing.low_ms:.3f} - {timing.high_ms:.3f}", gain)
    output.result.print(table)
    if report.max_abs_error is not None:
        verdict = "matches" if report.matches else "DOES NOT MATCH"
        output.result.print(
            f"{verdict} onnxruntime: greatest absolute error {report.max_abs_error:.1e} "
            f"(tolerance rtol {report.rtol:g}, atol {report.atol:g})",
            soft_wrap=True,
        )
    if report.fallback_tasks:
        output.result.print(f"not tuned: {', '.join(report.fallback_tasks)}", soft_wrap=True, markup=False)
    output.result.print(f"library: {report.path or 'not exported'}", soft_wrap=True, markup=False)
