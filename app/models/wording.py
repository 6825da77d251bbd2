"""Sentences that views show, made from models: what was opened, how a run stands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from app.models import quantities
from app.models.run_state import BUSY, Activity, EngineHealth, OpenedNetwork, RunState
from app.translation import later, tr
from tcl_core.domain import ImportReport, Stage, TaskState, TensorSpec
from tcl_core.events import Finished, Progress
from tcl_core.graphs import NetworkGraph, NodeKind

SILENCE_S = 5.0
"""A running engine is heard at least once a second; after so long a silence the studio says so."""

_ENDINGS = {
    "trials": later("all trials were used"),
    "minutes": later("the time was used up"),
    "no expected gain": later("no task promised a further gain"),
    "task trials": later("the tasks that promise a gain have used their own budgets"),
    "stopped": later("stopped; everything measured is kept"),
    "failed": later("an error ended it; everything measured is kept"),
    "interrupted": later("its process ended before it did"),
}


def tensor(spec: TensorSpec) -> str:
    """A tensor as in "x float32[1, 3, 224, 224]"."""
    return f"{spec.name} {spec.dtype}[{', '.join(map(str, spec.shape))}]"


def network_facts(opened: OpenedNetwork, states: Sequence[TaskState]) -> str:
    """One line beside a network's name."""
    flops = sum(state.task.weight * state.task.flops for state in states)
    return tr(
        "{count} · {flops} · {name}",
        count=quantities.tasks(len(states)),
        flops=quantities.flop(flops),
        name=opened.platform.name,
    )


def network_details(opened: OpenedNetwork) -> str:
    """Everything the import knows, line by line."""
    network, report = opened.network, opened.report
    operators = ", ".join(f"{name} ×{count}" for name, count in report.operators)
    lines = [
        network.path,
        tr("in: {tensors}", tensors="; ".join(map(tensor, network.inputs))),
        tr("out: {tensors}", tensors="; ".join(map(tensor, network.outputs))),
        tr("operators: {operators}", operators=operators),
        tr("imported in {seconds:.1f} s", seconds=report.seconds),
        tr("target: {target_json}", target_json=opened.platform.target_json),
    ]
    return "\n".join([*lines, *(issue.line for issue in report.issues)])


def graph_facts(graph: NetworkGraph, report: ImportReport | None) -> str:
    """One line below a network's graph: calls, tasks, repeats, and what the import noticed."""
    calls = [node for node in graph.nodes if node.kind is NodeKind.CALL]
    parts = [
        tr(
            "{count} of {count_2}",
            count=quantities.calls(len(calls)),
            count_2=quantities.tasks(len({node.task_key for node in calls if node.task_key})),
        )
    ]
    untuned = sum(not node.task_key for node in calls)
    if untuned:
        parts.append(tr("{untuned} without a task", untuned=quantities.calls(untuned)))
    parts += [
        tr("{count} × a block of {size}", count=repeat.count, size=quantities.calls(repeat.size))
        for repeat in graph.repeats[:3]
    ]
    if report is not None:
        count = len(report.issues)
        noticed = {0: tr("nothing unusual"), 1: tr("1 thing noticed")}.get(
            count, tr("{count:,} things noticed", count=count)
        )
        parts.append(tr("imported in {seconds:.1f} s, {noticed}", seconds=report.seconds, noticed=noticed))
    return " · ".join(parts)


def phase(run: RunState) -> str:
    """What is going on, in a few words."""
    idle = {
        EngineHealth.STARTING: tr("The engine is starting"),
        EngineHealth.READY: tr("Open a network to begin"),
        EngineHealth.DOWN: tr("The engine is down"),
    }
    stopping = run.phase if run.stage is Stage.LIBRARY else tr("Stopping at the next candidate")
    return {
        Activity.IDLE: idle[run.engine],
        Activity.OPENING: tr("Opening {opening_name}", opening_name=run.opening_name),
        Activity.READY: run.workspace_problem or run.outcome or tr("Ready to tune"),
        Activity.RUNNING: run.phase,
        Activity.PAUSED: tr("Paused"),
        Activity.STOPPING: stopping,
        Activity.CHECKING: run.phase,
        Activity.TEACHING: tr("At work on checkpoints"),
    }[run.activity]


def time_left(progress: Progress) -> str:
    """How long the run may still take: "1:10 to 2:40 left"; nothing while nobody can know."""
    if math.isinf(progress.eta_high_s):
        return ""
    return tr("{clock_range} left", clock_range=quantities.clock_range(progress.eta_low_s, progress.eta_high_s))


def heartbeat(age_s: float) -> str:
    """Whether the run is alive, as far as the window can tell."""
    if age_s < SILENCE_S:
        return tr("alive")
    return tr("no sign of life for {age_s}", age_s=quantities.clock(age_s))


def ending(finished: Finished) -> str:
    """How a run ended, one sentence; and one more where all it measured failed."""
    seconds, trials = quantities.clock(finished.seconds), quantities.trials(finished.trials)
    none = tr(" None gave a latency: Failures says why.") if gave_nothing(finished) else ""
    if finished.reason == "stopped":
        kept = tr("Stopped after {seconds} and {trials}; everything measured is kept.", seconds=seconds, trials=trials)
        return kept + none
    reason = end_reason(finished.reason)
    return tr("Finished after {seconds} and {trials}: {reason}.", seconds=seconds, trials=trials, reason=reason) + none


def gave_nothing(finished: Finished) -> bool:
    """Whether a run measured something, and all of it failed."""
    return 0 < finished.trials == finished.failed


def end_reason(reason: str) -> str:
    """Why a run ended, in words; `reason` as `Finished` and a workspace name it."""
    return tr(_ENDINGS.get(reason, reason))


def of_workspace_left(sentence: str, workspace: str) -> str:
    """What came of work on a workspace that is not on screen any more."""
    return tr("{sentence} This is of {workspace}, which was left meanwhile.", sentence=sentence, workspace=workspace)


def opening_held(activity: Activity) -> str:
    """Why no network can be opened now; "" when one can, in place of one that is being opened, too."""
    if activity in BUSY:
        return tr("Stop the run before another network is opened.")
    working = {
        Activity.CHECKING: tr("The engine is at work on the library or a report."),
        Activity.TEACHING: tr("The engine is at work on checkpoints."),
    }.get(activity)
    return tr("{working} Another network can be opened when that is over.", working=working) if working else ""


@dataclass(frozen=True, kw_only=True)
class CloseQuestion:
    """Whether to close the studio while something is at work, and what is kept of that."""

    title: str
    question: str
    kept: str


def closing(run: RunState) -> CloseQuestion:
    """What closing the studio would stop."""
    if run.busy:
        return CloseQuestion(
            title=tr("A run is on"),
            question=tr("Stop the run and close the studio?"),
            kept=tr("Everything measured is kept; the run can be continued later."),
        )
    if run.activity is Activity.CHECKING:
        return CloseQuestion(
            title=tr("A check is on"),
            question=tr("Stop the check and close the studio?"),
            kept=tr("What was being built, checked or exported is dropped; records and earlier exports stay."),
        )
    return CloseQuestion(
        title=tr("A training is on"),
        question=tr("Stop the training and close the studio?"),
        kept=tr("What it has learned so far is lost unless you stop it first; records and checkpoints stay."),
    )
