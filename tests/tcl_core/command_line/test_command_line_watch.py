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
from tcl_core.domain import Stage
from tcl_core.events import PhaseChanged

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
