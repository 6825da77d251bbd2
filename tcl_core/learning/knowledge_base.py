"""The knowledge base: one ranker for all platforms learned so far, of constant size, and what holds it in place."""

from __future__ import annotations

from dataclasses import dataclass

from tcl_core.cost_model.ranker import Ranker
from tcl_core.learning.column import numbers_bytes
from tcl_core.learning.ewc import OnlineEwc
from tcl_core.learning.lineage import LearnedPlatform


@dataclass(frozen=True, kw_only=True)
class KnowledgeBase:
    """A ranker, its springs, and the platforms it knows. Learning makes a new one and leaves this one as it is.

    `ranker.heads.scale` is measured on the first platform and stays: later platforms are distilled to the same scale.
    """

    ranker: Ranker
    ewc: OnlineEwc
    platforms: tuple[LearnedPlatform, ...] = ()

    @property
    def useful(self) -> bool:
        """Whether it has learned a platform; before that its scores mean nothing."""
        return bool(self.platforms)

    @property
    def size_bytes(self) -> int:
        """Of weights and Fisher information. The anchor is where the weights stand: no numbers of its own."""
        return numbers_bytes([*self.ranker.state_dict().values(), *self.ewc.fisher.values()])
