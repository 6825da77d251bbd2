"""Embeddings before any training: standardised token features, projected to the width of the trained ones.

Sketches have different numbers of tokens, but a pool mixes them, so the width must not depend on T. Within a batch the
features that differ at all are standardised and projected by a fixed random matrix, which keeps distances (Johnson and
Lindenstrauss); a fixed offset for each sketch keeps sketches apart. Shape legend: N candidates, C varying columns of
the T x F features, E embedding width.
"""

from __future__ import annotations

import hashlib

import numpy as np

from tcl_core.batches import FloatArray, TokenBatch

_CONSTANT = 1e-6


def untrained_embeddings(batch: TokenBatch, width: int) -> FloatArray:
    """float32 [N, width]; the same for the same batch, whatever the seed of the model."""
    columns = int(np.prod(batch.fields.shape[1:]))
    sketch = np.random.default_rng(list(hashlib.blake2b(np.ascontiguousarray(batch.kinds).tobytes()).digest()))
    offset_E = sketch.standard_normal(width, dtype=np.float32)
    projection = sketch.standard_normal((columns, width), dtype=np.float32)
    if not len(batch):
        return np.zeros((0, width), np.float32)
    flat = batch.fields.reshape(len(batch), columns)
    deviation = flat.std(axis=0)
    varying = np.flatnonzero(deviation > _CONSTANT)
    standardised_NC = (flat[:, varying] - flat[:, varying].mean(axis=0)) / deviation[varying]
    embeddings = standardised_NC @ projection[varying] / np.float32(max(len(varying), 1) ** 0.5) + offset_E
    return np.asarray(embeddings, np.float32)  # no copy; NumPy's stubs know up to 2.4 alone that they are float32
