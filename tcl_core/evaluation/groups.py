"""A dataset as cost models read it: features and labels of every (task, platform), built once and kept in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tcl_core.batches import FeatureBatch, FloatArray, Population, StoreFeatureBatch, TaskGroup, TokenBatch
from tcl_core.dataset.base import Dataset, Measured
from tcl_core.domain import Sketch, Task
from tcl_core.errors import UserError
from tcl_core.evaluation.store_rows import ReplayJob, StoreRows
from tcl_core.events import CancelToken
from tcl_core.features import TokenTemplate, platform_features
from tcl_core.search.population import DecisionSpace

Reads = Literal["tokens", "schedules"]
Rows = NDArray[np.int64]
Key = tuple[str, str]


class Groups:
    """Groups of a dataset. Belongs to one thread.

    The rows of a (task, platform) are its records by sketch, in the order of measurement inside each; a record whose
    decisions its sketch does not hold is left out. Everything here that takes or gives rows means these.

    Attributes:
        dataset: what it is made from.
        processes: workers that replay candidates for models that read schedules.
    """

    def __init__(self, dataset: Dataset, *, processes: int = 1) -> None:
        self.dataset = dataset
        self.processes = processes
        self._platform_token = True
        self._tokens: dict[Key, tuple[TokenBatch, ...]] = {}
        self._measured: dict[Key, tuple[Measured, ...]] = {}
        self._latencies_s: dict[Key, NDArray[np.float64]] = {}
        self._stores = StoreRows()

    def without_platform_token(self) -> Groups:
        """The same groups with a platform token of zeros, for the ablation, so that no field tells of a platform."""
        twin = Groups(self.dataset, processes=self.processes)
        twin._stores, twin._platform_token = self._stores, False
        return twin

    def has(self, task_key: str, platform: str) -> bool:
        """Whether anything of the task succeeded on the platform: without that it has no labels and no best."""
        return bool(np.isfinite(self.latencies_s(task_key, platform)).any())

    def measured(self, task_key: str, platform: str) -> tuple[Measured, ...]:
        """The records behind the rows [N]."""
        self._build((task_key, platform))
        return self._measured[task_key, platform]

    def latencies_s(self, task_key: str, platform: str) -> NDArray[np.float64]:
        """Latencies of the rows [N] in seconds, NaN for failures."""
        self._build((task_key, platform))
        return self._latencies_s[task_key, platform]

    def group(self, task_key: str, platform: str, rows: Rows | None = None, *, reads: Reads = "tokens") -> TaskGroup:
        """Features and labels of all rows, or of some, in ascending order.

        Labels are `min latency / latency` over the rows given: what was not chosen is not known. 0 for a failure.
        """
        latencies_s = self.latencies_s(task_key, platform)
        picked = np.arange(len(latencies_s)) if rows is None else np.unique(rows)
        chosen = latencies_s[picked]
        best_s = np.nanmin(chosen) if np.isfinite(chosen).any() else np.nan
        labels = np.nan_to_num(best_s / chosen, nan=0.0).astype(np.float32)
        batches = self._features((task_key, platform), picked, reads)
        return TaskGroup(task_key=task_key, batches=batches, labels=labels)

    def groups(self, task_keys: Iterable[str], platform: str, *, reads: Reads = "tokens") -> tuple[TaskGroup, ...]:
        """The groups of those tasks of which something succeeded on the platform."""
        return tuple(self.group(key, platform, reads=reads) for key in task_keys if self.has(key, platform))

    def drawn(
        self, task_keys: Iterable[str], platform: str, count: int, generator: np.random.Generator
    ) -> Iterator[TokenBatch]:
        """So many random candidates of each sketch of those tasks, all of a smaller one; no record is looked at."""
        hardware = self._shown(platform_features(self.dataset.platforms[platform]))
        for key in task_keys:
            for sketch in self.dataset.sketches.get((key, platform), ()):
                batch = drawn_candidates(sketch, self.dataset.tasks[key], hardware, count, generator)
                if len(batch):
                    yield batch

    def _shown(self, platform: FloatArray) -> FloatArray:
        return platform if self._platform_token else np.zeros_like(platform)

    def prepare(
        self,
        task_keys: Sequence[str],
        platform: str,
        reads: Reads,
        cancel: CancelToken | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """Build the features of many tasks at once; replays run in `processes` workers, and `tell` hears how far.

        Raises:
            Interrupted: `cancel` was stopped; what was built is kept.
        """
        for key in task_keys:
            self._build((key, platform))
        if reads == "schedules":
            wanted = [key for key in task_keys if self._measured[key, platform]]
            self._stores.prepare(self._jobs(wanted, platform), self.processes, cancel, tell)

    def _jobs(self, task_keys: Sequence[str], platform: str) -> dict[Key, ReplayJob]:
        target = self.dataset.platforms[platform].target_json
        return {
            (key, platform): ReplayJob(
                task=self.dataset.tasks[key],
                target_json=target,
                sketches=self.dataset.sketches[key, platform],
                candidates=tuple(one.candidate for one in self._measured[key, platform]),
            )
            for key in task_keys
        }

    def _features(self, key: Key, picked: Rows, reads: Reads) -> tuple[FeatureBatch, ...]:
        if reads == "schedules":
            self.prepare([key[0]], key[1], reads)
            rows: tuple[FloatArray, ...] = self._stores[key]
            return (StoreFeatureBatch(rows=tuple(rows[index] for index in picked)),)
        batches: list[FeatureBatch] = []
        start = 0
        for batch in self._tokens[key]:
            inside = picked[(picked >= start) & (picked < start + len(batch))] - start
            start += len(batch)
            if len(inside):
                batches.append(replace(batch, fields=batch.fields[inside]))
        return tuple(batches)

    def _build(self, key: Key) -> None:
        """Token features of one (task, platform), at first use."""
        if key in self._tokens:
            return
        task_key, fingerprint = key
        records = self.dataset.records.get(key, ())
        task, platform = self.dataset.tasks.get(task_key), self.dataset.platforms.get(fingerprint)
        if task is None or platform is None:
            raise UserError("dataset", f"The dataset knows no task {task_key} or no platform {fingerprint}.")
        hardware = self._shown(platform_features(platform))
        batches, measured = [], []
        for sketch in self.dataset.sketches.get(key, ()):
            own = [one for one in records if one.candidate.sketch == sketch.index]
            choices, found = DecisionSpace(sketch).rows([one.candidate for one in own])
            if len(found):
                template = TokenTemplate(sketch, task, hardware)
                batches.append(template.featurise(Population(sketch=sketch.index, choices=choices)))
                measured += [own[index] for index in found]
        self._tokens[key], self._measured[key] = tuple(batches), tuple(measured)
        found_s = (one.latency_s for one in measured)
        self._latencies_s[key] = np.array([np.nan if latency is None else latency for latency in found_s], np.float64)


def drawn_candidates(
    sketch: Sketch, task: Task, platform: FloatArray, count: int, generator: np.random.Generator
) -> TokenBatch:
    """So many random candidates of a sketch, all of a smaller one, under a platform's token."""
    space = DecisionSpace(sketch)
    choices = space.whole() if space.size <= count else space.random(count, generator)
    return TokenTemplate(sketch, task, platform).featurise(space.population(choices))
