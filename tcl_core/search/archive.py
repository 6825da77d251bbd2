"""What one search has scored of one sketch: every distinct candidate once.

Shapes: N candidates scored, J sampling instructions, E embedding width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from tcl_core.batches import FloatArray, IntArray, Population, Prediction
from tcl_core.search.population import DecisionSpace, row_keys

Score = Callable[[Population], Prediction]


class Archive:
    """Scored candidates of one sketch, in the order in which they were scored.

    Attributes:
        choices: int32 [N, J].
        scores, spread: float32 [N].
        embeddings: float32 [N, E]; [0, 0] before anything is scored.
        parent_only: bool [N]: measured already, so it may breed but not be proposed.
    """

    def __init__(self, space: DecisionSpace, excluded: Iterable[bytes]) -> None:
        self.space = space
        self.choices: IntArray = np.zeros((0, len(space.sizes)), np.int32)
        self.scores: FloatArray = np.zeros(0, np.float32)
        self.spread: FloatArray = np.zeros(0, np.float32)
        self.embeddings: FloatArray = np.zeros((0, 0), np.float32)
        self.parent_only: NDArray[np.bool_] = np.zeros(0, bool)
        self._excluded = frozenset(excluded)
        self._scored: set[bytes] = set()

    def __len__(self) -> int:
        return len(self.scores)

    def unseen(self, choices: IntArray, *, parents: bool = False) -> IntArray:
        """The distinct rows of [K, J], in order, that are not scored and (unless they are `parents`) not excluded.

        What lies outside the sketch's limits no replay would accept, and is left out.
        """
        choices = choices[self.space.allowed(choices)]
        excluded = frozenset[bytes]() if parents else self._excluded
        first: dict[bytes, int] = {}
        for position, key in enumerate(row_keys(choices)):
            if key not in self._scored and key not in excluded:
                first.setdefault(key, position)
        return choices[list(first.values())]

    def add(self, choices: IntArray, score: Score) -> NDArray[np.int64]:
        """Score unseen rows [K, J] in one call and return their positions [K].

        Raises:
            ValueError: the answer has another length, or a score is not finite.
        """
        if not len(choices):
            return np.zeros(0, np.int64)
        prediction = score(self.space.population(choices))
        if len(prediction.scores) != len(choices):
            raise ValueError(f"{len(choices)} candidates were scored as {len(prediction.scores)}")
        if not np.isfinite(prediction.scores).all():
            raise ValueError("a score is not finite")
        keys = row_keys(choices)
        start = len(self)
        self._scored.update(keys)
        self.choices = np.concatenate([self.choices, choices])
        self.scores = np.concatenate([self.scores, prediction.scores])
        self.spread = np.concatenate([self.spread, prediction.spread])
        self.embeddings = joined([self.embeddings, prediction.embeddings])
        self.parent_only = np.concatenate([self.parent_only, [key in self._excluded for key in keys]])
        return np.arange(start, len(self))

    def best(self, count: int) -> NDArray[np.int64]:
        """Positions of the `count` best, best first; ties in the order of scoring."""
        return np.argsort(-self.scores, kind="stable")[:count]


def joined(embeddings: Sequence[FloatArray]) -> FloatArray:
    """Rows [N, E] one below the other, narrower ones filled up with zeros.

    A model that reads schedules says nothing of a batch without any: it comes with a single column.
    """
    width = max(part.shape[1] for part in embeddings)
    return np.concatenate([np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in embeddings])
