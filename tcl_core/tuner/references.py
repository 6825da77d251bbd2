"""References: records of a task that are timed again beside each of its later batches, so that all are in one unit.

A shared machine is faster or slower by some percent from one minute to the next, and a pool is timed in batches. Of 423
second measurements of 131 tasks (two threads of a Zen 5, an hour later) two differ in how far they are from the first
by 4.1 % at the median when they are of different tasks; of one task by 1.0 % when the first measurements had shared a
batch, and by 1.6 % when they had not. What a batch shares is divided out; with that it is 1.1 % in both cases.

A host may also give two threads little more than one core for minutes. Then a batch is 1.5 to 2.5 times as slow, what
runs on one thread is not, and nearly all is cut off, references too. Such a batch cannot be brought to any unit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median

import numpy as np

from tcl_core.domain import Record
from tcl_core.measure.requests import MeasureResult


def draw_references(records: Sequence[Record], most: int, generator: np.random.Generator) -> list[Record]:
    """At most `most` successes among a task's records, timed in full.

    Drawn at random: the fastest are so in part by luck, and would make every later batch look slow.
    """
    able = [record for record in records if record.latency_s is not None and not record.cut_off]
    chosen = generator.permutation(len(able))[:most]
    return [able[index] for index in sorted(chosen)]


def slowdown(results: Iterable[MeasureResult], known_s: Mapping[int, float]) -> float | None:
    """How many times as long as before the references of a batch took, at the median; None where none of them ran.

    One that is cut off counts with its one run: in a slow batch that is what happens to them.

    Args:
        known_s: latency of each reference before, in seconds, by the id of its request.
    """
    found = [
        median(result.latencies_s) / known_s[result.id]
        for result in results
        if result.id in known_s and result.latencies_s
    ]
    return median(found) if found else None


def in_first_units(results: Iterable[MeasureResult], known_s: Mapping[int, float]) -> list[MeasureResult]:
    """The results of a batch that are no reference's, in the units of the task's first batch.

    Args:
        known_s: latency of each reference in those units, in seconds, by the id of its request. Where none of them ran
            the results stay as they are.
    """
    every = list(results)
    factor = slowdown(every, known_s) or 1.0
    return [
        replace(result, latencies_s=tuple(latency_s / factor for latency_s in result.latencies_s))
        for result in every
        if result.id not in known_s
    ]
