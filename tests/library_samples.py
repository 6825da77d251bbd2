"""A library's report with all its parts, for whoever keeps, shows or sends one."""

from __future__ import annotations

from dataclasses import replace

from tcl_core.libraries import Contest, LibraryReport, LibraryTask, OutputCheck, Timing

FALLBACK = "no record that ran"


def report(**changes: object) -> LibraryReport:
    """A tuned library that beats untuned TVM and ties with onnxruntime; one of three tasks is a fallback."""
    plain = LibraryReport(
        path="/workspaces/sample/exports/sample",
        tasks=(
            LibraryTask(key="a1", name="fused_a1", weight=3, latency_s=2e-3),
            LibraryTask(key="b2", name="fused_b2", weight=1, latency_s=2e-3),
            LibraryTask(key="c3", name="fused_mean", weight=1, latency_s=None, fallback=FALLBACK),
        ),
        rtol=1e-3,
        atol=1e-3,
        outputs=(
            OutputCheck(
                name="logits", elements=1000, beyond=0, largest=4.5, max_abs_error=2.4e-6, max_rel_error=3.1e-5
            ),
            OutputCheck(name="mask", elements=64, beyond=0, largest=1.0, max_abs_error=0.0, max_rel_error=0.0),
        ),
        untuned=Timing(median_ms=412.0, low_ms=405.1, high_ms=431.7, repeats=11),
        tuned=Timing(median_ms=11.4, low_ms=11.1, high_ms=12.9, repeats=53),
        onnxruntime=Timing(median_ms=11.6, low_ms=10.7, high_ms=13.1, repeats=52),
        contests=(
            Contest(rival="untuned", ratio=36.1, low=35.2, high=36.9, rounds=11),
            Contest(rival="onnxruntime", ratio=1.02, low=0.97, high=1.05, rounds=11),
        ),
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def differing() -> LibraryReport:
    """One whose first output is wrong."""
    (first, second) = report().outputs
    wrong = replace(first, beyond=12, max_abs_error=0.5, max_rel_error=float("inf"))
    return report(outputs=(wrong, second))
