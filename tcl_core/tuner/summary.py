"""What a run says of all its tasks together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tcl_core.events import Notice
from tcl_core.tuner.task_work import TaskWork


def estimate_s(works: Sequence[TaskWork]) -> float | None:
    """Sum over tasks of weight x best latency in seconds; None before every task has one."""
    total = 0.0
    for work in works:
        if work.state.best_s is None:
            return None
        total += work.state.task.weight * work.state.best_s
    return total


def rejections(works: Sequence[TaskWork]) -> Iterator[Notice]:
    """What replay did not let through, by cause."""
    causes: Counter[str] = Counter()
    for work in works:
        causes.update(work.rejected)
    for cause, count in sorted(causes.items()):
        yield Notice(
            sentence=f"Proposed candidates that replay did not let through, and nobody measured: {count} ({cause})."
        )
