"""One task at work: its design space, its featuriser, what was measured of it, and what to measure next."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tcl_core.batches import FeatureBatch, FloatArray, Pool, Population, Prediction, TaskGroup
from tcl_core.config import FEW_TRIALS, SearchConfig
from tcl_core.cost_model.base import CostModel
from tcl_core.domain import Candidate, Failure, Rationale, Record, RecordCount, Replay, Sketch, Source, Task, TaskState
from tcl_core.events import CancelToken
from tcl_core.features import TokenTemplate
from tcl_core.pool_events import PoolMapped
from tcl_core.search.evolution import Evolution, Proposals
from tcl_core.search.population import DecisionSpace
from tcl_core.selection.base import Sampler
from tcl_core.space.design_space import DesignSpace
from tcl_core.tuner.measuring import Chosen, best_latency_s, rationale_of
from tcl_core.tuner.pool_map import Pick, pool_map
from tcl_core.tuner.relatives import Relative, borrow

_SEEDS = 32
_BORROWED_SHARE = 4
"""Of a young task's rounds, one in so many candidates at most is carried over from a similar task; but one where any
is left, unless it is the only one of its round: from the checkpoint that is the model's. Squeezenet after one candidate
a task, in turns, two seeds: 1.046, 1.040 of the best known when it is carried, 1.034, 1.027 when it is not."""

_EXPLORED_SHARE = (8, 16)
"""Of a young task's candidates and of later ones, one in so many is drawn at random. A model that has learned elsewhere
may shun a whole region (all unrolling, of a kind of kernel that is new to it), and would never see what it misses."""

_KNOWN = 2048
"""Newest records that a round's pool is held against: distances to more would make rounds slower and slower."""

_OVERSAMPLING = 8
"""Pool candidates per wanted one: on CUDA nine of ten random candidates are rejected in replay (measured)."""

_REPLAYING_SHARE = 8
"""A model that reads replayed schedules pays 8 ms a candidate, so its generations are this much smaller."""

_SPECULATION = 2
"""Replays side by side for each schedule wanted."""

_LAST_DRAWN = 32
"""Candidates drawn at random where replay let none of the pool's through, before a task counts as exhausted. A model
liked 16 illegal candidates of a grouped convolution best, of which a fifth of random ones are illegal."""


@dataclass(frozen=True, kw_only=True)
class Earlier:
    """What earlier runs measured of a task: counted at once, read when it is needed.

    Attributes:
        read: all records there are by then, in order; their traces may be empty.
        keep: keeps the sketches beside them; refuses those that the records were not made with.
    """

    count: RecordCount = field(default_factory=RecordCount)
    read: Callable[[], Sequence[Record]] = tuple
    keep: Callable[[Sequence[Sketch]], object] = tuple


NOTHING = Earlier()


