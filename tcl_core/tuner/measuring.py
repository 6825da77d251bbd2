"""Chosen schedules become records: what a run and a collection do alike between the sampler and the store."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import spearmanr

from tcl_core.batches import Selection
from tcl_core.config import MeasureConfig
from tcl_core.domain import Platform, Rationale, Record, Replay, Source
from tcl_core.hardware.detect import detect
from tcl_core.measure import Measurer
from tcl_core.measure.requests import MeasureRequest, MeasureResult

_MOST_COMPILERS = 16
"""More were not tried. Each worker has a thread pool of its own, and timing, one at a time, waits for the slowest."""


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """A schedule to measure, why it was chosen, and who asked for it."""

    replay: Replay
    rationale: Rationale
    source: Source


def measurer_for(platform: Platform, config: MeasureConfig) -> Measurer:
    """A measurer with as many workers as the config says, or as this machine has cores to offer."""
    workers = config.compile_workers or min(detect().cores, _MOST_COMPILERS)
    return Measurer(platform, replace(config, compile_workers=workers))


def rationale_of(selection: Selection, place: int, score: float | None) -> Rationale:
    """Why the sampler picked its `place`-th candidate; a part it does not compute is None."""
    parts = (selection.representativeness, selection.diversity, selection.uncertainty)
    r, d, u = (None if np.isnan(values[place]) else float(values[place]) for values in parts)
    return Rationale(score=score, representativeness=r, diversity=d, uncertainty=u)


def best_latency_s(records: Sequence[Record], before_s: float | None = None) -> float | None:
    """The lowest latency among the records and `before_s`, in seconds; None where there is none."""
    found = [record.latency_s for record in records if record.latency_s is not None]
    return min(found if before_s is None else [before_s, *found], default=None)


def rank_correlation(records: Sequence[Record]) -> float | None:
    """Spearman's rho of predicted score against measured speed; None below three scored successes."""
    pairs = [(r.rationale.score, -r.latency_s) for r in records if r.rationale.score is not None and r.latency_s]
    if len(pairs) < 3 or len({score for score, _ in pairs}) < 2 or len({speed for _, speed in pairs}) < 2:
        return None
    scores, speeds = zip(*pairs, strict=True)
    return float(spearmanr(scores, speeds).statistic)


def requests_of(replays: Iterable[Replay], best_s: Mapping[str, float | None] | None = None) -> list[MeasureRequest]:
    """One request per schedule; its id is the schedule's position.

    Args:
        best_s: see `MeasureRequest.best_s`, by task key.
    """
    known_s = best_s or {}
    return [
        MeasureRequest(
            id=place,
            module_json=replay.module_json,
            task_key=replay.candidate.task_key,
            best_s=known_s.get(replay.candidate.task_key),
        )
        for place, replay in enumerate(replays)
    ]


def measured_records(
    chosen: Sequence[Chosen], results: Iterable[MeasureResult], *, platform: Platform, rounds: Sequence[int]
) -> Iterator[tuple[Record, MeasureResult]]:
    """A record for each of the chosen as its result becomes known, with the result it was made from.

    Args:
        results: of `requests_of` the chosen.
        rounds: of each of the chosen, see `Record.round`.
    """
    for result in results:
        one, number = chosen[result.id], rounds[result.id]
        yield (
            record_of(one.replay, one.rationale, result, platform=platform, source=one.source, round_=number),
            result,
        )


def record_of(
    replay: Replay, rationale: Rationale, result: MeasureResult, *, platform: Platform, source: Source, round_: int
) -> Record:
    """The record of a schedule that was measured just now."""
    return Record(
        candidate=replay.candidate,
        platform=platform.fingerprint,
        trace_json=replay.trace_json,
        structural_hash=replay.structural_hash,
        latencies_s=result.latencies_s,
        failure=result.failure,
        rationale=rationale,
        cut_off=result.cut_off,
        source=source,
        round=round_,
        measured_at=time.time(),
    )
