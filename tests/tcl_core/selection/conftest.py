"""Pools to choose from."""

from collections.abc import Callable

import numpy as np
import pytest

from tcl_core.batches import Pool

PoolMaker = Callable[..., Pool]


def _pool(size: int, *, width: int = 6, measured: int = 0, seed: int = 0) -> Pool:
    generator = np.random.default_rng(seed)
    return Pool(
        scores=generator.normal(size=size).astype(np.float32),
        spread=generator.random(size).astype(np.float32),
        embeddings=generator.normal(size=(size, width)).astype(np.float32),
        measured=generator.normal(size=(measured, width)).astype(np.float32),
    )


@pytest.fixture(scope="session")
def make_pool() -> PoolMaker:
    """A pool without ties: normal scores and embeddings, uniform spread."""
    return _pool
