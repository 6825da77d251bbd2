"""One task at the bench: a candidate is replayed, predicted, ranked among what was measured, and measured.

A prediction costs a schedule (about 8 ms) and one small forward pass; only what is measured is written down. What the
measured records score is kept until the model or the records are others.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from tvm.s_tir import Schedule

from tcl_core.batches import FloatArray
from tcl_core.domain import Candidate, Failure, Rationale, Record, Sketch, Source
from tcl_core.errors import UserError
from tcl_core.events import CancelToken
from tcl_core.inspection import tree
from tcl_core.inspection.influence import holding
from tcl_core.schedule_events import Place, PlaceKind
from tcl_core.space.design_space import Scheduled
from tcl_core.tuner.measuring import best_latency_s
from tcl_core.what_if.controls import make_controls
from tcl_core.what_if.lender import Lender
from tcl_core.what_if.scores import Scorer
from tcl_core.what_if_events import Desk, LoopUse, Prediction

_ALIKE = 5
"""Measured records nearest in score, whose latencies say what a score is worth."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """A candidate looked at: its schedule or why it is illegal, and the record of the same program if there is one."""

    scheduled: Scheduled | Failure
    prediction: Prediction
    record: Record | None = None


@dataclass(frozen=True, kw_only=True)
class _Standing:
    """Measured candidates that ran, with their latencies in seconds and their scores, float32 [M] each."""

    stamp: Hashable
    candidates: tuple[Candidate, ...]
    latencies_s: FloatArray
    scores: FloatArray


class Bench:
    """Belongs to the engine's thread."""

    def __init__(self, lender: Lender, task_key: str) -> None:
        self.lender, self._key = lender, task_key
        self._space = lender.space(task_key)
        self._scorer = Scorer(self._space, lender.platform)
        self._standing: _Standing | None = None

    @property
    def best_s(self) -> float | None:
        """Best latency of the task in seconds; None without a success."""
        return best_latency_s(self.lender.records(self._key))

    def desk(self, record: Record) -> Desk:
        """A record as controls. Raises: UserError when its sketch is not there, or see `make_controls`."""
        sketch = holding(self._sketch(record.candidate), record.candidate)
        task = self._space.task
        made = [
            bare(one)
            for one in self.lender.records(self._key)
            if one.source is Source.PERSON and one.candidate.sketch == sketch.index
        ]
        return Desk(
            record=bare(record),
            task_name=task.name,
            runnable=self.lender.platform.runnable,
            controls=make_controls(task.module_json, record.trace_json, sketch),
            best_s=self.best_s,
            made=tuple(made),
        )

    def look(self, candidate: Candidate) -> Look:
        """Schedule and predict a candidate. Raises: UserError when it does not fit its sketch."""
        self._sketch(candidate)
        scheduled = self._space.schedule(candidate)
        if isinstance(scheduled, Failure):
            _, note = self.lender.model()
            return Look(scheduled=scheduled, prediction=Prediction(score=None, note=note))
        own, structural_hash = scheduled.candidate, scheduled.structural_hash
        same = (
            one
            for one in self.lender.records(self._key)
            if one.candidate == own or one.structural_hash == structural_hash
        )
        return Look(scheduled=scheduled, prediction=self._predict(own), record=next(same, None))

    def measure(self, look: Look, cancel: CancelToken) -> Record:
        """Measure a candidate now. Raises: Interrupted, UserError, also where its decisions give no schedule."""
        if isinstance(look.scheduled, Failure):
            cause = look.scheduled.cause
            raise UserError("what-if", f"These decisions give no schedule ({cause}); change one of them.")
        return self.lender.measure(look.scheduled.replay(), Rationale(score=look.prediction.score), cancel)

    def _sketch(self, candidate: Candidate) -> Sketch:
        for sketch in self._space.sketches:
            if sketch.index == candidate.sketch and len(sketch.domains) == len(candidate.decisions):
                return sketch
        raise UserError(
            "what-if", f"{self._space.task.name} has no sketch with these decisions; open a record of this workspace."
        )

    def _predict(self, candidate: Candidate) -> Prediction:
        model, note = self.lender.model()
        if model is None:
            return Prediction(score=None, note=note)
        (score,) = self._scorer.scores([candidate], model).tolist()
        if math.isnan(score):
            return Prediction(score=None, note=f"The cost model '{model.name}' cannot read this candidate.")
        standing = self._stand()
        others = [place for place, one in enumerate(standing.candidates) if one != candidate]
        scores, latencies_s = standing.scores[others], standing.latencies_s[others]
        nearest = np.argsort(np.abs(scores - score), kind="stable")[:_ALIKE]
        alike_s = (float(latencies_s[nearest].min()), float(latencies_s[nearest].max())) if len(nearest) else None
        return Prediction(
            score=score, ahead=int((scores > score).sum()), measured=len(others), alike_s=alike_s, note=note
        )

    def _stand(self) -> _Standing:
        stamp = self.lender.stamp(self._key)
        if self._standing is None or self._standing.stamp != stamp:
            model, _ = self.lender.model()
            assert model is not None
            ran = [one for one in self.lender.records(self._key) if one.latency_s is not None]
            scores = self._scorer.scores([one.candidate for one in ran], model)
            kept = np.flatnonzero(~np.isnan(scores))
            self._standing = _Standing(
                stamp=stamp,
                candidates=tuple(ran[place].candidate for place in kept),
                latencies_s=np.array([ran[place].latency_s for place in kept], np.float32),
                scores=scores[kept],
            )
        return self._standing


def bare(record: Record) -> Record:
    """A record without its trace, some kilobytes that no window reads."""
    return replace(record, trace_json="")


def loop_uses(schedule: Schedule) -> tuple[LoopUse, ...]:
    """The loops of a schedule that do not run one iteration after the other, in the order of its tree."""
    function = schedule.mod["main"]
    loops = [(node, parent) for parent, node in tree.nodes(function) if hasattr(node, "loop_var")]
    places: Sequence[Place] = [tree.place(node, parent, str(node.loop_var.name)) for node, parent in loops]
    return tuple(
        LoopUse(kind=place.kind, name=place.name, extent=place.extent, axis=place.axis)
        for place in places
        if place.kind is not PlaceKind.SERIAL
    )
