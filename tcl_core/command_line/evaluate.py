"""``evaluate``: the tables of the learner from a dataset, resumable cell by cell."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_cache_path

from tcl_core.command_line.checkpoint_choice import checkpoint_file
from tcl_core.command_line.evaluation_watch import EvaluationWatch
from tcl_core.command_line.interrupt import stop_on_interrupt
from tcl_core.command_line.output import Output
from tcl_core.command_line.paths import absolute_network
from tcl_core.destinations import check_folder
from tcl_core.errors import UserError
from tcl_core.events import CancelToken

if TYPE_CHECKING:
    from tcl_core.evaluation.results import EvaluationResult

_STOPPING = "Stopping after this step; finished cells are kept."
_STOPPED = "Stopped. Finished cells are kept; the same command goes on from there."


def run(arguments: argparse.Namespace, output: Output) -> None:
    """Compute what is asked for, show it, and write it where that is asked for too."""
    from tcl_core.dataset import bundled_dataset_path, read_dataset
    from tcl_core.evaluation.context import Context, EvaluationConfig, TuningConfig
    from tcl_core.evaluation.crew import Crew
    from tcl_core.evaluation.evaluate import evaluate

    _check(arguments)
    folder = Path(arguments.dataset) if arguments.dataset else bundled_dataset_path()
    cache = user_cache_path("tcl-studio", appauthor=False) / "evaluate"
    tuning = TuningConfig(
        networks=tuple(absolute_network(network) for network in arguments.network) or (None,),
        checkpoint=checkpoint_file(arguments.checkpoint, None),
        trials=arguments.trials or TuningConfig.trials,
    )
    context = Context(read_dataset(folder), EvaluationConfig(tuning=tuning), cache)
    token, crew = CancelToken(), Crew(dataset=folder, count=arguments.jobs - 1)
    with stop_on_interrupt(token, output, _STOPPING, _STOPPED), EvaluationWatch(output) as watch:
        result = evaluate(context, arguments.only, range(arguments.seeds), watch.show, token, crew)
    if arguments.tables or not output.json:
        _show(result, output)
    if arguments.out:
        for path in result.write(Path(arguments.out)):
            output.status.print(f"written: {path}", soft_wrap=True)
    output.emit(result.to_json())


def _check(arguments: argparse.Namespace) -> None:
    """Refuse what would be left out of account, or found wrong behind hours of tables.

    Raises:
        UserError: an option without its table, or a folder that the tables cannot be written to.
    """
    given = [name for name in ("network", "checkpoint", "trials") if getattr(arguments, name)]
    if given and arguments.only != "tuning":
        options = " and ".join(f"--{name}" for name in given)
        raise UserError("evaluation", f"{options} is for the table tuning; add --only tuning, or leave it out.")
    if arguments.out:
        check_folder(Path(arguments.out), "evaluation")


def _show(result: EvaluationResult, output: Output) -> None:
    for sentence in result.about.sentences():
        output.result.print(sentence, soft_wrap=True)
    for table in result.tables:
        output.result.print(f"\n{table.title}", style="bold")
        output.result.print(table.to_table())
        for text in (*table.remarks(), *map(str, table.verdicts())):
            output.result.print(text, soft_wrap=True)
