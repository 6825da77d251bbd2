"""A recorded run, made from a seed: 15 tasks of a small network, a few hundred records, some failures, a library."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import library_samples
import numpy as np
import recorded_graph

from tcl_core import events
from tcl_core.config import Budget, RunConfig
from tcl_core.domain import (
    Candidate,
    Failure,
    ImportIssue,
    ImportReport,
    LoopAxis,
    Network,
    Platform,
    PlatformFeatures,
    Rationale,
    Record,
    Source,
    Stage,
    Task,
    TaskState,
    TensorSpec,
)
from tcl_core.libraries import LibraryReport, LibraryTask

START = 1_780_000_000.0

PLATFORM = Platform(
    fingerprint="9f2c41d07be3",
    name="AMD EPYC, 2 threads, znver5",
    kind="llvm",
    target_json='{"kind": "llvm", "mcpu": "znver5", "num-cores": 2}',
    threads=2,
    runnable=True,
    features=PlatformFeatures(
        cores=2,
        vector_bits=512,
        l1_bytes=48 << 10,
        l2_bytes=1 << 20,
        l3_bytes=32 << 20,
        peak_flops=2.6e11,
        bandwidth_bytes_s=2.4e10,
    ),
)

_TASKS = (
    ("fused_matmul_add_gelu", "matmul", 2, 67.1, ((128, "spatial"), (512, "spatial"), (512, "reduce"))),
    ("fused_matmul1_add_reshape", "matmul", 8, 16.8, ((128, "spatial"), (128, "spatial"), (512, "reduce"))),
    ("fused_conv2d_add_relu", "conv2d_nchw", 1, 118.0, ((64, "spatial"), (3136, "spatial"), (147, "reduce"))),
    ("fused_conv2d1_add_relu", "conv2d_nchw", 4, 231.2, ((64, "spatial"), (3136, "spatial"), (576, "reduce"))),
    ("fused_conv2d2_add_add_relu", "conv2d_nchw", 3, 115.6, ((128, "spatial"), (784, "spatial"), (576, "reduce"))),
    ("fused_conv2d3_add", "conv2d_nchw", 1, 12.8, ((128, "spatial"), (784, "spatial"), (64, "reduce"))),
    ("fused_softmax", "softmax", 2, 0.16, ((256, "spatial"), (128, "reduce"))),
    ("fused_layer_norm", "layer_norm", 5, 0.52, ((128, "spatial"), (128, "reduce"))),
    ("fused_transpose_reshape", "transpose", 6, 0.0, ((128, "spatial"), (128, "spatial"))),
    ("fused_matmul2_divide_add", "matmul", 2, 4.2, ((256, "spatial"), (128, "spatial"), (64, "reduce"))),
    ("fused_matmul3", "matmul", 2, 4.2, ((256, "spatial"), (64, "spatial"), (128, "reduce"))),
    ("fused_max_pool2d", "max_pool2d", 1, 1.8, ((64, "spatial"), (3136, "spatial"), (9, "reduce"))),
    ("fused_mean", "mean", 1, 0.03, ((512, "spatial"), (49, "reduce"))),
    ("fused_take_add_layer_norm", "take", 1, 0.07, ((128, "spatial"), (128, "reduce"))),
    ("fused_dense_add", "matmul", 1, 1.0, ((1, "spatial"), (1000, "spatial"), (512, "reduce"))),
)

_FAILURES = (
    Failure(stage=Stage.MEASURE, cause="timeout", message="No result within 10 s; the worker was ended."),
    Failure(
        stage=Stage.COMPILE,
        cause="LLVM error",
        message='Traceback (most recent call last):\n  File "build", line 1\nInternalError: Check failed: '
        "(extent > 0) is false: vector lanes must be positive, but got 0\n  in tir/transforms/vectorize_loop.cc:341",
    ),
    Failure(stage=Stage.MEASURE, cause="crash (SIGSEGV)", message="The worker ended with SIGSEGV while it was timing."),
    Failure(stage=Stage.REPLAY, cause="ScheduleError", message="ScheduleError: the loop is not a serial loop."),
)

NETWORK = Network(
    name="sample",
    path="/networks/sample.onnx",
    digest="c0ffee",
    inputs=(TensorSpec(name="image", dtype="float32", shape=(1, 3, 64, 64)),),
    outputs=(TensorSpec(name="logits", dtype="float32", shape=(1, 1000)),),
)


def tasks(count: int = len(_TASKS)) -> tuple[Task, ...]:
    """The first `count` tasks of the network."""
    return tuple(
        Task(
            key=f"{number:02x}" * 8,
            name=name,
            weight=weight,
            module_json="{}",
            flops=mflop * 1e6,
            bytes_moved=max(2e5, mflop * 3e4),
            dtype="float32",
            axes=tuple(LoopAxis(extent=extent, kind=kind) for extent, kind in axes),
            arguments=(TensorSpec(name="x", dtype="float32", shape=(128, 512)),),
            anchor=anchor,
        )
        for number, (name, anchor, weight, mflop, axes) in enumerate(_TASKS[:count])
    )


def opened(network: Network = NETWORK, count: int = len(_TASKS)) -> events.NetworkOpened:
    report = ImportReport(
        operators=(("Conv", 9), ("MatMul", 14), ("Softmax", 2), ("LayerNormalization", 5)),
        issues=(
            ImportIssue(
                node="/pool/AveragePool",
                operator="AveragePool",
                problem="count_include_pad is ignored for padding 0",
                mend="nothing to do",
            ),
        ),
        seconds=2.3,
    )
    return events.NetworkOpened(
        at=START,
        network=network,
        platform=PLATFORM,
        tasks=tasks(count),
        report=report,
        graph=recorded_graph.graph(tasks(count)),
    )


def library(path: str | None = "/workspaces/sample/exports/sample") -> LibraryReport:
    """A library of all tasks but one."""
    used = tuple(
        LibraryTask(key=task.key, name=task.name, weight=task.weight, latency_s=max(2e-6, task.flops / 1.6e11))
        for task in tasks()
    )
    fallback = library_samples.FALLBACK
    return library_samples.report(
        path=path,
        tasks=tuple(
            replace(task, latency_s=None, fallback=fallback) if task.name == "fused_mean" else task for task in used
        ),
    )


def config(workspace: str = "/workspaces/sample") -> RunConfig:
    return RunConfig(network=None, workspace=workspace, budget=Budget(minutes=3.0))


class RecordedRun:
    """Makes the events of one run, round by round. The same seed makes the same events."""

    def __init__(self, *, rounds: int = 30, round_size: int = 12, seed: int = 0) -> None:
        self.rounds, self.round_size = rounds, round_size
        self._random = np.random.default_rng(seed)
        self._states = [TaskState(task=task) for task in tasks()]
        self._floor_s = [max(2e-6, task.flops / 1.6e11) * self._random.uniform(0.8, 1.4) for task in tasks()]
        self.trials = self.failed = self.scored = 0
        self.elapsed_s = 0.0

    def events(self) -> Iterator[events.Event]:
        """The whole run, from its start to its end."""
        yield self._stamp(
            events.RunStarted(
                run_id=1,
                config=config(),
                network=NETWORK,
                platform=PLATFORM,
                states=tuple(self._states),
                resumed_records=0,
            )
        )
        for number in range(self.rounds):
            yield self._gains()
            yield from self._round(number)
        yield self._stamp(events.PhaseChanged(stage=Stage.LIBRARY))
        yield self._stamp(events.Notice(sentence="No C compiler was found; run.cpp was written but not built."))
        yield self._stamp(events.LibraryBuilt(report=library()))
        seconds = (("search", 21.0), ("compile", 88.0), ("measure", 47.0), ("learn", 19.0))
        yield self._stamp(
            events.Finished(
                reason="minutes",
                trials=self.trials,
                failed=self.failed,
                seconds=self.elapsed_s,
                seconds_by_stage=seconds,
                candidates_scored=self.scored,
                library=library(),
            )
        )

    def _gains(self) -> events.Event:
        gains_s = tuple(
            (state.task.key, math.inf if state.best_s is None else 0.4 * state.task.weight * state.best_s)
            for state in self._states
        )
        return self._stamp(events.GainsExpected(gains_s=gains_s))

    def _round(self, number: int) -> Iterator[events.Event]:
        index = number % len(self._states)
        task = self._states[index].task
        yield self._stamp(events.PhaseChanged(stage=Stage.SEARCH, task_key=task.key))
        self.scored += 4096
        self.elapsed_s += 0.7
        yield self._stamp(events.PhaseChanged(stage=Stage.MEASURE, task_key=task.key))
        for _ in range(self.round_size):
            self.elapsed_s += float(self._random.uniform(0.2, 0.6))
            yield self._stamp(events.RecordMeasured(record=self._record(index, number)))
            yield self._progress(number)
        yield self._stamp(events.PhaseChanged(stage=Stage.LEARN, task_key=task.key))
        state = self._states[index]
        self._states[index] = replace(state, first_s=state.first_s or state.best_s)
        rho = None if number < 3 else min(0.93, 0.3 + number / 45)
        yield self._stamp(
            events.RoundFinished(
                round=number, state=self._states[index], rank_correlation=rho, search_s=0.4, learn_s=0.6
            )
        )

    def _record(self, index: int, number: int) -> Record:
        state = self._states[index]
        failure = _FAILURES[int(self._random.integers(len(_FAILURES)))] if self._random.random() < 0.07 else None
        skill = number / self.rounds
        slowness = 1.0 + float(self._random.exponential(6.0 * (1.15 - skill)))
        latency_s = self._floor_s[index] * slowness
        score = -np.log(slowness) + float(self._random.normal(0, 0.55 * (1.2 - skill)))
        cut_off = failure is None and state.best_s is not None and latency_s > 3.0 * state.best_s
        self.trials += 1
        self.failed += failure is not None
        best_s = state.best_s if failure else min(latency_s, state.best_s or latency_s)
        self._states[index] = TaskState(
            task=state.task,
            trials=state.trials + 1,
            failures=state.failures + (failure is not None),
            best_s=best_s,
            history_s=(*state.history_s, best_s or 0.0),
            first_s=state.first_s,
        )
        spread = (1.0,) if cut_off else (1.0, 1.02, 0.99)
        return Record(
            candidate=Candidate(task_key=state.task.key, sketch=0, decisions=((number,),)),
            platform=PLATFORM.fingerprint,
            trace_json="[]",
            structural_hash=f"{self.trials:016x}",
            latencies_s=() if failure else tuple(latency_s * factor for factor in spread),
            failure=failure,
            rationale=Rationale(score=None if number < 2 else float(score), diversity=0.4),
            cut_off=cut_off,
            source=Source.SEARCH,
            round=number,
            measured_at=START + self.elapsed_s,
        )

    def _progress(self, number: int) -> events.Progress:
        bests = [state.best_s for state in self._states]
        estimate_s = None
        if all(best is not None for best in bests):
            estimate_s = sum(state.task.weight * (state.best_s or 0.0) for state in self._states)
        fraction = min(1.0, (number + 1) / self.rounds)
        left_s = 180 * (1 - fraction)
        return events.Progress(
            at=START + self.elapsed_s,
            trials=self.trials,
            failed=self.failed,
            elapsed_s=self.elapsed_s,
            fraction=fraction,
            eta_low_s=0.8 * left_s,
            eta_high_s=1.3 * left_s,
            candidates_scored=self.scored,
            estimate_s=estimate_s,
        )

    def _stamp(self, event: events.Event) -> events.Event:
        object.__setattr__(event, "at", START + self.elapsed_s)
        return event
