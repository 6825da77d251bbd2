"""How much slower the machine is than it was, told by a candidate of which it is known how long it took.

A machine that grows warm lowers its clock, and a host may give two threads little more than one core for minutes. What
is timed then looks slow beside what was timed before, is cut off, and teaches the cost model that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tcl_core.domain import MeasureResult

STEADY = 1.2
"""Up to so many times as slow or as fast a machine is as it was. Of 488 records near their task's best that were timed
again, an hour later, by another process, the 99th percentile is 1.05 and three are above 1.1 (Zen 5): what takes longer
than this tells of the machine. What is divided out wrongly makes a candidate the best for good."""


def pace_of(looks_s: Sequence[float], before_s: float) -> float:
    """How many times as long as before the reference takes; 1 where the machine is as it was, or changed meanwhile.

    Args:
        looks_s: its latency before a batch, and behind it if that is known, in seconds; none where it did not run. The
            look that shows less counts: other work that is over before the batch must not make its candidates fast.
        before_s: its latency when it was measured, in seconds.
    """
    ratios = [look_s / before_s for look_s in looks_s]
    if not ratios:
        return 1.0
    if min(ratios) > STEADY:
        return min(ratios)
    return max(ratios) if max(ratios) < 1 / STEADY else 1.0


def at_pace(result: MeasureResult, pace: float) -> MeasureResult:
    """What the result would have been when the reference was measured."""
    return replace(result, latencies_s=tuple(latency_s / pace for latency_s in result.latencies_s))
