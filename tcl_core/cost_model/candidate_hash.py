"""A number per candidate that depends on its features and a seed alone, not on when or in which batch it is seen."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from tcl_core.batches import TokenBatch


def candidate_hashes(batch: TokenBatch, seed: int) -> NDArray[np.uint64]:
    """uint64 [N]; equal features give equal numbers."""
    shared = hashlib.blake2b(digest_size=16, key=seed.to_bytes(8, "little", signed=True))
    for part in (batch.kinds, batch.task, batch.platform):
        shared.update(np.ascontiguousarray(part).tobytes())
    fields = np.ascontiguousarray(batch.fields, dtype=np.float32)
    digests = np.empty(len(fields), np.uint64)
    for index, candidate in enumerate(fields):
        state = shared.copy()
        state.update(candidate.tobytes())
        digests[index] = int.from_bytes(state.digest()[:8], "little")
    return digests


def uniform(hashes: NDArray[np.uint64], stream: int) -> NDArray[np.float64]:
    """float64 [N] in [0, 1): independent numbers for each `stream` (SplitMix64's finaliser)."""
    with np.errstate(over="ignore"):
        z = hashes + np.uint64((stream + 1) * 0x9E3779B97F4A7C15 % 2**64)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return (z >> np.uint64(11)).astype(np.float64) * 2.0**-53
