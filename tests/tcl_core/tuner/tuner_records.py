"""Tasks and records for tests of the tuner."""

from __future__ import annotations

from typing import Any, cast

from tcl_core.domain import Candidate, Failure, Rationale, Record, Replay, Source, Stage, Task


def task_of(key: str, **about: Any) -> Task:
    """A task of one convolution, but for what is said about it."""
    plain = {
        "name": key,
        "weight": 1,
        "module_json": "{}",
        "flops": 1e9,
        "bytes_moved": 1e6,
        "dtype": "float32",
        "axes": (),
        "arguments": (),
        "anchor": "conv2d",
    }
    return Task(key=key, **(plain | about))


def record(
    latency_s: float | None, *, candidate: Candidate | None = None, trace_json: str = "", structural_hash: str = ""
) -> Record:
    """A record that ran so fast; a failure for None. What it was measured of matters to few tests."""
    return Record(
        candidate=cast(Any, candidate),
        platform="p",
        trace_json=trace_json,
        structural_hash=structural_hash,
        latencies_s=() if latency_s is None else (latency_s,),
        failure=None if latency_s is not None else Failure(stage=Stage.MEASURE, cause="timeout"),
        rationale=Rationale(),
        cut_off=False,
        source=Source.SEARCH,
        round=0,
        measured_at=0.0,
    )


def record_of(replay: Replay, latency_s: float | None) -> Record:
    """The record of a schedule."""
    return record(
        latency_s,
        candidate=replay.candidate,
        trace_json=replay.trace_json,
        structural_hash=replay.structural_hash,
    )
