"""Whole networks, tuned: against onnxruntime and untuned TVM, at one thread and at two, all in turns.

torch.compile is not among the peers: nothing that is kept up turns today's ONNX files into torch modules (onnx2torch
1.5.15 refused all five networks it was given: ReduceMean 18, Reshape with allowzero).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tcl_core.bench.result import TIMES_AS_FAST, BenchResult, Series
from tcl_core.bench.subject import in_words
from tcl_core.config import Budget, NetworkConfig, RunConfig
from tcl_core.errors import UserError
from tcl_core.events import CancelToken, LibraryBuilt
from tcl_core.hardware.detect import detect
from tcl_core.libraries import Contest, LibraryReport, Timing, Verdict
from tcl_core.tuner import Opened, Tuner, open_network

MINUTES = 3.0
THREADS = (2, 1)


def run(report: Callable[[str], None], networks: Sequence[str] = (), minutes: float = MINUTES) -> BenchResult:
    """Tune each network for `minutes` at each number of threads there is, then time its library beside the peers.

    Args:
        networks: ONNX files; none stands for the bundled sample.

    Raises:
        UserError: bad input, or a library that did not run or gave other results than onnxruntime.
    """
    series: list[Series] = []
    slower = False
    remarks: list[tuple[str, float | str]] = []
    machine, subjects = "", dict[str, None]()
    cores = detect().cores
    for path in networks or (None,):
        for threads in (count for count in THREADS if count <= cores):
            opened = open_network(path, "cpu", threads, NetworkConfig())
            machine = machine or opened.platform.name
            network = opened.imported.network
            called = _called(network.name, path, networks)
            subjects[in_words(called, network.digest)] = None
            name = f"{called}, {threads} threads"
            library = tune(opened, path, threads, minutes)
            series += _timings(name, library) + _ratios(name, library)
            for contest in library.contests:
                remarks.append((f"{name}: {contest.rival} / tuned", told(contest)))
                report(f"{name}: {contest.rival} / tuned {told(contest)}")
                slower |= contest.rival == "onnxruntime" and contest.verdict is Verdict.SLOWER
    return BenchResult(
        name="end_to_end",
        subject=f"{', '.join(subjects)}, tuned for {minutes:g} minutes each; spread: 10 - 90 % of all runs",
        machine=machine,
        goal="not slower than onnxruntime on any network",
        series=tuple(series),
        passed=not slower,
        remarks=tuple(remarks),
        held=tuple(one.name for one in series if one.unit == TIMES_AS_FAST),
    )


def tune(opened: Opened, path: str | None, threads: int, minutes: float) -> LibraryReport:
    """One run, as anybody would start it, in a workspace of its own.

    Raises:
        UserError: the library did not run, or its results are not onnxruntime's.
    """
    with tempfile.TemporaryDirectory(prefix="tcl-studio-") as folder:
        config = RunConfig(
            network=path, threads=threads, workspace=str(Path(folder) / "workspace"), budget=Budget(minutes=minutes)
        )
        found = [event.report for event in Tuner(config, CancelToken(), opened).events() if type(event) is LibraryBuilt]
    library = found[-1]
    if library.matches is not True or library.tuned is None:
        name = opened.imported.network.name
        causes = "; ".join(library.failures) or "its results are not onnxruntime's"
        raise UserError("library", f"The library of {name} cannot be compared ({causes}); verify it in a workspace.")
    return library


def told(contest: Contest) -> str:
    """A contest in words: ratio, interval, verdict."""
    interval = "" if contest.low is None else f" ({contest.low:.2f} - {contest.high:.2f})"
    return f"{contest.ratio:.2f}x{interval}, {contest.verdict.value}"


def _called(name: str, path: str | None, networks: Sequence[str]) -> str:
    """A network's name; of those whose files are called alike, the whole path: series and remarks are told by it."""
    alike = sum(Path(other).stem == name for other in networks)
    return name if path is None or alike < 2 else path


def _timings(name: str, library: LibraryReport) -> list[Series]:
    by_name: tuple[tuple[str, Timing | None], ...] = (
        ("tuned", library.tuned),
        ("onnxruntime", library.onnxruntime),
        ("untuned TVM", library.untuned),
    )
    return [
        Series(
            name=f"{name}: {who}",
            unit="ms",
            values=(timing.low_ms, timing.median_ms, timing.high_ms),
            runs=timing.repeats,
        )
        for who, timing in by_name
        if timing is not None
    ]


def _ratios(name: str, library: LibraryReport) -> list[Series]:
    """How many times as fast as each rival, with the interval of the contest where it has one."""
    return [
        Series(
            name=f"{name}: {contest.rival} / tuned",
            unit=TIMES_AS_FAST,
            values=tuple(value for value in (contest.low, contest.ratio, contest.high) if value is not None),
            runs=library.tuned.repeats if library.tuned else None,
        )
        for contest in library.contests
    ]
