"""Samplers: RDU and its baselines. Knows `batches` and `config` only; the tuner hands it pools.

`SAMPLERS` names them; `make_sampler` builds the one a config asks for.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tcl_core.config import SamplerConfig
from tcl_core.errors import UserError
from tcl_core.selection.base import Sampler
from tcl_core.selection.kcenter import KCenterSampler
from tcl_core.selection.random_draw import RandomSampler
from tcl_core.selection.rdu import RduSampler
from tcl_core.selection.topk import TopKSampler
from tcl_core.selection.uncertainty import UncertaintySampler

SAMPLERS: Mapping[str, type[Sampler]] = MappingProxyType(
    {sampler.name: sampler for sampler in (RduSampler, RandomSampler, TopKSampler, KCenterSampler, UncertaintySampler)}
)

__all__ = ["SAMPLERS", "Sampler", "make_sampler"]


def make_sampler(config: SamplerConfig) -> Sampler:
    """The sampler named in `config`.

    Raises:
        UserError: no sampler has that name.
    """
    if config.name not in SAMPLERS:
        raise UserError("sampler", f"There is no sampler {config.name!r}: choose one of {', '.join(SAMPLERS)}.")
    return SAMPLERS[config.name](config)
