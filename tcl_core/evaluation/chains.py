"""Growing shares of the pool by one sampler, a model trained at each of them: data efficiency and the RDU ablation.

Under one seed, at each share: choose on with the model of the share before (see `shares`), train a fresh model on all
that is chosen, test it. Validation groups, which only tell when to stop, are the same and whole for every sampler.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tcl_core.config import SamplerConfig
from tcl_core.cost_model.base import EpochWatch
from tcl_core.evaluation.cells import Value, Watch, run_cells
from tcl_core.evaluation.context import Context
from tcl_core.evaluation.metrics import top_k
from tcl_core.evaluation.shares import Choice, chosen_groups, grow
from tcl_core.evaluation.tables.base import Cells, share_name
from tcl_core.events import CancelToken
from tcl_core.selection import make_sampler

WHOLE = "whole pool"
_CODE = ("evaluation/chains.py", "selection")


@dataclass(frozen=True, kw_only=True)
class Chain:
    """One sampler and the shares it is followed to; no sampler trains on the whole pool."""

    sampler: SamplerConfig | None
    shares: tuple[float, ...]


def sampler_chain(context: Context, name: str) -> Chain:
    """A sampler by name, through all shares."""
    return Chain(sampler=replace(context.config.sampler, name=name), shares=context.config.shares)


def run_chains(
    context: Context,
    table: str,
    chains: Mapping[str, Chain],
    seeds: Sequence[int],
    watch: Watch,
    cancel: CancelToken,
) -> Cells:
    """Top-1 on the test networks by share, for each named chain and seed; tables that name the same chain share it."""
    config = context.config
    context.check(context.platform)

    def work(row: str, seed: int, epochs: EpochWatch) -> Value:
        return _follow(context, chains[row], seed, epochs, cancel)

    settings = {
        "cost_model": config.cost_model,
        "offline": config.offline,
        "sampler": config.sampler,
        "shares": config.shares,
    }
    folder = context.cells("shares", settings, _CODE)
    return run_cells(folder, table, tuple(chains), seeds, work, watch, cancel)


def _follow(context: Context, chain: Chain, seed: int, epochs: EpochWatch, cancel: CancelToken) -> Value:
    groups, platform, train = context.groups, context.platform, context.split.train
    name = context.config.cost_model.name
    found: Value = {}
    model = context.model(name, seed)
    validation = context.validation(platform, model.reads)
    if chain.sampler is None:
        context.fit(model, groups.groups(train, platform, reads=model.reads), validation, epochs, cancel)
        return {share_name(1.0): top_k(context.test(model, platform), 1).ratio}
    sampler = make_sampler(chain.sampler)
    chosen: Choice | None = None
    for share in chain.shares:
        cancel.checkpoint()
        chosen = grow(groups, train, platform, share, sampler, model, seed, chosen)
        model = context.model(name, seed)
        context.fit(model, chosen_groups(groups, chosen, platform, model), validation, epochs, cancel)
        found[share_name(share)] = top_k(context.test(model, platform), 1).ratio
    return found
