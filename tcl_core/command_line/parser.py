"""Subcommands and their options. The contract is fixed; nothing heavy is imported to print a help text."""

from __future__ import annotations

import argparse
from typing import Any, TypeAlias

from tcl_core.command_line.option_texts import (
    jobs,
    minutes,
    named,
    positive,
    seed,
    seeds,
    shape,
    share,
    share_or_none,
    task_trials,
    tolerance,
    value,
)
from tcl_core.config import COST_MODELS, SAMPLERS, TABLES, LibraryConfig
from tcl_core.devices import FORMS
from tcl_core.hardware.device_options import add_options

BENCHES = ("throughput", "scoring", "quality", "time_to_quality", "end_to_end", "overhead", "scale", "window")
BENCH_OPTIONS = {
    "network": ("end_to_end", "quality", "time_to_quality"),
    "minutes": ("end_to_end",),
    "same-tasks": ("quality", "time_to_quality"),
    "target": ("throughput",),
}
"""Options of single benches; without `network` a bench has a subject of its own."""

Commands: TypeAlias = "argparse._SubParsersAction[_Command]"


class _Command(argparse.ArgumentParser):
    """A parser whose arguments are `named` where they have no type of their own."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.register("type", None, named)


def make_parser() -> argparse.ArgumentParser:
    """The whole command line."""
    parser = argparse.ArgumentParser(
        prog="main.py", description="Tune ONNX networks for this machine. Without a subcommand the studio opens."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Command)
    _add_tasks(commands)
    _add_tune(commands)
    _add_export(commands)
    _add_verify(commands)
    _add_report(commands)
    _add_collect(commands)
    _add_train(commands)
    _add_learn(commands)
    _add_evaluate(commands)
    _add_checkpoints(commands)
    _add_records(commands)
    _add_devices(commands)
    _add(commands, "doctor", "say what is installed, what hardware was found, and what is wrong")
    bench = _add(commands, "bench", "measure this program, against its peers or against goals and an earlier run")
    bench.add_argument("name", choices=BENCHES, metavar="NAME", help=", ".join(BENCHES))
    only = {option: f"only {', '.join(benches)}" for option, benches in BENCH_OPTIONS.items()}
    bench.add_argument(
        "--network",
        action="append",
        default=[],
        metavar="FILE",
        help=f"an ONNX file, for end_to_end repeatable ({only['network']})",
    )
    bench.add_argument("--minutes", type=minutes, metavar="M", help=f"of tuning each network ({only['minutes']})")
    bench.add_argument(
        "--same-tasks",
        action="store_true",
        help=f"the peers get our tasks instead of importing the network themselves ({only['same-tasks']})",
    )
    bench.add_argument("--target", metavar="T", help=f"as of tune, without it cpu ({only['target']})")
    bench.add_argument(
        "--baseline", metavar="FILE", help="an earlier result to compare with; by default the one that ships, if any"
    )
    bench.add_argument(
        "--keep",
        action="store_true",
        help="make this result the baseline (with --target only a --baseline that is named)",
    )
    screenshots = _add(commands, "screenshots", "take pictures of every panel, light and dark, from a real run")
    screenshots.add_argument("--out", required=True, metavar="DIR", help="where the pictures go")
    screenshots.add_argument(
        "--minutes", type=minutes, default=1.25, metavar="M", help="of the run of the bundled sample"
    )
    _add(commands, "test", "run the whole test suite; further arguments go to pytest")
    return parser


def _add(commands: Commands, name: str, text: str) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=text, description=text)
    command.add_argument("--json", action="store_true", help="one JSON object on stdout, everything else on stderr")
    return command


def _add_target(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--target",
        default="cpu",
        metavar="T",
        help="cpu (this machine), cpu:x86-64-v3, cuda, or a TVM target as JSON; cpu@HOST:PORT is a machine that "
        "`serve` runs on, cpu@HOST:PORT/KEY one of a tracker's",
    )
    command.add_argument(
        "--shape", action="append", default=[], type=shape, metavar="N=D,D..", help="fix a dynamic input's dimensions"
    )
    command.add_argument(
        "--value",
        action="append",
        default=[],
        type=value,
        metavar="N=V",
        help="fix an input to a number, or to one for each element: it is no input of the library then",
    )
    for option, text in (
        ("--begin-at", "begin at a tensor inside it, which is an input then; may be repeated"),
        ("--end-at", "end at a tensor inside it, in front of what cannot be tuned, say; may be repeated"),
    ):
        command.add_argument(
            option, action="append", default=[], type=named, metavar="TENSOR", help=f"let the network {text}"
        )


def _add_tasks(commands: Commands) -> None:
    tasks = _add(commands, "tasks", "list the tuning tasks of a network")
    tasks.add_argument("network", metavar="NETWORK.onnx")
    _add_target(tasks)


def _add_tune(commands: Commands) -> None:
    tune = _add(commands, "tune", "tune a network (the bundled sample without an argument)")
    tune.add_argument("network", nargs="?", metavar="NETWORK.onnx")
    tune.add_argument(
        "--workspace",
        metavar="DIR",
        help="where records are kept; the same one continues the work (by default in the user's data folder)",
    )
    tune.add_argument("--trials", type=positive, metavar="N", help="stop after N measured candidates")
    tune.add_argument(
        "--task-trials",
        action="append",
        default=[],
        type=task_trials,
        metavar="TASK=N",
        help="measure at most N candidates of a task, named as `tasks` lists it; may be repeated",
    )
    tune.add_argument(
        "--minutes",
        type=minutes,
        metavar="M",
        help="stop after M minutes (3 for the sample, else 10; no limit where only --trials is given)",
    )
    _add_target(tune)
    tune.add_argument("--threads", type=positive, metavar="K", help="threads of a measurement; all cores by default")
    tune.add_argument("--sampler", choices=SAMPLERS, default="rdu")
    tune.add_argument("--cost-model", choices=COST_MODELS, default="mamba")
    tune.add_argument(
        "--checkpoint",
        metavar="C",
        help="what the cost model starts from, as `checkpoints list` shows it or a file, or none for a cold start; by "
        "default what `checkpoints default` set, else the workspace's own model, else the checkpoint that ships",
    )
    _add_seed(tune)
    _add_tolerance(tune)
    tune.add_argument(
        "--repeat", type=positive, metavar="RUN", help="with --workspace alone: as this run of it was configured"
    )


def _add_export(commands: Commands) -> None:
    export = _add(commands, "export", "build the tuned library of a network from a workspace")
    export.add_argument("--workspace", required=True, metavar="DIR")
    export.add_argument("--network", metavar="NAME", help="which, where the workspace holds several")
    export.add_argument("--out", required=True, metavar="DIR")
    _add_tolerance(export)


def _add_verify(commands: Commands) -> None:
    verify = _add(
        commands,
        "verify",
        "check a tuned network's results against onnxruntime's; exit status 3 where they do not match",
    )
    verify.add_argument("--workspace", required=True, metavar="DIR")
    verify.add_argument("--network", metavar="NAME", help="which, where the workspace holds several")
    verify.add_argument("--times", action="store_true", help="time it too, in turns with onnxruntime and untuned TVM")
    _add_tolerance(verify)


def _add_tolerance(command: argparse.ArgumentParser) -> None:
    plain = LibraryConfig()
    for name, text in (("rtol", "relative"), ("atol", "absolute")):
        help_ = f"{text} tolerance of the check against onnxruntime ({getattr(plain, name):g})"
        command.add_argument(f"--{name}", type=tolerance, default=getattr(plain, name), metavar="X", help=help_)


def _add_report(commands: Commands) -> None:
    report = _add(commands, "report", "write the report of a run as one HTML file that any browser opens")
    report.add_argument("--workspace", required=True, metavar="DIR")
    report.add_argument("--network", metavar="NAME", help="which, where the workspace holds several")
    report.add_argument("--run", type=positive, metavar="N", help="its number; the newest of the network by default")
    report.add_argument("--out", required=True, metavar="FILE.html")


def _add_seed(command: argparse.ArgumentParser) -> None:
    command.add_argument("--seed", type=seed, default=0, metavar="S")


def _add_collect(commands: Commands) -> None:
    collect = _add(commands, "collect", "measure pools of candidates of networks, to train cost models on")
    collect.add_argument("networks", nargs="+", metavar="NETWORK.onnx")
    collect.add_argument("--workspace", required=True, metavar="DIR", help="the same one continues the work")
    collect.add_argument("--per-task", type=positive, required=True, metavar="N", help="candidates in a task's pool")
    _add_target(collect)
    collect.add_argument("--threads", type=positive, metavar="K", help="threads of a measurement; all cores by default")
    collect.add_argument("--share", type=share, default=1.0, metavar="X", help="share of each pool that is measured")
    collect.add_argument("--sampler", choices=SAMPLERS, default="random", help="who chooses that share")
    collect.add_argument(
        "--repeat", type=share_or_none, default=0.02, metavar="X", help="share that is measured twice, for the noise"
    )
    collect.add_argument(
        "--max-tasks", type=positive, default=0, metavar="M", help="of a network, those with most weight x FLOPs"
    )
    _add_seed(collect)


def _add_platform(command: argparse.ArgumentParser) -> None:
    command.add_argument("--workspace", required=True, metavar="DIR")
    command.add_argument(
        "--platform",
        required=True,
        metavar="P",
        help="a fingerprint or its beginning, a name or part of it, or a target: cpu:x86-64-v3, cpu/1 (1 thread)",
    )


def _add_records(commands: Commands) -> None:
    records = _add(commands, "records", "list everything a workspace has measured")
    records.add_argument("--workspace", required=True, metavar="DIR")
    way = records.add_mutually_exclusive_group()
    way.add_argument("--export", metavar="DIR", help="write a platform's records as a MetaSchedule database")
    way.add_argument("--import", dest="imported", metavar="DIR", help="take the records of a MetaSchedule database")
    records.add_argument("--platform", default="cpu", metavar="P", help="of what is exported or imported: as in train")


def _add_devices(commands: Commands) -> None:
    devices = _add(commands, "devices", "look whether machines over the network can be tuned for, and what they are")
    devices.add_argument("addresses", nargs="+", metavar="ADDRESS", help=FORMS)
    serve = _add(commands, "serve", "let other machines tune for this one, with --target cpu@HOST:PORT there")
    add_options(serve)
    serve.add_argument("--pack", metavar="FILE", help="write the server as one file, for a machine without the studio")


def _add_train(commands: Commands) -> None:
    train = _add(commands, "train", "train a cost model on the records of one platform")
    _add_platform(train)
    train.add_argument("--cost-model", choices=COST_MODELS, default="mamba")
    train.add_argument("--share", type=share, default=1.0, metavar="X", help="share of each task's records to train on")
    train.add_argument("--sampler", choices=SAMPLERS, default="rdu", help="who chooses that share")
    train.add_argument(
        "--checkpoint", metavar="C", help="go on from this one, named as for tune, instead of from nothing"
    )
    train.add_argument("--out", metavar="FILE", help="where the checkpoint goes; into the workspace by default")
    _add_seed(train)


def _add_learn(commands: Commands) -> None:
    learn = _add(commands, "learn", "carry a checkpoint on to a further platform, without any record of earlier ones")
    _add_platform(learn)
    learn.add_argument(
        "--from",
        dest="parent",
        required=True,
        metavar="C",
        help="a learned one, as for tune; none for the first",
    )
    learn.add_argument("--out", metavar="FILE", help="where the checkpoint goes; into the workspace by default")
    learn.add_argument("--seed", type=seed, metavar="S", help="by default the parent's, and 0 for the first")


def _add_evaluate(commands: Commands) -> None:
    evaluate = _add(
        commands,
        "evaluate",
        "make the learner's tables anew from the dataset that ships; tuning with --only tuning alone",
    )
    evaluate.add_argument("--tables", action="store_true", help="print the tables (as without any option)")
    evaluate.add_argument("--only", choices=TABLES, metavar="TABLE", help=", ".join(TABLES))
    evaluate.add_argument("--seeds", type=seeds, default=5, metavar="N")
    evaluate.add_argument(
        "--jobs",
        type=jobs,
        default=1,
        metavar="N",
        help="processes side by side; timed tables run alone all the same",
    )
    evaluate.add_argument("--dataset", metavar="DIR", help="another dataset than the one that ships")
    evaluate.add_argument("--out", metavar="DIR", help="write the tables there, as Markdown and JSON")
    evaluate.add_argument(
        "--network",
        action="append",
        default=[],
        metavar="NETWORK.onnx",
        help="for --only tuning: a network outside the dataset (the bundled sample without it)",
    )
    evaluate.add_argument("--checkpoint", metavar="C", help="for --only tuning: what the warm runs start from")
    evaluate.add_argument("--trials", type=positive, metavar="N", help="for --only tuning: of either run (256)")


def _add_checkpoints(commands: Commands) -> None:
    checkpoints = _add(
        commands, "checkpoints", "list, show, evaluate, export, import, remove checkpoints, set a default"
    )
    actions = checkpoints.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.type = str  # it holds the whole rest of the line, of which the action's own parser says what is wrong
    for name, text in (
        ("list", "every checkpoint of a workspace, and those that ship"),
        ("show", "everything a checkpoint says of itself"),
        ("export", "copy a checkpoint out of a workspace"),
        ("import", "check a checkpoint and take it into a workspace"),
        ("remove", "delete a checkpoint of a workspace"),
        ("default", "make one the start of all runs on a platform, or none with --platform to take it back"),
        ("evaluate", "rank held-out networks with checkpoints, on every platform there are records of"),
    ):
        action = actions.add_parser(name, help=text, description=text)
        # Without a default: one given before the action's name must not be overwritten by it.
        action.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="one JSON object on stdout")
        if name == "import":
            action.add_argument("file", metavar="FILE")
        elif name == "evaluate":
            action.add_argument("names", nargs="+", metavar="NAME", help="as for show; one or several")
            action.add_argument("--lineage", action="store_true", help="its ancestors, too: the forgetting matrix")
            action.add_argument("--shipped", action="store_true", help="on the dataset that ships")
        elif name != "list":
            action.add_argument("name", metavar="NAME", help="its number or name as list shows it, or a file")
        if name == "default":
            action.add_argument("--platform", metavar="P", help="as for train; by default the one it learned last")
        if name == "export":
            action.add_argument("out", metavar="OUT")
        needed = name in {"import", "remove", "default"}
        action.add_argument("--workspace", required=needed, metavar="DIR")
