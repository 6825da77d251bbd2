"""What is asked of a measurer, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass

from tcl_core.domain import Failure


@dataclass(frozen=True, kw_only=True)
class MeasureRequest:
    """One candidate to compile and time.

    Attributes:
        id: unique inside a batch.
        task_key: candidates of one task follow each other when they are timed, and are cut off by the best of them.
        best_s: best latency of the task so far in seconds, for the cut-off; the best inside the batch replaces it.
    """

    id: int
    module_json: str
    task_key: str = ""
    best_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class MeasureResult:
    """What came of a request: latencies in seconds, or a failure.

    Attributes:
        cut_off: timed by its quick first run only, because it was far slower than the best.
        compile_s, run_s: wall time the two steps took.
    """

    id: int
    latencies_s: tuple[float, ...]
    failure: Failure | None = None
    cut_off: bool = False
    compile_s: float = 0.0
    run_s: float = 0.0
