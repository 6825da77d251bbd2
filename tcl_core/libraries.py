"""What is known of a tuned library: what every task runs, whether its results are right, how fast it is against whom.

Frozen and picklable, like `domain`; nothing heavy is imported.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

FAR_BEHIND = 8.0
"""Times the tuned library's latency from which on a rival is timed in as many rounds as ten seconds hold, be it one."""


_COUNTED = 1e7
"""Numbers from here on have an exponent."""


def magnitude(value: float) -> str:
    """How large results are, in two digits: 0.0012, 4.5, 120, 3,400."""
    if not 99.5 <= value < _COUNTED:
        return f"{value:.2g}"
    return f"{float(f'{value:.1e}'):,.0f}"


class Verdict(StrEnum):
    """What a comparison says of the tuned library."""

    FASTER = "faster"
    SLOWER = "slower"
    TIE = "tie"
    OPEN = "too few rounds"


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Latencies of one contender in milliseconds, measured side by side with the others.

    Attributes:
        median_ms, low_ms, high_ms: 50th, 10th and 90th percentile of all runs.
        repeats: how many runs.
    """

    median_ms: float
    low_ms: float
    high_ms: float
    repeats: int


@dataclass(frozen=True, kw_only=True)
class Contest:
    """The tuned library against one rival, paired by round.

    In each round all contenders run right after one another; the ratio of two medians of one round is one number, so
    that a disturbance of the machine meets both.

    Attributes:
        rival: "untuned" or "onnxruntime".
        ratio: median over the rounds of rival's latency / tuned latency; above 1 the tuned library is faster.
        low, high: the ratio's 95 % confidence interval by the sign test, which supposes nothing of the noise but that
            rounds are independent; None below six rounds, from which no such interval follows.
        rounds: in which both were timed.
    """

    rival: str
    ratio: float
    low: float | None
    high: float | None
    rounds: int

    @property
    def is_plain(self) -> bool:
        """Whether the rival is so far behind that a person needs no interval to be sure."""
        return self.ratio >= FAR_BEHIND

    @property
    def verdict(self) -> Verdict:
        """A tie when the interval includes 1."""
        if self.low is None or self.high is None:
            return Verdict.OPEN
        if self.low > 1.0:
            return Verdict.FASTER
        return Verdict.SLOWER if self.high < 1.0 else Verdict.TIE


@dataclass(frozen=True, kw_only=True)
class OutputCheck:
    """The numerical check of one output against onnxruntime's.

    Attributes:
        max_abs_error: greatest absolute difference; infinite where the shapes differ or a value is finite in one of
            them only.
        max_rel_error: greatest difference / absolute reference, over elements whose reference is not 0.
        beyond: elements outside the tolerance, of `elements`.
        largest: greatest absolute value of onnxruntime's, infinities and NaN aside, 0 where there is none; None where
            the shapes differ, and in what a version of before 2026-11-28 noted.
    """

    name: str
    elements: int
    beyond: int
    max_abs_error: float
    max_rel_error: float
    largest: float | None = None

    @property
    def matches(self) -> bool:
        """`numpy.allclose`'s verdict; NaN matches NaN and nothing else."""
        return self.beyond == 0


@dataclass(frozen=True, kw_only=True)
class LibraryTask:
    """What one task runs in the library.

    Attributes:
        latency_s: of the record that was applied; None for a fallback.
        fallback: why the task runs untuned; "" when a record was applied.
        passed_over: faster records that no longer apply; 0 when the best one was applied.
    """

    key: str
    name: str
    weight: int
    latency_s: float | None
    fallback: str = ""
    passed_over: int = 0

    @property
    def without(self) -> str:
        """Which faster records it does without, in words; "" for none."""
        if self.passed_over < 2:
            return "without its best record, which no longer applies" if self.passed_over else ""
        return f"without its {self.passed_over} best records, which no longer apply"


@dataclass(frozen=True, kw_only=True)
class LibraryReport:
    """The tuned library, checked and timed as far as that was asked for and possible.

    Attributes:
        path: the bundle's folder, None when it was built but not exported.
        tasks: in the network's order.
        rtol, atol: the tolerance of the check, in the sense of `numpy.allclose`.
        outputs: the check of each output; () when the library or onnxruntime did not run.
        failures: what did not run, and why.
        untuned, tuned, onnxruntime: side by side, same inputs, same threads; None where it was not timed.
        contests: the tuned library against each rival that was timed.
        crashed: whether the library broke when it was run: then it matches nothing, checked or not.
        kind: "llvm" or "cuda", of the platform it is for. onnxruntime runs on the processor either way.
        device: address of the machine over the network that it ran on; "" for this one, where onnxruntime ran.
    """

    path: str | None
    tasks: tuple[LibraryTask, ...]
    rtol: float
    atol: float
    outputs: tuple[OutputCheck, ...] = ()
    failures: tuple[str, ...] = ()
    untuned: Timing | None = None
    tuned: Timing | None = None
    onnxruntime: Timing | None = None
    contests: tuple[Contest, ...] = ()
    crashed: bool = False
    kind: str = "llvm"
    device: str = ""

    @property
    def reference(self) -> str:
        """How onnxruntime is called beside the library: where they run on different hardware, that is said."""
        if self.device:
            return "onnxruntime (not on the device)"
        return "onnxruntime" if self.kind == "llvm" else "onnxruntime (processor)"

    @property
    def max_abs_error(self) -> float | None:
        """Greatest absolute difference to onnxruntime over all outputs; None when nothing was checked."""
        return max((output.max_abs_error for output in self.outputs), default=None)

    @property
    def matches(self) -> bool | None:
        """Whether all outputs are inside the tolerance; None when nothing was checked."""
        if not self.outputs:
            return False if self.crashed else None
        return all(output.matches for output in self.outputs)

    @property
    def largest(self) -> float | None:
        """Greatest absolute value of onnxruntime's results; None where it was not noted."""
        known = [output.largest for output in self.outputs if output.largest is not None]
        return max(known) if known and len(known) == len(self.outputs) else None

    @property
    def tells_little(self) -> bool:
        """Whether zeros would match, too: no result is beyond the absolute tolerance, as where weights are zeros."""
        return self.largest is not None and self.largest <= self.atol

    @property
    def tuned_tasks(self) -> int:
        """Tasks with a record applied."""
        return sum(not task.fallback for task in self.tasks)

    @property
    def fallback_tasks(self) -> tuple[str, ...]:
        """Names of the tasks without."""
        return tuple(task.name for task in self.tasks if task.fallback)

    def contest(self, rival: str) -> Contest | None:
        """The contest with one rival; None when one of the two was not timed."""
        return next((one for one in self.contests if one.rival == rival), None)


def finite(value: float | None) -> float | None:
    """The value, where JSON can hold it."""
    return value if value is not None and math.isfinite(value) else None


def output_json(check: OutputCheck) -> dict[str, Any]:
    """The check of one output for a manifest or a result in JSON."""
    return {
        "name": check.name,
        "elements": check.elements,
        "beyond_tolerance": check.beyond,
        "largest": check.largest,
        "max_abs_error": finite(check.max_abs_error),
        "max_rel_error": finite(check.max_rel_error),
    }
