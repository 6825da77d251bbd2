"""Sentences of the schedules panel: whose record it is, how it did, and what is awaited."""

from __future__ import annotations

from app.models import quantities
from app.models.open_schedules import Compare, Opened
from app.models.plot_wording import origin
from app.models.run_state import Activity, EngineHealth, RunState
from app.translation import later, tr
from tcl_core.domain import Record
from tcl_core.schedule_events import ScheduleView

_BUSY = {
    Activity.RUNNING: later(
        "The engine is tuning: it shows the record between this round and the next, or in a pause."
    ),
    Activity.PAUSED: later("The engine shows the record as soon as it holds."),
}


def title(view: ScheduleView) -> str:
    """Task and sketch."""
    return tr("{task_name} · sketch {sketch}", task_name=view.task_name, sketch=view.record.candidate.sketch)


def facts(opened: Opened) -> str:
    """Latency, score, R, D and U of a record, one line."""
    view = opened.view
    if view is None:
        return ""
    record, why = view.record, view.record.rationale
    parts = [outcome(record, view.best_s), origin(record)]
    now = opened.score.score if opened.score is not None else None
    scores = [f"{why.score:.2f}"] if why.score is not None else []
    scores += [tr("{now:.2f} now", now=now)] if now is not None else []
    parts += [tr("score {scores}", scores=", ".join(scores))] if scores else []
    rdu = (("R", why.representativeness), ("D", why.diversity), ("U", why.uncertainty))
    known = "  ".join(f"{name} {value:.2f}" for name, value in rdu if value is not None)
    return " · ".join(filter(None, (*parts, known)))


def outcome(record: Record, best_s: float | None) -> str:
    """How a record did: its latency against the best of its task, or why it failed."""
    if record.failure is not None:
        return tr("failed to {stage}: {cause}", stage=record.failure.stage.value, cause=record.failure.cause)
    latency_s = record.latency_s
    text = quantities.latency(latency_s) + (tr(" (cut off)") if record.cut_off else "")
    if latency_s is None or best_s is None:
        return text
    return (
        tr("{text}, the best of its task", text=text)
        if latency_s <= best_s
        else tr("{text}, {ratio}× the best", text=text, ratio=quantities.digits(latency_s / best_s))
    )


def awaited(opened: Opened, run: RunState) -> str:
    """What is still to come, and what it waits for; "" when all is there."""
    if not opened.waiting:
        return ""
    if run.engine is not EngineHealth.READY:
        return tr("The engine is starting; the record is shown then.")
    if run.activity is not Activity.READY:
        return tr(_BUSY.get(run.activity, later("The engine is busy; it shows the record afterwards.")))
    if opened.view is None:
        return tr("Replaying the record.")
    return tr("Generating the source.") if opened.source is None else tr("Asking the cost model.")


def remarks(opened: Opened) -> str:
    """What is unusual, and why there is no source or no score."""
    unscored = opened.score if opened.score is not None and opened.score.score is None else None
    notes = [part.note for part in (opened.view, opened.source, unscored) if part is not None]
    return " ".join(filter(None, (opened.problem, *notes)))


def facts_hint(opened: Opened) -> str:
    """The facts with what they mean."""
    lines = [facts(opened), tr("Score: when it was chosen, and by the model as it is now. R, D, U: why it was chosen.")]
    lines += [opened.score.note] if opened.score is not None else []
    return "\n".join(lines) if opened.view is not None else ""


def empty(task_name: str) -> str:
    """What the panel says before a record is open."""
    if task_name:
        return tr("Click a point in the plots, or open the best record of {task_name}.", task_name=task_name)
    return tr("Click a point in the plots. Or select a task, and open its best record here.")


def pinned(opened: Opened | None) -> str:
    """What is pinned, a few words; "" for nothing."""
    view = opened.view if opened else None
    return "" if view is None else f"{title(view)} · {outcome(view.record, view.best_s)}"


COMPARE = {
    Compare.NOTHING: later("Compare with nothing"),
    Compare.BEST: later("Compare with the best of the task"),
    Compare.PINNED: later("Compare with the pinned record"),
}
