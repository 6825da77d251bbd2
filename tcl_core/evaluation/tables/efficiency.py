"""Table "data efficiency": top-1 against the share of the pool that was measured, per sampler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rich.table import Table

from tcl_core.evaluation.cells import Watch
from tcl_core.evaluation.chains import WHOLE, Chain, run_chains, sampler_chain
from tcl_core.evaluation.context import Context
from tcl_core.evaluation.metrics import Spread
from tcl_core.evaluation.tables.base import TableResult, Verdict, empty_table, over_seeds, percent, share_name
from tcl_core.events import CancelToken

_TENTH = "0.1"
_NEAR = 0.01


@dataclass(frozen=True, kw_only=True)
class EfficiencyResult(TableResult):
    """`top1` by sampler and share; the whole pool is the same for all."""

    name: ClassVar[str] = "efficiency"
    title: ClassVar[str] = "Data efficiency"
    platform: str
    model: str
    shares: tuple[float, ...]
    top1: Mapping[str, Mapping[str, Spread]]

    def to_json(self) -> dict[str, Any]:
        return {
            sampler: {share: spread.to_json() for share, spread in found.items()}
            for sampler, found in self.top1.items()
        }

    def to_table(self) -> Table:
        table = empty_table("sampler", *map(percent, self.shares))
        for sampler, found in self.top1.items():
            table.add_row(sampler, *(str(found[share_name(share)]) for share in self.shares))
        return table

    def verdicts(self) -> tuple[Verdict, ...]:
        rdu, random = self.top1.get("rdu", {}), self.top1.get("random", {})
        if _TENTH not in rdu or _TENTH not in random:
            return ()
        whole, tenth, drawn = rdu[share_name(1.0)], rdu[_TENTH], random[_TENTH]
        spread = max(tenth.sd, drawn.sd)
        return (
            Verdict(
                goal=f"rdu at 10 % within {_NEAR} top-1 of 100 %",
                reached=f"{tenth} against {whole}",
                met=whole.mean - tenth.mean <= _NEAR,
            ),
            Verdict(
                goal="rdu ahead of random at 10 % by at least twice the seed spread (the larger of the two)",
                reached=f"{tenth.mean - drawn.mean:+.4f} at a spread of {spread:.4f}",
                met=tenth.mean - drawn.mean >= 2 * spread and tenth.mean > drawn.mean,
            ),
        )

    def remarks(self) -> tuple[str, ...]:
        return (
            f"Top-1 of {self.model} on {self.platform}. Each task's pool is its candidates in the dataset; the first "
            f"{percent(self.shares[0])} are chosen by untrained embeddings, every further part by a model trained on "
            "the parts before. Two candidates of a task at least. Validation groups are whole.",
        )


def run(context: Context, seeds: Sequence[int], watch: Watch, cancel: CancelToken) -> EfficiencyResult:
    """Follow every sampler through all shares, and train on the whole pool, under every seed."""
    config = context.config
    chains = {WHOLE: Chain(sampler=None, shares=(1.0,))}
    chains |= {name: sampler_chain(context, name) for name in config.samplers}
    cells = run_chains(context, "efficiency", chains, seeds, watch, cancel)
    whole = {share_name(1.0): over_seeds(cells, WHOLE, seeds, share_name(1.0))}
    return EfficiencyResult(
        platform=context.name(context.platform),
        model=config.cost_model.name,
        shares=(*config.shares, 1.0),
        top1={
            name: {share_name(share): over_seeds(cells, name, seeds, share_name(share)) for share in config.shares}
            | whole
            for name in config.samplers
        },
    )
