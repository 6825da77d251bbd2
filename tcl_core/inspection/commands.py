"""Carries out what a watcher asks about a record: replay first, then source, then score, each told when it is known.

What is slower comes later, and the workspace is only read. During a run this happens between rounds, in the run's own
thread and process, so that nothing is compiled or searched beside a measurement.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import tvm_ffi

from tcl_core.checkpoints import choose_start, load_start
from tcl_core.checkpoints.kept import found_config
from tcl_core.config import CostModelConfig
from tcl_core.cost_model import make_cost_model
from tcl_core.cost_model.base import CostModel
from tcl_core.domain import Platform, Record, Stage, Task
from tcl_core.errors import UserError
from tcl_core.events import Event, ScheduleCommand
from tcl_core.features import LAYOUT
from tcl_core.inspection import tree
from tcl_core.inspection.find import find_record
from tcl_core.inspection.influence import Explained, explain
from tcl_core.inspection.source import generate
from tcl_core.inspection.stepping import Stepped, step_through
from tcl_core.inspection.tensor_ir import read_tensor_ir
from tcl_core.schedule_events import (
    InspectSchedule,
    ScheduleInspected,
    ScheduleView,
    ScoreExplained,
    SourceGenerated,
    Step,
)
from tcl_core.store import Workspace

NO_MODEL = "No model yet: the first round of a run trains one, or train one from records."
"""Why a workspace has no score to give."""


def carry_out(command: ScheduleCommand) -> Iterator[Event]:
    """The events of one command. Raises: see `inspect`."""
    if not isinstance(command, InspectSchedule):
        raise TypeError(f"nobody carries out {command!r}")
    yield from inspect(command)


def inspect(command: InspectSchedule) -> Iterator[Event]:
    """The answers to one question.

    Raises:
        UserError: no such workspace, task or record, a record without a schedule, or a trace of another TVM.
    """
    with Workspace.open(Path(command.workspace), create=False, read_only=True) as workspace:
        found = find_record(workspace, command)
        task = found.task
        stepped = step_through(task.module_json, found.record.trace_json)
        view = make_view(found.record, task, found.platform, found.best_s, stepped)
        yield ScheduleInspected(request=command.request, view=view)
        yield _source(command.request, view, stepped)
        yield _score(command.request, view, task, workspace)


def make_view(record: Record, task: Task, platform: Platform, best_s: float | None, stepped: Stepped) -> ScheduleView:
    """A replayed record as plain data."""
    places, text = read_tensor_ir(stepped)
    keys = [tree.node_key(node) for _, node in tree.nodes(stepped.module["main"])]
    histories = [stepped.histories[key] for key in keys]
    places = tuple(
        replace(place, steps=tuple(sorted(history.steps)), made_by=history.made_by)
        for place, history in zip(places, histories, strict=True)
    )
    structural_hash = f"{tvm_ffi.structural_hash(stepped.module) & (2**64 - 1):016x}"
    changed = bool(record.structural_hash) and structural_hash != record.structural_hash
    return ScheduleView(
        record=replace(record, trace_json=""),
        platform=platform,
        task_name=task.name,
        anchor=task.anchor,
        best_s=best_s,
        places=places,
        steps=_with_places(stepped.steps, [history.steps for history in histories]),
        tensor_ir=text,
        note="This version of TVM replays the trace to another program than was measured." if changed else "",
    )


def _with_places(steps: tuple[Step, ...], by_place: list[list[int]]) -> tuple[Step, ...]:
    return tuple(
        replace(step, places=tuple(place for place, touched in enumerate(by_place) if number in touched))
        for number, step in enumerate(steps)
    )


def _source(request: int, view: ScheduleView, stepped: Stepped) -> SourceGenerated:
    failure = view.record.failure
    if failure is not None and failure.stage is Stage.COMPILE:
        # What broke a worker once could break this process.
        return SourceGenerated(
            request=request, texts=(), note=f"This record failed to compile ({failure.cause}), so it has no source."
        )
    try:
        return SourceGenerated(request=request, texts=generate(stepped.module, view.platform, view.places))
    except (RuntimeError, ValueError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[-1]
        return SourceGenerated(request=request, texts=(), note=f"TVM generates no source here: {reason}")


def _score(request: int, view: ScheduleView, task: Task, workspace: Workspace) -> ScoreExplained:
    try:
        model, origin = current_model(workspace, view.platform)
        explained = _explained(view, task, workspace, model) if model else Explained(note=NO_MODEL)
    except UserError as error:
        return ScoreExplained(request=request, score=None, influences=(), note=str(error))
    steps = [number for number, step in enumerate(view.steps) if step.domain >= 0]
    return ScoreExplained(
        request=request,
        score=explained.score,
        influences=tuple(replace(one, step=steps[one.step]) for one in explained.influences),
        note=explained.note or origin,
    )


def _explained(view: ScheduleView, task: Task, workspace: Workspace, model: CostModel) -> Explained:
    candidate = view.record.candidate
    sketches = workspace.sketches(task.key, view.platform.fingerprint)
    sketch = next((one for one in sketches if one.index == candidate.sketch), None)
    if sketch is None:
        return Explained(note="The workspace does not hold this record's sketch, so it cannot be scored.")
    return explain(candidate, sketch, task, view.platform, model)


def current_model(workspace: Workspace, platform: Platform) -> tuple[CostModel | None, str]:
    """The cost model of the newest run on a platform as it was last saved, with where it comes from; None without one.

    Raises:
        UserError: its checkpoint is damaged, gone, or of another feature vocabulary.
    """
    runs = [run for run in workspace.runs() if run.platform == platform.fingerprint]
    config = runs[-1].config.cost_model if runs else CostModelConfig()
    own = workspace.checkpoint_path(platform.fingerprint, config.name)
    asked = found_config(workspace, runs[-1].config).checkpoint if runs and not own.exists() else None
    start = choose_start(workspace, platform, config.name, asked)
    if start.path is None:
        return None, ""
    model = make_cost_model(config, LAYOUT, seed=0)
    load_start(model, start, platform)
    origins = {"workspace": "as the workspace's runs have trained it", "shipped": "as it ships"}
    return model, f"Model: {model.name}, {origins.get(start.reason, f'from {start.path.name}')}."
