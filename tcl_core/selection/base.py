"""The interface of every sampler: choose a few candidates of a pool to measure, and say why."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from tcl_core.batches import Pool, Selection
from tcl_core.config import SamplerConfig


class Sampler(ABC):
    """Chooses candidates to measure. Stateless between calls; the same generator state gives the same choice.

    Attributes:
        name: key in `selection.SAMPLERS`.
    """

    name: ClassVar[str]

    def __init__(self, config: SamplerConfig) -> None:
        self.config = config

    @abstractmethod
    def select(self, pool: Pool, count: int, generator: np.random.Generator) -> Selection:
        """Choose `min(count, N)` distinct candidates, best first."""
