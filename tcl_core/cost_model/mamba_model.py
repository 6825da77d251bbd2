"""The Mamba ranker behind the interface of every cost model: `cost_model.MODELS["mamba"]`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar

import numpy as np
import torch

from tcl_core.batches import FloatArray, TokenBatch
from tcl_core.cost_model.ranker import Ranker
from tcl_core.cost_model.scans import choose_ops
from tcl_core.cost_model.token_model import Scorer, TokenModel, floats

_WORTH_SHARING = 32
"""Candidates from which on reading their common beginning apart pays."""


class MambaModel(TokenModel[Ranker]):
    """A scan can be resumed: what all candidates of a batch begin with alike is read once."""

    name: ClassVar[str] = "mamba"

    def _make_network(self) -> Ranker:
        model = self._config.model
        self._ops = choose_ops(
            self._config.scan,
            self._device.type,
            channels=model.expand * model.width,
            states=model.state,
            taps=model.convolution,
        )
        return Ranker(self._layout, model, self._ops)

    def _settings(self) -> Mapping[str, Any]:
        return asdict(self._config.model)

    def _scorer(self, batch: TokenBatch) -> Scorer:
        shared = shared_tokens(batch.fields) if self._ops.resumes and len(batch) >= _WORTH_SHARING else 0
        if not shared:
            return super()._scorer(batch)
        kinds_T = torch.tensor(batch.kinds, dtype=torch.int64, device=self._device)
        prefix = self._network.read_prefix(
            kinds_T[:shared],
            floats(batch.fields[0, :shared], self._device),
            floats(batch.task, self._device),
            floats(batch.platform, self._device),
        )
        return lambda fields: self._network.resume(prefix, kinds_T[shared:], floats(fields[:, shared:], self._device))


def shared_tokens(fields_NTF: FloatArray) -> int:
    """How many tokens all candidates begin with alike; at least one is left to each."""
    varies_T = (fields_NTF != fields_NTF[:1]).any(axis=(0, 2))
    return int(np.argmax(varies_T)) if varies_T.any() else max(len(varies_T) - 1, 0)
