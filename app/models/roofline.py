"""The roofline of a platform and where its tasks stand under it (Williams, Waterman & Patterson, CACM 2009).

A task of arithmetic intensity I runs at ``min(peak, bandwidth x I)`` at most. Bytes are those of the task's arguments,
each moved once: a task whose data stays in a cache between two uses may stand above the sloping part of the roof.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tcl_core.domain import PlatformFeatures, TaskState

Floats = NDArray[np.float64]

_ROOM = 2.0
"""How far the roof goes on beyond the outermost task or its own ridge, as a factor."""

_SLOPE = 20.0
"""The slope is shown over this factor at least: its name stands at it."""


@dataclass(frozen=True, kw_only=True)
class Roofline:
    """Tasks that compute and have a record, in the network's order, all arrays [N].

    Attributes:
        intensity: FLOP per byte.
        first: GFLOP/s of the best record of the task's first round; NaN before that round is over, and where an earlier
            run held it.
        best: GFLOP/s of its best record.
        share: of what the roof allows at its intensity, NaN without a roof.
        roof: corners (FLOP per byte, GFLOP/s) from left to right; empty where the platform was not measured.
        left_out: tasks that only move data: they have no place on these axes.
    """

    keys: tuple[str, ...]
    intensity: Floats
    first: Floats
    best: Floats
    share: Floats
    roof: tuple[tuple[float, float], ...]
    left_out: int


def roofline(states: Sequence[TaskState], features: PlatformFeatures | None) -> Roofline:
    """Where tasks stand; `features` of their platform, None before a network is open."""
    shown = [state for state in states if state.best_s and state.task.flops and state.task.intensity]
    intensity = np.array([state.task.intensity for state in shown], dtype=float)
    best = np.array([_gflops(state, state.best_s) for state in shown], dtype=float)
    peak, bandwidth = (features.peak_flops / 1e9, features.bandwidth_bytes_s / 1e9) if features else (0.0, 0.0)
    known = peak > 0 and bandwidth > 0
    allowed = np.minimum(peak, bandwidth * intensity) if known else np.full(len(shown), np.nan)
    return Roofline(
        keys=tuple(state.task.key for state in shown),
        intensity=intensity,
        first=np.array([_gflops(state, state.first_s) for state in shown], dtype=float),
        best=best,
        share=best / allowed,
        roof=_roof(intensity, peak, bandwidth) if known else (),
        left_out=sum(not (state.task.flops and state.task.intensity) for state in states),
    )


def _gflops(state: TaskState, latency_s: float | None) -> float:
    return state.task.flops / latency_s / 1e9 if latency_s else math.nan


def _roof(intensity: Floats, peak: float, bandwidth: float) -> tuple[tuple[float, float], ...]:
    ridge = peak / bandwidth
    low = min(float(intensity.min(initial=ridge)) / _ROOM, ridge / _SLOPE)
    high = max(float(intensity.max(initial=ridge)), ridge) * _ROOM
    return ((low, bandwidth * low), (ridge, peak), (high, peak))
