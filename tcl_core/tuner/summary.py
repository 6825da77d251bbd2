"""What a run says of all its tasks together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tcl_core.events import Notice
from tcl_core.features.vocabulary import MAX_TOKENS
from tcl_core.tuner.task_work import TaskWork


def estimate_s(works: Sequence[TaskWork]) -> float | None:
    """Sum over tasks of weight x best latency in seconds; None before every task has one."""
    total = 0.0
    for work in works:
        if work.state.best_s is None:
            return None
        total += work.state.task.weight * work.state.best_s
    return total


def remarks(works: Sequence[TaskWork]) -> Iterator[Notice]:
    """What replay did not let through, by cause, and what the cost model did not see."""
    causes: Counter[str] = Counter()
    for work in works:
        causes.update(work.rejected)
    for cause, count in sorted(causes.items()):
        yield Notice(
            sentence=f"Proposed candidates that replay did not let through, and nobody measured: {count} ({cause})."
        )
    cropped = [count for work in works for count in work.cropped]
    if cropped:
        of = "a sketch" if len(cropped) == 1 else f"{len(cropped)} sketches"
        yield Notice(
            sentence=f"Of {of} the cost model did not see {sum(cropped)} of the primitives: a candidate has "
            f"{MAX_TOKENS} tokens at most."
        )
