"""Mamba's rivals on the same tokens: `cost_model.MODELS["transformer"]` and `["lstm"]`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar

from tcl_core.cost_model.lstm import LstmRanker
from tcl_core.cost_model.projection import fastest_projection
from tcl_core.cost_model.token_model import TokenModel
from tcl_core.cost_model.transformer import TransformerRanker


class TransformerModel(TokenModel[TransformerRanker]):
    """TLP's network (ASPLOS 2023)."""

    name: ClassVar[str] = "transformer"

    def _make_network(self) -> TransformerRanker:
        heads, project = self._config.model.heads, fastest_projection(self._device.type)
        return TransformerRanker(self._layout, self._config.transformer, heads=heads, project=project)

    def _settings(self) -> Mapping[str, Any]:
        plain = {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self._config.transformer).items()}
        return plain | {"heads": self._config.model.heads}


class LstmModel(TokenModel[LstmRanker]):
    """Mamba's frame with an LSTM in it."""

    name: ClassVar[str] = "lstm"

    def _make_network(self) -> LstmRanker:
        heads, project = self._config.model.heads, fastest_projection(self._device.type)
        return LstmRanker(self._layout, self._config.lstm, heads=heads, project=project)

    def _settings(self) -> Mapping[str, Any]:
        return asdict(self._config.lstm) | {"heads": self._config.model.heads}
