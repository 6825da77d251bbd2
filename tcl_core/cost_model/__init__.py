"""Cost models: scores for candidates that were never run. `make_cost_model` is the door; models load lazily.

Order of reading: `base` (the interface), `ranker` and `mamba` (the network), `scan_reference` (its sequence operations,
readable), `scans` (which route they take), `losses`, `training`, `course` and `offline`, `token_model`, `mamba_model`;
the baselines are `random_model`, `metaschedule_xgb` (its files go through `booster_trial`), `mlp_model`, and on the
same tokens `transformer` and `lstm`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tcl_core.batches import FeatureLayout
from tcl_core.config import CostModelConfig
from tcl_core.cost_model.base import CostModel, FitReport
from tcl_core.errors import UserError

__all__ = ["MODELS", "CostModel", "FitReport", "make_cost_model"]

Maker = Callable[[CostModelConfig, FeatureLayout, int], CostModel]


def _mamba(config: CostModelConfig, layout: FeatureLayout, seed: int) -> CostModel:
    from tcl_core.cost_model.mamba_model import MambaModel

    return MambaModel(config, layout, seed)


def _transformer(config: CostModelConfig, layout: FeatureLayout, seed: int) -> CostModel:
    from tcl_core.cost_model.rival_models import TransformerModel

    return TransformerModel(config, layout, seed)


def _lstm(config: CostModelConfig, layout: FeatureLayout, seed: int) -> CostModel:
    from tcl_core.cost_model.rival_models import LstmModel

    return LstmModel(config, layout, seed)


def _mlp(config: CostModelConfig, layout: FeatureLayout, seed: int) -> CostModel:
    from tcl_core.cost_model.mlp_model import MlpModel

    return MlpModel(config, layout, seed)


def _random(config: CostModelConfig, layout: FeatureLayout, seed: int) -> CostModel:
    from tcl_core.cost_model.random_model import RandomModel

    return RandomModel(layout, width=config.model.width, seed=seed)


def _xgb(config: CostModelConfig, layout: FeatureLayout, seed: int) -> CostModel:
    from tcl_core.cost_model.metaschedule_xgb import MetaScheduleXgb

    return MetaScheduleXgb(layout, seed)


MODELS: Final[Mapping[str, Maker]] = {
    "mamba": _mamba,
    "transformer": _transformer,
    "lstm": _lstm,
    "mlp": _mlp,
    "xgb": _xgb,
    "random": _random,
}
"""Makers by name; a model's libraries are imported when it is made."""


def make_cost_model(config: CostModelConfig, layout: FeatureLayout, seed: int) -> CostModel:
    """The cost model that `config` names, untrained.

    Raises:
        UserError: unknown name, or a device or scan this machine does not have.
    """
    maker = MODELS.get(config.name)
    if maker is None:
        raise UserError("cost model", f"Unknown cost model '{config.name}'; choose one of {', '.join(sorted(MODELS))}.")
    return maker(config, layout, seed)
