"""Subcommands and their options. The contract is fixed; nothing heavy is imported to print a help text."""

from __future__ import annotations

import argparse

from tcl_core.config import COST_MODELS, SAMPLERS

BENCHES = ("throughput", "scoring", "window")

Shape = tuple[str, tuple[int, ...]]


def shape(text: str) -> Shape:
    """``name=1,3,224,224`` as a name and its dimensions."""
    name, equals, dimensions = text.rpartition("=")
    try:
        parsed = tuple(int(part) for part in dimensions.split(","))
    except ValueError:
        parsed = ()
    if not equals or not name or not parsed or min(parsed) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form name=1,3,224,224 with positive dimensions")
    return name, parsed


def positive(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def minutes(text: str) -> float:
    """A positive number of minutes."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number of minutes")
    return value


def make_parser() -> argparse.ArgumentParser:
    """The whole command line."""
    parser = argparse.ArgumentParser(
        prog="main.py", description="Tune ONNX networks for this machine. Without a subcommand the studio opens."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_tasks(commands)
    _add_tune(commands)
    _add_export(commands)
    records = _add(commands, "records", "list everything a workspace has measured")
    records.add_argument("--workspace", required=True, metavar="DIR")
    _add(commands, "doctor", "say what is installed, what hardware was found, and what is wrong")
    bench = _add(commands, "bench", "compare with the peers in one run")
    bench.add_argument("name", choices=BENCHES, metavar="NAME", help=", ".join(BENCHES))
    _add(commands, "test", "run the whole test suite; further arguments go to pytest")
    return parser


def _add(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, text: str
) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=text, description=text)
    command.add_argument("--json", action="store_true", help="one JSON object on stdout, everything else on stderr")
    return command


def _add_target(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--target", default="cpu", metavar="T", help="cpu (this machine), cpu:x86-64-v3, cuda, or a TVM target as JSON"
    )
    command.add_argument(
        "--shape", action="append", default=[], type=shape, metavar="N=D,D..", help="fix a dynamic input's dimensions"
    )


def _add_tasks(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    tasks = _add(commands, "tasks", "list the tuning tasks of a network")
    tasks.add_argument("network", metavar="NETWORK.onnx")
    _add_target(tasks)


def _add_tune(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    tune = _add(commands, "tune", "tune a network (the bundled sample without an argument)")
    tune.add_argument("network", nargs="?", metavar="NETWORK.onnx")
    tune.add_argument("--workspace", metavar="DIR", help="where records are kept; the same one continues the work")
    tune.add_argument("--trials", type=positive, metavar="N", help="stop after N measured candidates")
    tune.add_argument("--minutes", type=minutes, metavar="M", help="stop after M minutes (3 for the sample, else 10)")
    _add_target(tune)
    tune.add_argument("--threads", type=positive, metavar="K", help="threads of a measurement; all cores by default")
    tune.add_argument("--sampler", choices=SAMPLERS, default="rdu")
    tune.add_argument("--cost-model", choices=COST_MODELS, default="mamba")
    tune.add_argument("--seed", type=int, default=0, metavar="S")


def _add_export(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    export = _add(commands, "export", "build the tuned library of a network from a workspace")
    export.add_argument("--workspace", required=True, metavar="DIR")
    export.add_argument("--network", metavar="NAME")
    export.add_argument("--out", required=True, metavar="DIR")
