"""What plots say of the point under the mouse, and of themselves while they are empty."""

from __future__ import annotations

import math
from collections.abc import Sequence

from app.models import quantities
from app.models.measured_records import RecordSummary
from app.models.round_series import RoundPoint
from app.translation import later, tr
from tcl_core.domain import Decision, Rationale, Record, Source, TaskState

_LINE = 52
"""Characters of one line of decisions; a card of three such lines still fits into a plot of half the window."""
_LINES = 3

_SOURCES = {
    Source.CARRIED: later("carried over from a similar task"),
    Source.DRAWN: later("drawn at random"),
    Source.PERSON: later("a person's what-if"),
    Source.IMPORTED: later("imported"),
    Source.COLLECTED: later("collected"),
}


def decision(value: Decision) -> str:
    """One decision: the factors of a tile as 4·8·2, anything else as its number."""
    return "·".join(map(str, value))


def decisions(values: tuple[Decision, ...]) -> str:
    """All decisions of a candidate, in trace order: "4·8·2 | 16·1 | 3"."""
    return " | ".join(map(decision, values))


def record_card(record: RecordSummary, task_name: str) -> str:
    """A record in a few lines: task, sketch, decisions, latency, score, R, D and U."""
    lines = [task_name, tr("sketch {sketch}, {origin}", sketch=record.candidate.sketch, origin=origin(record))]
    lines += wrapped(record.candidate.decisions)
    lines += [_outcome(record), reasons(record.rationale)]
    return "\n".join(lines)


def reasons(why: Rationale) -> str:
    """Why a candidate was chosen, in one line: its score, R, D and U."""
    parts = (("R", why.representativeness), ("D", why.diversity), ("U", why.uncertainty))
    return tr("score {score}   ", score=_figure(why.score)) + "   ".join(
        f"{name} {_figure(value)}" for name, value in parts
    )


def round_card(point: RoundPoint, task_name: str) -> str:
    """A round in a few lines."""
    figures = tr(
        "rank correlation {rank_correlation}   pairwise {pairwise_accuracy}",
        rank_correlation=_figure(point.rank_correlation),
        pairwise_accuracy=_figure(point.pairwise_accuracy),
    )
    scored = quantities.scored_records(point.scored)
    last = tr("{scored}, searched in {seconds:.1f} s", scored=scored, seconds=point.search_s)
    if point.learn_s:
        last = tr("{last}, learned in {seconds:.1f} s", last=last, seconds=point.learn_s)
    return tr(
        "round {number}: {task_name}\n{figures}\n{last}",
        number=point.number,
        task_name=task_name,
        figures=figures,
        last=last,
    )


def roof_card(name: str, intensity: float, first: float, best: float, share: float) -> str:
    """A task under the roof: speeds in GFLOP/s, `share` of what the roof allows."""
    lines = [
        name,
        tr(
            "{best} GFLOP/s at {intensity} FLOP per byte",
            best=quantities.digits(best),
            intensity=quantities.digits(intensity),
        ),
    ]
    if not math.isnan(share):
        lines.append(tr("{share} of the roof", share=quantities.percent(share)))
    if not math.isnan(first):
        lines.append(tr("after its first round {first} GFLOP/s", first=quantities.digits(first)))
    return "\n".join(lines)


def roof_note(left_out: int) -> str:
    """What is not shown under the roof."""
    if not left_out:
        return ""
    return tr("1 task only moves data") if left_out == 1 else tr("{left_out:,} tasks only move data", left_out=left_out)


def best_card(trials: float, elapsed_s: float, latency_s: float) -> str:
    """A point of the line of the best latency so far."""
    return tr(
        "{latency_s}\nafter {trials}, {elapsed_s}",
        latency_s=quantities.latency(latency_s),
        trials=quantities.trials(round(trials)),
        elapsed_s=quantities.clock(elapsed_s),
    )


def best_note(states: Sequence[TaskState], task_key: str, *, shown: bool) -> str:
    """What the line of the best latency so far is of."""
    if task_key:
        name = next((state.task.name for state in states if state.task.key == task_key), task_key)
        return tr("best record of {name}", name=name)
    known = sum(state.best_s is not None for state in states)
    if shown or known == len(states):
        return tr("sum of weight × best latency over all tasks")
    if len(states) == 1:
        return tr("the only task has no record so far")
    if known == 1:
        return tr("1 of {count:,} tasks has a record so far", count=len(states))
    return tr("{known:,} of {count:,} tasks have a record so far", known=known, count=len(states))


def empty_best(states: Sequence[TaskState], task_key: str) -> str:
    """What the plot of the best latency says while it is empty."""
    shown = _shown(states, task_key)
    if shown and all(state.best_s is not None for state in shown):
        return tr("Appears with the next record, and goes on from the best of earlier runs.")
    return tr("Appears with this task's first record.") if task_key else tr("Appears once every task has a record.")


def empty_scatter(states: Sequence[TaskState], task_key: str, unscored: int, *, begun: bool) -> str:
    """What the scatter says while it is empty, before a run of this session has `begun` and afterwards."""
    if unscored:
        return tr("Chosen before the cost model could score them: {unscored}.", unscored=quantities.records(unscored))
    if begun:
        awaited = tr("Each scored record of this run becomes a point here.")
    else:
        awaited = tr("Start a run: each scored record becomes a point here.")
    earlier = sum(state.trials for state in _shown(states, task_key))
    if earlier:
        return tr(
            "{awaited} Earlier runs measured {trials}; `main.py records --workspace` lists them.",
            awaited=awaited,
            trials=quantities.candidates(earlier),
        )
    return awaited


def scatter_note(total: int, unscored: int, *, all_drawn: bool) -> str:
    """What the scatter shows and leaves out, line by line."""
    lines = [tr("{total} with a predicted score", total=quantities.records(total))]
    lines += [] if all_drawn else [tr("The newest are drawn as points, all of them as a shade.")]
    lines += [tr("{unscored} without one", unscored=quantities.records(unscored))] if unscored else []
    return "\n".join(lines)


def _shown(states: Sequence[TaskState], task_key: str) -> list[TaskState]:
    """The task of that key, or all for ""."""
    return [state for state in states if task_key in {"", state.task.key}]


def origin(record: RecordSummary | Record) -> str:
    """Who asked for a record."""
    return (
        tr("round {round}", round=record.round + 1) if record.source is Source.SEARCH else tr(_SOURCES[record.source])
    )


def _outcome(record: RecordSummary) -> str:
    if record.latency_s is None:
        return tr("failed: {cause}", cause=record.cause)
    cut = tr(" (cut off)") if record.cut_off else ""
    if record.best_s is None or record.latency_s <= record.best_s:
        return tr("{latency_s}, the best of its task", latency_s=quantities.latency(record.latency_s))
    return tr(
        "{latency_s}{cut}, {ratio}× its task's best",
        latency_s=quantities.latency(record.latency_s),
        cut=cut,
        ratio=quantities.digits(record.latency_s / record.best_s),
    )


def _figure(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else f"{value:.2f}"


def wrapped(values: tuple[Decision, ...]) -> list[str]:
    """Decisions over at most `_LINES` lines."""
    lines = [""]
    for number, value in enumerate(values):
        text = decision(value)
        if lines[-1] and len(lines[-1]) + len(text) + 3 > _LINE:
            if len(lines) == _LINES:
                lines[-1] += tr(" | … {count} more", count=len(values) - number)
                break
            lines.append("")
        lines[-1] += f" | {text}" if lines[-1] else text
    return [line for line in lines if line]
