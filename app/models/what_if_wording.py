"""Sentences of the what-if panel: what a decision is, what was changed, predicted and measured, and why not yet."""

from __future__ import annotations

from collections.abc import Sequence

from app.models import quantities
from app.models.plot_wording import decision as figures
from app.models.run_state import Activity, EngineHealth, RunState
from app.translation import later, tr
from tcl_core.domain import Decision, Record
from tcl_core.schedule_events import PlaceKind
from tcl_core.what_if_events import Control, LoopUse, Prediction, WhatIfScored

_USES = {
    PlaceKind.PARALLEL: later("parallel"),
    PlaceKind.VECTORISED: later("vectorised"),
    PlaceKind.UNROLLED: later("unrolled"),
    PlaceKind.BOUND: later("bound"),
}
_ORDINALS = {1: later("{number:,}st"), 2: later("{number:,}nd"), 3: later("{number:,}rd")}
_BUSY = {
    Activity.OPENING: later("The engine is opening a network."),
    Activity.CHECKING: later("The engine is at work on the library or a report."),
    Activity.TEACHING: later("The engine is at work on a checkpoint."),
    Activity.STOPPING: later("The run is being stopped."),
}


def name(control: Control) -> str:
    """What a control decides, and of which loop and block: "tile of loop i in matmul"."""
    parts = [control.what]
    parts += [tr("of loop {loop}", loop=control.loop)] if control.loop else []
    if control.block:
        inside = tr("in {block}", block=control.block)
        parts.append(inside if control.loop else tr("of {block}", block=control.block))
    return " ".join(parts)


def value(control: Control, decision: Decision) -> str:
    """A decision in words: factors as 8·2·1·4, a category or location by its label."""
    if control.labels and decision in control.values:
        return control.labels[control.values.index(decision)]
    return figures(decision)


def changes(controls: Sequence[Control], before: Sequence[Decision], after: Sequence[Decision]) -> tuple[str, ...]:
    """The decisions that differ, one line each: "tile of loop i in matmul: 8·8, was 4·16"."""
    return tuple(
        tr("{name}: {value}, was {value_2}", name=name(control), value=value(control, new), value_2=value(control, old))
        for control, old, new in zip(controls, before, after, strict=True)
        if old != new
    )


def changed(controls: Sequence[Control], before: Sequence[Decision], after: Sequence[Decision]) -> str:
    """The same in a few words, for a table: "i 8·8; unroll off"."""
    return "; ".join(
        f"{control.loop or control.what} {value(control, new)}"
        for control, old, new in zip(controls, before, after, strict=True)
        if old != new
    )


def score(record: Record) -> str:
    """The score that a record was predicted to have."""
    return "–" if record.rationale.score is None else f"{record.rationale.score:.2f}"


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th, 11th, 21st."""
    usual = later("{number:,}th")
    text = usual if number % 100 in {11, 12, 13} else _ORDINALS.get(number % 10, usual)
    return tr(text, number=number)


def rank(prediction: Prediction) -> str:
    """The place a score has among the measured records."""
    if prediction.score is None:
        return ""
    measured = prediction.measured
    if not measured:
        return tr("no other record to rank it among")
    if measured == 1:
        return tr("below the only one measured") if prediction.ahead else tr("above the only one measured")
    if not prediction.ahead:
        return tr("above all {measured:,} measured", measured=measured)
    if prediction.ahead == measured:
        return tr("below all {measured:,} measured", measured=measured)
    return tr("{ordinal} of {measured:,} measured", ordinal=ordinal(prediction.ahead + 1), measured=measured)


def predicted(record: Record, prediction: Prediction | None) -> str:
    """Score and place for a table: "1.25, 12th"; the place is known of what was measured in this sitting."""
    placed = prediction is not None and prediction.score is not None and bool(prediction.measured)
    return f"{score(record)}, {ordinal(prediction.ahead + 1)}" if prediction and placed else score(record)


def alike(prediction: Prediction) -> str:
    """What the score is worth in time."""
    if prediction.alike_s is None:
        return ""
    low, high = (quantities.latency(latency_s) for latency_s in prediction.alike_s)
    span = low if low == high else tr("{low} to {high}", low=low, high=high)
    return tr("Records that score alike ran in {span}.", span=span)


def measured(record: Record) -> str:
    """A latency, or what failed."""
    if record.failure is not None:
        return tr("failed: {cause}", cause=record.failure.cause)
    return quantities.latency(record.latency_s)


def ratio(record: Record, best_s: float | None) -> str:
    """Against the best of its task."""
    if record.latency_s is None or best_s is None:
        return "–"
    return tr("the best") if record.latency_s <= best_s else f"{quantities.digits(record.latency_s / best_s)}×"


def loops(uses: Sequence[LoopUse]) -> str:
    """What the decisions make of the loops: "parallel: i_j_fused 128; vectorised: k 16"."""
    by_kind: dict[str, list[str]] = {}
    for use in uses:
        kind = use.axis or tr(_USES[use.kind])
        by_kind.setdefault(kind, []).append(f"{use.name} {use.extent:,}" if use.extent else use.name)
    return "; ".join(f"{kind}: {', '.join(dict.fromkeys(names))}" for kind, names in by_kind.items())


def awaited(run: RunState, *, measuring: bool) -> str:
    """What an answer waits for."""
    if run.engine is not EngineHealth.READY:
        return tr("The engine is starting; it answers then.")
    if run.activity is Activity.RUNNING:
        return tr("The run goes first: it answers between this round and the next. Pause it for answers at once.")
    if run.activity is Activity.PAUSED:
        return tr("The engine answers as soon as it holds.")
    known = _BUSY.get(run.activity)
    return tr(known) if known else tr("Compiling and timing it.") if measuring else tr("Asking the cost model.")


def held(answer: WhatIfScored | None, *, measuring: bool, runnable: bool, run: RunState) -> str:
    """Why the candidate cannot be measured now; "" when it can."""
    if run.engine_held:
        return run.engine_held
    if run.activity in _BUSY:
        return tr(_BUSY[run.activity])
    if not runnable:
        return tr("This machine cannot run code for this platform.")
    if measuring:
        return tr("A what-if is being measured.")
    return "" if answer is None else _not_wanted(answer)


def illegal(answer: WhatIfScored) -> str:
    """Why decisions cannot be taken together; "" when they can."""
    return tr("These decisions give no schedule: {cause}.", cause=answer.cause) if answer.cause else ""


def _not_wanted(answer: WhatIfScored) -> str:
    if answer.cause:
        return tr("Change a decision: these give no schedule.")
    return tr("It is measured already.") if answer.record is not None else ""
