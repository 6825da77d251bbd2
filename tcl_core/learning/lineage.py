"""Which platforms a learner has learned: what it keeps of each is a line of text, never a record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

KNOWLEDGE: Final = "knowledge base"
ACTIVE: Final = "active column"
"""What answers for the platform that was learned last: the knowledge base alone, or both together."""


@dataclass(frozen=True, kw_only=True)
class LearnedPlatform:
    """One entry of a lineage.

    Attributes:
        records: labelled candidates that were given.
        token: the platform's context token, as the features give it: a description of hardware, no record.
        name, data_digest: see `checkpoints.LearnedOrigin`; empty until the learner has been saved.
        target_json, vector_bits: what candidates of this platform are drawn for, to rehearse it; empty until the
            learner has been saved, and in files of before it was written down.
    """

    fingerprint: str
    records: int
    token: tuple[float, ...]
    name: str = ""
    data_digest: str = ""
    target_json: str = ""
    vector_bits: int = 0