class TaskWork:
    """The per-task half of a run. Belongs to the run's thread, but for its space, which may be made in another.

    Attributes:
        threads: replays side by side, on half of the cores: on the others `workers` compile meanwhile.
        state: what the scheduler and the watcher see.
        scored: candidates scored so far.
        rejected: candidates replay rejected so far, by cause.
    """

    def __init__(
        self,
        task: Task,
        target_json: str,
        platform: FloatArray,
        search: SearchConfig,
        earlier: Earlier = NOTHING,
        workers: int = 1,
    ) -> None:
        count = earlier.count
        history_s = () if count.best_s is None else (count.best_s,)
        self.state = TaskState(
            task=task, trials=count.trials, failures=count.failures, best_s=count.best_s, history_s=history_s
        )
        self._earlier, self._unread, self._kept = earlier, count.trials > 0, False
        self._evolution = Evolution(search)
        self.scored = 0
        self.rejected: dict[str, int] = {}
        self._map: PoolMapped | None = None
        self._target_json, self._platform, self.threads = target_json, platform, max(1, workers // 2)
        self._space: DesignSpace | None = None
        self._templates: tuple[TokenTemplate, ...] = ()
        self._spaces: tuple[DecisionSpace, ...] = ()
        self._records: list[Record] = []
        self._seen: set[Candidate] = set()
        self._hashes: set[str] = set()

    @property
    def space(self) -> DesignSpace:
        """Made at first use: locations are probed by replays, which on a large network adds up."""
        if self._space is None:
            self._space = DesignSpace(self.task, self._target_json)
            self._templates = tuple(TokenTemplate(s, self.task, self._platform) for s in self._space.sketches)
            self._spaces = tuple(DecisionSpace(sketch) for sketch in self._space.sketches)
        return self._space

    @property
    def cropped(self) -> tuple[int, ...]:
        """Instructions that found no room among a candidate's tokens, by sketch that has such ones."""
        return tuple(template.dropped for template in self._templates if template.dropped)

    @property
    def task(self) -> Task:
        return self.state.task

    @property
    def sketches(self) -> tuple[Sketch, ...]:
        """Those of the space, kept at first use: before records are read by them, and as training needs them.

        Raises:
            UserError: earlier records were made with others.
        """
        if not self._kept:
            self._earlier.keep(self.space.sketches)
            self._kept = True
        return self.space.sketches

    @property
    def records(self) -> Sequence[Record]:
        """What was measured, now or in earlier runs, in order. Those of earlier runs are read at first use."""
        self._read_earlier()
        return self._records

    @property
    def resident(self) -> int:
        """Records in memory."""
        return len(self._records)

    def forget(self) -> None:
        """Let go of the records: they are read again when they are needed. What replay rejected is forgotten with them.

        Only for one whose `Earlier` reads what is measured now as well.
        """
        self._unread = True
        self._records, self._seen, self._hashes = [], set(), set()

    def add_records(self, records: Sequence[Record]) -> None:
        """Take in what was measured now, and lies where `Earlier` reads."""
        if not self._unread:
            self._take(records)
        self.state = replace(
            self.state,
            trials=self.state.trials + len(records),
            failures=self.state.failures + sum(record.failure is not None for record in records),
            best_s=best_latency_s(records, self.state.best_s),
        )

    def _read_earlier(self) -> None:
        if self._unread:
            self._unread = False
            self._take(self._earlier.read())

    def _take(self, records: Sequence[Record]) -> None:
        self._records += records
        self._seen.update(record.candidate for record in records)
        self._hashes.update(record.structural_hash for record in records if record.structural_hash)

    def close_round(self, *, exhausted: bool) -> None:
        """Note the best latency after a round."""
        state = self.state
        if state.best_s is not None and not exhausted:
            first_s = state.first_s if state.history_s else state.best_s
            state = replace(state, history_s=(*state.history_s, state.best_s), first_s=first_s)
        self.state = replace(state, exhausted=exhausted or state.exhausted)

    def propose(
        self,
        count: int,
        model: CostModel,
        sampler: Sampler,
        generator: np.random.Generator,
        cancel: CancelToken,
        relatives: Sequence[Relative] = (),
    ) -> list[Chosen]:
        """Search, select and replay: up to `count` new, distinct, legal schedules with why each was chosen.

        Args:
            relatives: other tasks with a success. What was best for those most similar is measured first here, and
                breeds along, while little is known of this one.
        """
        sketches = self.sketches
        score = self._scorer(model)
        trials = len(self.records)
        borrowed = borrow(self.task, sketches, relatives) if trials < FEW_TRIALS else []
        most = max(0 if model.trained and count == 1 else 1, count // _BORROWED_SHARE)
        chosen = self._replayed(borrowed, most, score, Source.CARRIED, trained=model.trained)
        if model.trained:
            most = min(_explored(trials + count) - _explored(trials), count - len(chosen))
            chosen += self._replayed(self._drawn(2 * most, generator), most, score, Source.DRAWN, trained=True)
        seeds = [*self.best(_SEEDS), *borrowed]
        proposals = self._evolution.propose(
            sketches, score, seeds, self._seen, generator, cancel, wanted=count, breed=trials > 0
        )
        self.scored += proposals.scored
        self._map = None
        if proposals.candidates:
            chosen += self._select(proposals, count, count - len(chosen), model, sampler, generator, cancel)
            if not chosen:
                drawn = self._drawn(_LAST_DRAWN, generator)
                chosen = self._replayed(drawn, count, score, Source.DRAWN, trained=model.trained)
        return chosen

    def _select(
        self,
        proposals: Proposals,
        count: int,
        most: int,
        model: CostModel,
        sampler: Sampler,
        generator: np.random.Generator,
        cancel: CancelToken,
    ) -> list[Chosen]:
        """The sampler's choice, replayed: `most` of the pool for a round of `count`. The pool's map is noted."""
        prediction = proposals.pool_prediction
        known, measured = self._measured_embeddings(model, prediction.embeddings.shape[1])
        pool = Pool(
            scores=prediction.scores, spread=prediction.spread, embeddings=prediction.embeddings, measured=measured
        )
        selection = sampler.select(pool, min(len(proposals.candidates), count * _OVERSAMPLING), generator)
        chosen: list[Chosen] = []
        picks: dict[int, Pick] = {}
        for place, replay in self._new_replays([proposals.candidates[at] for at in selection.indices], most, cancel):
            index = selection.indices[place]
            rationale = rationale_of(selection, place, float(prediction.scores[index]) if model.trained else None)
            chosen.append(Chosen(replay=replay, rationale=rationale, source=Source.SEARCH))
            picks[int(index)] = Pick(candidate=replay.candidate, rationale=rationale)
        self._map = pool_map(self.task.key, proposals.candidates, pool, known, picks, scored=model.trained)
        return chosen

    def take_map(self) -> PoolMapped | None:
        """Where the candidates of the last pool lie and which were chosen; once, and None where there was no pool."""
        taken, self._map = self._map, None
        return taken

    def _drawn(self, count: int, generator: np.random.Generator) -> list[Candidate]:
        """Up to so many unseen candidates of all sketches at random; the model has no say."""
        spaces = [self._spaces[at] for at in generator.integers(0, len(self._spaces), size=count)]
        drawn = [candidate for space in spaces for candidate in space.candidates(space.random(1, generator))]
        return [candidate for candidate in drawn if candidate not in self._seen]

    def _replayed(
        self,
        candidates: Sequence[Candidate],
        most: int,
        score: Callable[[Population], Prediction],
        source: Source,
        *,
        trained: bool,
    ) -> list[Chosen]:
        """The first `most` of these that are legal and new."""
        chosen: list[Chosen] = []
        for place, replay in self._new_replays(candidates, most):
            space = self._spaces[candidates[place].sketch]
            prediction = score(space.population(space.rows([candidates[place]])[0]))
            rationale = Rationale(score=float(prediction.scores[0]) if trained else None)
            chosen.append(Chosen(replay=replay, rationale=rationale, source=source))
        return chosen

    def _new_replays(
        self, candidates: Sequence[Candidate], most: int, cancel: CancelToken | None = None
    ) -> Iterator[tuple[int, Replay]]:
        """The first `most` of these that are legal and new, with their places. What is replayed beside the last of them
        for nothing may be proposed again.
        """
        at = found = 0
        while found < most and at < len(candidates):
            if cancel is not None:
                cancel.checkpoint()
            window = candidates[at : at + min(self.threads, _SPECULATION * (most - found))]
            for place, result in enumerate(self.space.replay_all(window), at):
                replay = self._checked(candidates[place], result)
                if replay is not None:
                    yield place, replay
                    found += 1
                if found == most:
                    return
            at += len(window)

    def _checked(self, candidate: Candidate, result: Replay | Failure) -> Replay | None:
        """A legal schedule that was neither measured nor chosen before, or None."""
        # An imported record has no hash, so its candidate alone tells it.
        known = isinstance(result, Replay) and result.candidate in self._seen
        self._seen.add(candidate)
        if isinstance(result, Failure):
            self.rejected[result.cause] = self.rejected.get(result.cause, 0) + 1
            return None
        if known or result.structural_hash in self._hashes:
            return None
        self._hashes.add(result.structural_hash)
        self._seen.add(result.candidate)
        return result

    def best(self, count: int) -> list[Candidate]:
        """The fastest measured candidates, fastest first."""
        good = [(record.latency_s, record.candidate) for record in self.records if record.latency_s is not None]
        return [candidate for _, candidate in sorted(good, key=lambda pair: pair[0] or 0.0)[:count]]

    def _scorer(self, model: CostModel) -> Callable[[Population], Prediction]:
        def score(population: Population) -> Prediction:
            if model.reads == "tokens":
                return model.predict(self._templates[population.sketch].featurise(population))
            return self._score_schedules(model, population)

        return score

    def _score_schedules(self, model: CostModel, population: Population) -> Prediction:
        """Scores of a model that reads schedules: every candidate is replayed, an illegal one ranks last."""
        candidates = self._spaces[population.sketch].candidates(population.choices)
        batch, legal = self.space.schedules(candidates)
        size = len(candidates)
        if not legal:
            return Prediction(
                scores=np.zeros(size, np.float32),
                spread=np.zeros(size, np.float32),
                embeddings=np.zeros((size, 1), np.float32),
            )
        answer = model.predict(batch)
        index = np.asarray(legal)
        scores = np.full(size, answer.scores.min() - 1, np.float32)
        spread = np.zeros(size, np.float32)
        embeddings = np.zeros((size, answer.embeddings.shape[1]), np.float32)
        scores[index], spread[index], embeddings[index] = answer.scores, answer.spread, answer.embeddings
        return Prediction(scores=scores, spread=spread, embeddings=embeddings)

    def group(self, model: CostModel, records: Sequence[Record]) -> TaskGroup | None:
        """Records of this task as the model reads them; None while nothing succeeded, and where it can read none."""
        if self.state.best_s is None:
            return None
        batches: list[FeatureBatch] = []
        labels: list[float] = []
        for kept, features in self._by_sketch(model, records):
            batches.append(features)
            labels += [self.state.best_s / record.latency_s if record.latency_s else 0.0 for record in kept]
        if not labels:
            return None
        return TaskGroup(task_key=self.task.key, batches=tuple(batches), labels=np.asarray(labels, np.float32))

    def _by_sketch(self, model: CostModel, records: Sequence[Record]) -> list[tuple[list[Record], FeatureBatch]]:
        """Records and their features, sketch by sketch; one whose decisions this space does not hold is left out."""
        grouped = []
        for sketch in self.sketches:
            own = [record for record in records if record.candidate.sketch == sketch.index]
            if not own:
                continue
            if model.reads == "schedules":
                batch, legal = self.space.schedules([record.candidate for record in own])
                kept: list[Record] = [own[index] for index in legal]
                features: FeatureBatch = batch
            else:
                choices, found = self._spaces[sketch.index].rows([record.candidate for record in own])
                kept = [own[index] for index in found]
                features = self._templates[sketch.index].featurise(Population(sketch=sketch.index, choices=choices))
            if kept:
                grouped.append((kept, features))
        return grouped

    def _measured_embeddings(self, model: CostModel, width: int) -> tuple[list[Candidate], FloatArray]:
        """What is measured and float32 [M, E]; nothing for models on schedules, whose embeddings cost a replay each."""
        if model.reads == "schedules":
            return [], np.zeros((0, width), np.float32)
        newest = self.records[-_KNOWN:]
        parts = [(records, model.predict(features).embeddings) for records, features in self._by_sketch(model, newest)]
        known = [record.candidate for records, _ in parts for record in records]
        return known, np.concatenate([part for _, part in parts]) if parts else np.zeros((0, width), np.float32)


def affordable(search: SearchConfig, model: CostModel) -> SearchConfig:
    """The search as a run can afford it with a model."""
    if model.reads == "schedules":
        return replace(search, population=search.population // _REPLAYING_SHARE, generations=2)
    return search


def _explored(trials: int) -> int:
    """How many of a task's first so many candidates are drawn at random."""
    young = min(trials, FEW_TRIALS)
    return young // _EXPLORED_SHARE[0] + (trials - young) // _EXPLORED_SHARE[1]
