"""What is at work, in a terminal: names that a person gave stand there as they are."""

from __future__ import annotations

import io
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from rich.console import Console

from tcl_core.command_line import main
from tcl_core.command_line.evaluation_watch import EvaluationWatch
from tcl_core.command_line.output import Output
from tcl_core.command_line.passes import PassWatch
from tcl_core.command_line.watch import RunWatch
from tcl_core.domain import Candidate, Failure, Rationale, Record, Source, Stage, Task, TaskState
from tcl_core.events import PhaseChanged, Progress, RecordMeasured, RoundFinished

_NAME = "/nets/[/odd]/[bold]net.onnx"


def _run(output: Output) -> None:
    with RunWatch(output) as watch:
        watch.show(PhaseChanged(stage=Stage.IMPORT, detail=_NAME))
        watch._bar.refresh()


def _passes(output: Output) -> None:
    with PassWatch(output) as watch:
        watch.phase(_NAME)
        watch._bar.refresh()


def _evaluation(output: Output) -> None:
    told = {"table": "tuning", "total": 2, "done": 1, "row": _NAME, "seed": 0, "epoch": None, "words": ""}
    with EvaluationWatch(output) as watch:
        watch.show(SimpleNamespace(**told, waiting=False, resumed=False))  # type: ignore[arg-type]
        watch._bar.refresh()


@pytest.mark.parametrize("show", [_run, _passes, _evaluation])
def test_brackets_in_a_name_are_no_markup(show: Callable[[Output], None]) -> None:
    """The folder of a network that `collect` imports is told in the bar: one in brackets ended it with a traceback."""
    text = io.StringIO()
    output = Output(as_json=False)
    output.status = Console(file=text, force_terminal=True, width=200)
    show(output)
    assert _NAME in text.getvalue()


def test_tasks_of_a_network_in_a_folder_in_brackets(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", _NAME]) == 2
    assert _NAME in capsys.readouterr().err


def _record(*latencies_s: float, cut_off: bool = False) -> Record:
    return Record(
        candidate=Candidate("a1", 0, ((1,),)),
        platform="cafe01",
        trace_json="",
        structural_hash="",
        latencies_s=latencies_s,
        failure=None if latencies_s else Failure(stage=Stage.COMPILE, cause="timeout", message="20 s"),
        rationale=Rationale(),
        cut_off=cut_off,
        source=Source.SEARCH,
        round=0,
        measured_at=0.0,
    )


def test_a_run_without_a_bar_is_a_line_per_candidate_and_round() -> None:
    text = io.StringIO()
    output = Output(as_json=False)
    output.status = Console(file=text, width=200)
    task = Task(
        key="a1",
        name="dense",
        weight=1,
        module_json="",
        flops=2e6,
        bytes_moved=1.0,
        dtype="float32",
        axes=(),
        arguments=(),
        anchor="matmul",
    )
    so_far = {"failed": 0, "elapsed_s": 1.0, "fraction": 0.5, "candidates_scored": 9}
    with RunWatch(output) as watch:
        watch.show(RecordMeasured(record=_record(0.002)))
        watch.show(Progress(trials=1, eta_low_s=4, eta_high_s=9, estimate_s=None, **so_far))  # type: ignore[arg-type]
        watch.show(RecordMeasured(record=_record(0.003, cut_off=True)))
        watch.show(
            Progress(trials=2, eta_low_s=3, eta_high_s=float("inf"), estimate_s=0.5, **so_far)  # type: ignore[arg-type]
        )
        watch.show(RecordMeasured(record=_record()))
        state = TaskState(task=task, trials=3, best_s=0.002)
        watch.show(RoundFinished(round=0, state=state, rank_correlation=-0.001, search_s=0.0, learn_s=0.0))
        watch.show(RoundFinished(round=1, state=TaskState(task=task), rank_correlation=None, search_s=0.0, learn_s=0.0))
    assert text.getvalue().splitlines() == [
        "[1] a1: 2,000.0 us; ",
        "[2] a1: 3,000.0 us (cut off); 4-9 s left",
        "[3] a1: failed in compile: timeout; 3-? s left",
        "dense: best 2,000.0 us, 1.0 GFLOP/s after 3 trials, rank correlation 0.00; network 500.000 ms",
        "dense: nothing ran yet after 0 trials; network 500.000 ms",
    ]
