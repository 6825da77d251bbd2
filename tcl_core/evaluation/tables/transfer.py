"""Table "transfer": a new platform of which little is measured, after the others were learned."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rich.table import Table

from tcl_core.cost_model.base import EpochWatch
from tcl_core.evaluation.cells import Value, Watch, run_cells
from tcl_core.evaluation.context import Context
from tcl_core.evaluation.metrics import Spread
from tcl_core.evaluation.platforms import CODE, fresh_learner, learn, learner_names, platform_data, platform_top1
from tcl_core.evaluation.tables.base import TableResult, Verdict, empty_table, over_seeds, percent, share_name
from tcl_core.events import CancelToken
from tcl_core.learning.base import PlatformData

_CODE = (*CODE, "evaluation/tables/transfer.py")
_OURS, _SCRATCH = "ckd", "scratch"
_OUR_SHARE, _THEIR_SHARE = "0.02", "0.1"


@dataclass(frozen=True, kw_only=True)
class TransferResult(TableResult):
    """`top1` on the new platform by learner and share of its data."""

    name: ClassVar[str] = "transfer"
    title: ClassVar[str] = "Transfer to a new platform"
    old: tuple[str, ...]
    new: str
    old_share: float
    shares: tuple[float, ...]
    top1: Mapping[str, Mapping[str, Spread]]

    def to_json(self) -> dict[str, Any]:
        return {
            learner: {share: spread.to_json() for share, spread in found.items()}
            for learner, found in self.top1.items()
        }

    def to_table(self) -> Table:
        table = empty_table("learner", *map(percent, self.shares))
        for learner, found in self.top1.items():
            table.add_row(learner, *(str(found[share_name(share)]) for share in self.shares))
        return table

    def verdicts(self) -> tuple[Verdict, ...]:
        ours, scratch = self.top1.get(_OURS, {}).get(_OUR_SHARE), self.top1.get(_SCRATCH, {}).get(_THEIR_SHARE)
        if ours is None or scratch is None:
            return ()
        goal = "CKD at 2 % at least equals scratch at 10 %"
        return (Verdict(goal=goal, reached=f"{ours} against {scratch}", met=ours.mean >= scratch.mean),)

    def remarks(self) -> tuple[str, ...]:
        return (
            f"Learned first: {', '.join(self.old)}, {_share(self.old_share)} of each one's training records. "
            f"New: {self.new}; its share is drawn at random, the same for all learners; the rest of its pools is given "
            "without labels, and candidates of the training networks on the others, drawn anew from their sketches. "
            "Its validation groups, which tell when to stop, and of CKD how far the active column is heard, are whole.",
        )


def _share(share: float) -> str:
    return "all" if share >= 1 else f"a random {percent(share)}"


def run(context: Context, seeds: Sequence[int], watch: Watch, cancel: CancelToken) -> TransferResult:
    """Every learner on the strongest platform, after all weaker ones, under every seed."""
    config = context.config
    *old, new = context.sequence()

    def work(row: str, seed: int, epochs: EpochWatch) -> Value:
        return _transfer(context, row, old, new, seed, epochs, cancel)

    settings = {
        "cost_model": config.cost_model,
        "offline": config.offline,
        "learner": config.learner,
        "share": config.known_share,
        "shares": config.transfer_shares,
        "platforms": (*old, new),
    }
    names = learner_names(context)
    cells = run_cells(context.cells("transfer", settings, _CODE), "transfer", names, seeds, work, watch, cancel)
    return TransferResult(
        old=tuple(map(context.name, old)),
        new=context.name(new),
        old_share=config.known_share,
        shares=config.transfer_shares,
        top1={
            name: {
                share_name(share): over_seeds(cells, name, seeds, share_name(share)) for share in config.transfer_shares
            }
            for name in names
        },
    )


def _transfer(
    context: Context, name: str, old: Sequence[str], new: str, seed: int, epochs: EpochWatch, cancel: CancelToken
) -> Value:
    learner = fresh_learner(context, name, seed)
    learned: list[PlatformData] = []
    for platform in old:
        data = platform_data(context, platform, context.config.known_share, seed)
        learn(learner, data, learned, epochs, cancel)
        learned.append(data)
    found: Value = {}
    for share in context.config.transfer_shares:
        # Each share starts from the same knowledge.
        taught = copy.deepcopy(learner)
        learn(taught, platform_data(context, new, share, seed), learned, epochs, cancel)
        found[share_name(share)] = platform_top1(context, taught, new)
    return found
