"""A collection: pools of many networks' tasks measured on one platform, for cost models to be trained on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np

from tcl_core.config import Budget, CollectConfig
from tcl_core.domain import Platform, Record, Replay, Source, Stage, Task
from tcl_core.events import CancelToken, Collected, Event, NetworkOpened, Notice, PhaseChanged, Progress, RecordMeasured
from tcl_core.features import platform_features
from tcl_core.hardware.target import resolve_platform
from tcl_core.measure import Measurer
from tcl_core.measure.requests import MeasureResult
from tcl_core.search.progress import estimate_eta
from tcl_core.selection import make_sampler
from tcl_core.space.design_space import DesignSpace
from tcl_core.store import Workspace
from tcl_core.tuner.clock import RunClock
from tcl_core.tuner.measuring import best_latency_s, measured_records, measurer_for, requests_of
from tcl_core.tuner.opening import enter_workspace, open_on, read_network, require_runnable
from tcl_core.tuner.references import draw_references, in_first_units, slowdown
from tcl_core.tuner.task_pool import PARTS, TaskPool, done, standing, wanted

_BATCH = 96
"""Candidates compiled before any of them is timed; a kill loses no more than these. Many, so that the visits of one are
seconds apart."""
_ATTEMPTS = 3
"""Times a batch is timed in all, when the machine is slow meanwhile."""


@dataclass(frozen=True, kw_only=True)
class _Planned:
    """One task of the collection, and how many of its records were there at the start."""

    task: Task
    wanted: int
    present: int


class Collector:
    """One collection. What is in the workspace already is not measured again, so the same call goes on.

    But where all that was collected of a task failed, it is: the cause may have been mended since.
    """

    def __init__(self, config: CollectConfig, cancel: CancelToken) -> None:
        self._config, self._cancel = config, cancel
        self._clock = RunClock(Budget(), cancel)
        self._sampler = make_sampler(config.sampler)
        self._records = self._failed = self._repeated = self._planned = 0

    def events(self) -> Iterator[Event]:
        """Measure to the end.

        Raises:
            UserError: bad input, or a platform this machine cannot measure.
            Interrupted: the token was stopped; every batch that was timed to its end is committed.
        """
        config = self._config
        platform = resolve_platform(config.target, config.threads)
        require_runnable(platform, "collect")
        with Workspace.open(Path(config.workspace)) as workspace, measurer_for(platform, config.measure) as measurer:
            planned: dict[str, _Planned] = {}
            for network in config.networks:
                yield PhaseChanged(stage=Stage.IMPORT, detail=network)
                yield self._plan(network, platform, workspace, planned)
            self._planned = sum(max(0, each.wanted - each.present) for each in planned.values())
            for each in planned.values():
                if each.present < each.wanted:
                    yield from self._measure_task(each.task, platform, workspace, measurer)
            for each in planned.values():
                yield from self._repeat_task(each.task, platform, workspace, measurer)
            yield self._collected(planned, platform, workspace)

    def _plan(
        self, network: str, platform: Platform, workspace: Workspace, planned: dict[str, _Planned]
    ) -> NetworkOpened:
        """Enter a network into the workspace and take its tasks; one that an earlier network has counts once."""
        config = self._config.network_config
        with self._cancel.abandonable():
            imported = open_on(read_network(network, config), platform, config)
        opened = enter_workspace(workspace, imported)
        tasks = sorted(opened.tasks, key=lambda task: -task.weight * task.flops)
        for task in tasks[: self._config.max_tasks or None]:
            if task.key not in planned:
                records, _ = standing(workspace.records(task_key=task.key, platform=platform.fingerprint, traces=False))
                present = sum(min(done(records, part), wanted(self._config, part)) for part in PARTS)
                total = sum(wanted(self._config, part) for part in PARTS)
                planned[task.key] = _Planned(task=task, wanted=total, present=present)
        return opened.event()

    def _measure_task(
        self, task: Task, platform: Platform, workspace: Workspace, measurer: Measurer
    ) -> Iterator[Event]:
        yield PhaseChanged(stage=Stage.SEARCH, task_key=task.key)
        pool = TaskPool(task, platform.target_json, platform_features(platform), self._config)
        workspace.add_sketches(platform.fingerprint, pool.space.sketches)
        records, void = standing(workspace.records(task_key=task.key, platform=platform.fingerprint, traces=False))
        for part in PARTS:
            chosen = pool.part(part, records, self._sampler)
            yield PhaseChanged(stage=Stage.MEASURE, task_key=task.key)
            for start in range(0, len(chosen), _BATCH):
                batch = chosen[start : start + _BATCH]
                results, left_out = self._timed([one.replay for one in batch], records, pool.space, measurer)
                if left_out is not None:
                    yield left_out
                    return
                rounds = [part] * len(batch)
                found = [record for record, _ in measured_records(batch, results, platform=platform, rounds=rounds)]
                # A success shows that the cause is mended; until one does, no failure goes but those measured again.
                mended = any(record.failure is None for record in found)
                replaced = void if mended else void.intersection(record.candidate for record in found)
                workspace.replace_failures(platform.fingerprint, replaced, found)
                void -= replaced
                records = (*records, *found)
                yield from self._noted(found)

    def _timed(
        self, replays: Sequence[Replay], records: Sequence[Record], space: DesignSpace, measurer: Measurer
    ) -> tuple[list[MeasureResult], Notice | None]:
        """Results of a batch, by position, in the units of the task's first one; none, and why, if they are no good.

        Candidates are cut off by the task's best latency as the machine is now: where it turns out to be slower than
        was assumed, they are timed again.

        Args:
            records: of the task so far; none before its first batch.
        """
        generator = np.random.default_rng([self._config.seed, crc32(space.task.key.encode()), len(PARTS) + 1])
        requests, known_s = list(replays), {}
        collected = [record for record in records if record.source is Source.COLLECTED]
        for reference in draw_references(collected, self._config.references, generator):
            replay = space.replay(reference.candidate)
            if isinstance(replay, Replay) and reference.latency_s is not None:
                known_s[len(requests)] = reference.latency_s
                requests.append(replay)
        best_s, assumed, most = best_latency_s(records), 1.0, self._config.measure.cutoff
        for _ in range(_ATTEMPTS):
            limit_s = None if best_s is None else best_s * assumed
            results = list(measurer.measure(requests_of(requests, {space.task.key: limit_s}), self._cancel))
            slower = slowdown(results, known_s) or 1.0
            if slower <= min(assumed * self._config.steady, most):
                return in_first_units(results, known_s), None
            assumed = min(slower, most)
        return [], _left_out(space.task, slower)

    def _noted(self, records: Sequence[Record]) -> Iterator[Event]:
        for record in records:
            self._records += 1
            self._failed += record.failure is not None
            self._clock.note_trial()
            yield RecordMeasured(record=record)
            yield self._progress()

    def _repeat_task(self, task: Task, platform: Platform, workspace: Workspace, measurer: Measurer) -> Iterator[Event]:
        """Measure a share of the successes a second time, under the same rules, to know the noise inside a task."""
        records = [
            record
            for record in workspace.records(task_key=task.key, platform=platform.fingerprint, traces=False)
            if record.latency_s is not None and record.source is Source.COLLECTED
        ]
        generator = np.random.default_rng([self._config.seed, crc32(task.key.encode()), len(PARTS)])
        chosen = generator.random(len(records)) < self._config.repeat
        known = workspace.repeats(task.key, platform.fingerprint)
        again = [record.candidate for record, take in zip(records, chosen, strict=True) if take]
        again = [candidate for candidate in again if candidate not in known]
        if not again:
            return
        yield PhaseChanged(stage=Stage.MEASURE, task_key=task.key, detail="a second time")
        space = DesignSpace(task, platform.target_json)
        workspace.add_sketches(platform.fingerprint, space.sketches)  # refused if the records were made with others
        replays = space.replays(again)
        others = [record for record in records if record.candidate not in again]
        results, left_out = self._timed(replays, others, space, measurer)
        if left_out is not None:
            yield left_out
            return
        for result in results:
            if result.failure is not None:
                cause = result.failure.cause
                yield Notice(sentence=f"A candidate of {task.name} that ran before failed the second time: {cause}.")
                continue
            workspace.add_repeat(replays[result.id].candidate, platform.fingerprint, result.latencies_s)
            self._repeated += 1
            yield self._progress()

    def _progress(self) -> Progress:
        budget = Budget(trials=max(1, self._planned))
        fraction, low, high = estimate_eta(self._clock.elapsed_s, self._records, budget, self._clock.trial_seconds)
        return Progress(
            trials=self._records,
            failed=self._failed,
            elapsed_s=self._clock.elapsed_s,
            fraction=fraction,
            eta_low_s=low,
            eta_high_s=high,
            candidates_scored=0,
            estimate_s=None,
        )

    def _collected(self, planned: dict[str, _Planned], platform: Platform, workspace: Workspace) -> Collected:
        present = 0
        for each in planned.values():
            records = workspace.records(task_key=each.task.key, platform=platform.fingerprint, traces=False)
            present += sum(min(done(records, part), wanted(self._config, part)) for part in PARTS)
        return Collected(
            records=self._records,
            failed=self._failed,
            repeated=self._repeated,
            tasks=len(planned),
            wanted=sum(each.wanted for each in planned.values()),
            present=present,
            seconds=self._clock.elapsed_s,
        )


def _left_out(task: Task, slower: float) -> Notice:
    return Notice(
        sentence=f"While {task.name} was timed, the machine was {slower:.1f} times slower than before; what was timed "
        "then was left out. Collect again when nothing else runs, or into a new workspace if it stays so slow."
    )
