"""Sentences that views show, made from models: what was opened, how a run stands."""

from __future__ import annotations

from collections.abc import Sequence

from app.models import quantities
from app.models.run_state import Activity, EngineHealth, OpenedNetwork, RunState
from tcl_core.domain import ImportReport, Stage, TaskState, TensorSpec
from tcl_core.events import Finished, Progress
from tcl_core.graphs import NetworkGraph, NodeKind

SILENCE_S = 5.0
"""A running engine is heard at least once a second; after so long a silence the studio says so."""

_ENDINGS = {
    "trials": "all trials were used",
    "minutes": "the time was used up",
    "no expected gain": "no task promised a further gain",
    "task trials": "the tasks that promise a gain have used their own budgets",
    "stopped": "stopped; everything measured is kept",
}


def tensor(spec: TensorSpec) -> str:
    """A tensor as in "x float32[1, 3, 224, 224]"."""
    return f"{spec.name} {spec.dtype}[{', '.join(map(str, spec.shape))}]"


def network_facts(opened: OpenedNetwork, states: Sequence[TaskState]) -> str:
    """One line beside a network's name."""
    flops = sum(state.task.weight * state.task.flops for state in states)
    return f"{len(states)} tasks · {quantities.flop(flops)} · {opened.platform.name}"


def network_details(opened: OpenedNetwork) -> str:
    """Everything the import knows, line by line."""
    network, report = opened.network, opened.report
    operators = ", ".join(f"{name} x{count}" for name, count in report.operators)
    lines = [
        network.path,
        "in: " + "; ".join(map(tensor, network.inputs)),
        "out: " + "; ".join(map(tensor, network.outputs)),
        f"operators: {operators}",
        f"imported in {report.seconds:.1f} s",
        f"target: {opened.platform.target_json}",
    ]
    lines += [f"{issue.node} ({issue.operator}): {issue.problem} {issue.mend}" for issue in report.issues]
    return "\n".join(lines)


def graph_facts(graph: NetworkGraph, report: ImportReport | None) -> str:
    """One line below a network's graph: calls, tasks, repeats, and what the import noticed."""
    calls = [node for node in graph.nodes if node.kind is NodeKind.CALL]
    parts = [f"{len(calls):,} calls of {len({node.task_key for node in calls if node.task_key}):,} tasks"]
    untuned = sum(not node.task_key for node in calls)
    if untuned:
        parts.append(f"{untuned:,} calls without a task")
    parts += [f"{repeat.count} × a block of {repeat.size} calls" for repeat in graph.repeats[:3]]
    if report is not None:
        count = len(report.issues)
        noticed = {0: "nothing unusual", 1: "1 thing noticed"}.get(count, f"{count:,} things noticed")
        parts.append(f"imported in {report.seconds:.1f} s, {noticed}")
    return " · ".join(parts)


def phase(run: RunState) -> str:
    """What is going on, in a few words."""
    idle = {
        EngineHealth.STARTING: "The engine is starting",
        EngineHealth.READY: "Open a network to begin",
        EngineHealth.DOWN: "The engine is down",
    }
    stopping = run.phase if run.stage is Stage.LIBRARY else "Stopping at the next candidate"
    return {
        Activity.IDLE: idle[run.engine],
        Activity.OPENING: f"Opening {run.opening_name}",
        Activity.READY: run.outcome or "Ready to tune",
        Activity.RUNNING: run.phase,
        Activity.PAUSED: "Paused",
        Activity.STOPPING: stopping,
        Activity.CHECKING: run.phase,
        Activity.TEACHING: "At work on checkpoints",
    }[run.activity]


def time_left(progress: Progress) -> str:
    """How long the run may still take: "1:10 to 2:40 left"."""
    return f"{quantities.clock_range(progress.eta_low_s, progress.eta_high_s)} left"


def heartbeat(age_s: float) -> str:
    """Whether the run is alive, as far as the window can tell."""
    if age_s < SILENCE_S:
        return "alive"
    return f"no sign of life for {quantities.clock(age_s)}"


def ending(finished: Finished) -> str:
    """How a run ended, one sentence."""
    reason = _ENDINGS.get(finished.reason, finished.reason)
    return f"Finished after {quantities.clock(finished.seconds)} and {finished.trials:,} trials: {reason}."


def closing(run: RunState) -> tuple[str, str]:
    """What closing the studio would stop, and what is kept of it."""
    if run.busy:
        return "run", "Everything measured is kept; the run can be continued later."
    return "training", "What it has learned so far is lost unless you stop it first; records and checkpoints stay."
