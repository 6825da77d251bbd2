"""Table "RDU ablation": representativeness, diversity and uncertainty alone, in pairs, and all together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from rich.table import Table

from tcl_core.config import SamplerConfig
from tcl_core.evaluation.cells import Watch
from tcl_core.evaluation.chains import Chain, run_chains, sampler_chain
from tcl_core.evaluation.context import Context
from tcl_core.evaluation.metrics import Spread
from tcl_core.evaluation.tables.base import TableResult, Verdict, empty_table, over_seeds, percent, share_name
from tcl_core.events import CancelToken

PARTS = ("R", "D", "U", "RD", "RU", "DU", "RDU")
_ALL = "RDU"


@dataclass(frozen=True, kw_only=True)
class AblationResult(TableResult):
    """`top1` at one share of the pool, by the parts of RDU that were on."""

    name: ClassVar[str] = "ablation"
    title: ClassVar[str] = "RDU ablation"
    platform: str
    share: float
    sampler: SamplerConfig
    top1: Mapping[str, Spread]

    def to_json(self) -> dict[str, Any]:
        return {parts: spread.to_json() for parts, spread in self.top1.items()}

    def to_table(self) -> Table:
        table = empty_table("parts", f"top-1 at {percent(self.share)}")
        for parts, spread in self.top1.items():
            table.add_row(" + ".join(parts), str(spread))
        return table

    def verdicts(self) -> tuple[Verdict, ...]:
        best = max(self.top1, key=lambda parts: self.top1[parts].mean)
        reached = f"{' + '.join(best)} {self.top1[best]}, all {self.top1[_ALL]}"
        return (Verdict(goal="all three first", reached=reached, met=best == _ALL),)

    def remarks(self) -> tuple[str, ...]:
        weights = self.sampler
        return (
            f"On {self.platform}, chosen as in the table of data efficiency. A part that is on keeps its weight: R "
            f"{weights.representativeness:g}, D {weights.diversity:g}, U {weights.uncertainty:g}. Before any training "
            "there is no U: alone, it begins at random.",
        )


def with_parts(config: SamplerConfig, parts: str) -> SamplerConfig:
    """RDU with the weights of the parts that are not named set to 0."""
    return replace(
        config,
        name="rdu",
        representativeness=config.representativeness if "R" in parts else 0.0,
        diversity=config.diversity if "D" in parts else 0.0,
        uncertainty=config.uncertainty if "U" in parts else 0.0,
    )


def run(context: Context, seeds: Sequence[int], watch: Watch, cancel: CancelToken) -> AblationResult:
    """Follow every combination up to the ablation's share; all three are data efficiency's ``rdu``."""
    config = context.config
    share = config.ablation_share
    shares = tuple(sorted({*(each for each in config.shares if each < share), share}))
    rows = {parts: f"rdu {parts} {share_name(share)}" for parts in PARTS}
    chains = {
        row: Chain(sampler=with_parts(config.sampler, parts), shares=shares)
        for parts, row in rows.items()
        if parts != _ALL
    }
    if share in config.shares:
        rows[_ALL] = "rdu"
        chains["rdu"] = sampler_chain(context, "rdu")
    else:
        chains[rows[_ALL]] = Chain(sampler=with_parts(config.sampler, _ALL), shares=shares)
    cells = run_chains(context, "ablation", chains, seeds, watch, cancel)
    return AblationResult(
        platform=context.name(context.platform),
        share=share,
        sampler=config.sampler,
        top1={parts: over_seeds(cells, row, seeds, share_name(share)) for parts, row in rows.items()},
    )
