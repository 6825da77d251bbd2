"""Arrays that flow from features through the cost model to search and selection.

Shape suffixes used throughout: N candidates, T tokens (instructions of one sketch), F scalar fields of a token,
E embedding width, J sampling instructions of one sketch, M measured candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]
IntArray = NDArray[np.int32]


@dataclass(frozen=True, kw_only=True)
class FeatureLayout:
    """The sizes a model on token features is built for, and the vocabulary they belong to.

    Attributes:
        version: feature vocabulary version; a checkpoint of another version is refused.
        kinds: number of instruction kind ids.
        fields: F, scalar fields of a token.
        task, platform: widths of the two context tokens.
    """

    version: int
    kinds: int
    fields: int
    task: int
    platform: int


@dataclass(frozen=True, kw_only=True)
class Population:
    """Candidates of one sketch as indices into its decision domains.

    Attributes:
        sketch: index of the sketch in its task.
        choices: int32 [N, J]; `choices[n, j]` indexes `sketch.domains[j].values`.
    """

    sketch: int
    choices: IntArray


@dataclass(frozen=True, kw_only=True)
class TokenBatch:
    """Token features of N candidates of one sketch.

    Attributes:
        kinds: int32 [T], instruction kind ids (for an embedding); the same for every candidate of a sketch.
        fields: float32 [N, T, F].
        task: float32 [C_task], the task's context token.
        platform: float32 [C_platform], the platform's context token.
    """

    kinds: IntArray
    fields: FloatArray
    task: FloatArray
    platform: FloatArray

    def __len__(self) -> int:
        return len(self.fields)


@dataclass(frozen=True, kw_only=True)
class ScheduleBatch:
    """Replayed schedules, for cost models that read lowered programs (MetaSchedule's own).

    Attributes:
        context: a `TuneContext` of the task.
        candidates: `MeasureCandidate`s, one per candidate of the batch.
    """

    context: Any
    candidates: Sequence[Any]

    def __len__(self) -> int:
        return len(self.candidates)


@dataclass(frozen=True, kw_only=True)
class StoreFeatureBatch:
    """Per-store features of replayed schedules, accepted wherever a `ScheduleBatch` is.

    Attributes:
        rows: float32 [stores, 164], one array per candidate of the batch.
    """

    rows: tuple[FloatArray, ...]

    def __len__(self) -> int:
        return len(self.rows)


FeatureBatch = TokenBatch | ScheduleBatch | StoreFeatureBatch


def require_tokens(batch: object, reader: str) -> TokenBatch:
    """The batch as what `reader` reads. Raises: TypeError when it holds other features."""
    if not isinstance(batch, TokenBatch):
        raise TypeError(f"{reader} reads token features, not {type(batch).__name__}")
    return batch


@dataclass(frozen=True, kw_only=True)
class TaskGroup:
    """Everything measured of one task: what a ranker compares only inside itself.

    Attributes:
        batches: features, split by sketch.
        labels: float32 [N] over the batches' concatenation; `min_latency / latency`, 0 for a failure.
    """

    task_key: str
    batches: tuple[FeatureBatch, ...]
    labels: FloatArray


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """A cost model's answer for N candidates.

    Attributes:
        scores: float32 [N]; higher is faster; comparable only inside one task.
        spread: float32 [N]; standard deviation over stochastic heads; zeros where the model has none.
        embeddings: float32 [N, E]; pooled hidden state, or standardised features before any training.
    """

    scores: FloatArray
    spread: FloatArray
    embeddings: FloatArray


@dataclass(frozen=True, kw_only=True)
class Pool:
    """The unmeasured candidates a sampler chooses from, and where the measured ones lie.

    Attributes:
        scores, spread: float32 [N], see `Prediction`.
        embeddings: float32 [N, E].
        measured: float32 [M, E], embeddings of the task's measured candidates; M may be 0.
    """

    scores: FloatArray
    spread: FloatArray
    embeddings: FloatArray
    measured: FloatArray


@dataclass(frozen=True, kw_only=True)
class Selection:
    """A sampler's choice, in order, with the parts that led to it.

    Attributes:
        indices: int64 [k] into the pool, no repeats.
        representativeness, diversity, uncertainty: float32 [k], each in [0, 1] inside the pool, as they were when
            the candidate was picked; NaN where the sampler does not compute one.
    """

    indices: NDArray[np.int64]
    representativeness: FloatArray
    diversity: FloatArray
    uncertainty: FloatArray
