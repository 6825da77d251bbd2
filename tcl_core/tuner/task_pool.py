"""The pool of one task on one platform: what `collect` measures of it, the same under the same seed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from zlib import crc32

import numpy as np

from tcl_core.batches import FloatArray, Pool
from tcl_core.config import CollectConfig, ModelConfig
from tcl_core.cost_model.untrained_embedding import untrained_embeddings
from tcl_core.domain import Candidate, Failure, Rationale, Record, Source, Task
from tcl_core.features import TokenTemplate
from tcl_core.search.mutation import Mutation
from tcl_core.search.population import DecisionSpace
from tcl_core.selection.base import Sampler
from tcl_core.space.design_space import DesignSpace
from tcl_core.tuner.measuring import Chosen, rationale_of

_SPARE = 8
"""Candidates drawn per wanted one: some are illegal in replay, some turn out to be the same schedule."""

_PARENTS = 0.25
"""The fastest share of what is measured that breeds."""

_WIDTH = ModelConfig().width
"""Of the embeddings that a sampler sees."""

PARTS = RANDOM, BRED = (0, 1)
"""A pool's parts in the order of measuring; a record's `round` says which one it is of."""


def pool_size(config: CollectConfig, part: int) -> int:
    """Candidates that make a part."""
    bred = round(config.per_task * config.bred)
    return bred if part == BRED else config.per_task - bred


def wanted(config: CollectConfig, part: int) -> int:
    """Records planned of a part."""
    return math.ceil(pool_size(config, part) * config.share)


def done(records: Sequence[Record], part: int) -> int:
    """Records of a part that are there."""
    return sum(record.source is Source.COLLECTED and record.round == part for record in records)


def standing(records: Sequence[Record]) -> tuple[tuple[Record, ...], frozenset[Candidate]]:
    """A task's records without its pool's failures where nothing of the pool succeeded, and whose failures those are.

    They are measured again: where all fail, the cause is likelier the machine's (a library that is missing, a crash)
    than each candidate's. Elsewhere a failure stands, as every resumption would repeat it.
    """
    pool = [record for record in records if record.source is Source.COLLECTED]
    if any(record.failure is None for record in pool):
        return tuple(records), frozenset()
    others = tuple(record for record in records if record.source is not Source.COLLECTED)
    return others, frozenset(record.candidate for record in pool)


class TaskPool:
    """Draws, selects and replays. Belongs to one thread.

    Attributes:
        space: the task's design space.
    """

    def __init__(self, task: Task, target_json: str, platform: FloatArray, config: CollectConfig) -> None:
        self.space = DesignSpace(task, target_json)
        self._task, self._config = task, config
        self._templates = tuple(TokenTemplate(sketch, task, platform) for sketch in self.space.sketches)
        self._spaces = tuple(DecisionSpace(sketch) for sketch in self.space.sketches)
        self._mutations = tuple(Mutation(sketch) for sketch in self.space.sketches)

    def part(self, part: int, records: Sequence[Record], sampler: Sampler) -> list[Chosen]:
        """What is still to be measured of a part: new schedules, with why the sampler chose them where one did.

        Args:
            records: everything measured of the task on this platform that stands.
        """
        count = wanted(self._config, part) - done(records, part)
        if count <= 0:
            return []
        generator = np.random.default_rng([self._config.seed, crc32(self._task.key.encode()), part])
        size = pool_size(self._config, part)
        drawn = self._random(size, generator) if part == RANDOM else self._bred(size, records, generator)
        return self._fresh(self._ordered(drawn, size, sampler, generator), records, count)

    def _random(self, size: int, generator: np.random.Generator) -> list[Candidate]:
        """Distinct random candidates, evenly over the sketches as far as these go."""
        each = math.ceil(size * _SPARE / max(1, len(self._spaces)))
        found: dict[Candidate, None] = {}
        for space in self._spaces:
            choices = space.whole() if space.size <= each else space.random(each, generator)
            found.update(dict.fromkeys(space.candidates(choices)))
        return _shuffled(list(found), generator)

    def _bred(self, size: int, records: Sequence[Record], generator: np.random.Generator) -> list[Candidate]:
        """Distinct mutations of the fastest measured candidates."""
        good = sorted((record.latency_s, index) for index, record in enumerate(records) if record.latency_s is not None)
        parents = [records[index].candidate for _, index in good[: max(1, math.ceil(len(good) * _PARENTS))]]
        found: dict[Candidate, None] = {}
        for space, mutation in zip(self._spaces, self._mutations, strict=True):
            choices, _ = space.rows(parents)
            if not len(choices) or space.size == 1:
                continue
            every = np.repeat(choices, math.ceil(size * _SPARE / len(parents)), axis=0)
            bred = mutation.mutate(every, generator)
            found.update(dict.fromkeys(space.candidates(bred[space.allowed(bred)])))
        return _shuffled(list(found), generator)

    def _ordered(
        self,
        drawn: list[Candidate],
        size: int,
        sampler: Sampler,
        generator: np.random.Generator,
    ) -> Iterator[tuple[Candidate, Rationale]]:
        """As drawn when the whole pool is measured; otherwise the pool's candidates in the sampler's order."""
        if self._config.share >= 1:
            yield from ((candidate, Rationale()) for candidate in drawn)
            return
        candidates, pool = self._pool(drawn[:size])
        selection = sampler.select(pool, len(candidates), generator)
        for place, index in enumerate(selection.indices):
            yield candidates[index], rationale_of(selection, place, None)

    def _pool(self, drawn: Sequence[Candidate]) -> tuple[list[Candidate], Pool]:
        """The drawn candidates by sketch, as a sampler sees them before any training: no scores, no spread.

        What is measured already is not told apart.
        """
        candidates: list[Candidate] = []
        embeddings = [np.zeros((0, _WIDTH), np.float32)]
        for space, template in zip(self._spaces, self._templates, strict=True):
            choices, positions = space.rows(drawn)
            if len(positions):
                candidates += [drawn[position] for position in positions]
                embeddings.append(untrained_embeddings(template.featurise(space.population(choices)), _WIDTH))
        embedded = np.concatenate(embeddings)
        unknown = np.zeros(len(candidates), np.float32)
        return candidates, Pool(scores=unknown, spread=unknown, embeddings=embedded, measured=embedded[:0])

    def _fresh(
        self, ordered: Iterator[tuple[Candidate, Rationale]], records: Sequence[Record], count: int
    ) -> list[Chosen]:
        """The first `count` that replay to a schedule nobody has measured."""
        seen = {record.candidate for record in records}
        hashes = {record.structural_hash for record in records}
        chosen: list[Chosen] = []
        for candidate, rationale in ordered:
            if len(chosen) == count:
                break
            if candidate in seen:
                continue
            replay = self.space.replay(candidate)
            if isinstance(replay, Failure) or replay.structural_hash in hashes or replay.candidate in seen:
                continue
            hashes.add(replay.structural_hash)
            seen.add(replay.candidate)
            chosen.append(Chosen(replay=replay, rationale=rationale, source=Source.COLLECTED))
        return chosen


def _shuffled(candidates: list[Candidate], generator: np.random.Generator) -> list[Candidate]:
    return [candidates[index] for index in generator.permutation(len(candidates))]
