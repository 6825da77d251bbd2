"""Table "zero-shot": top-1 on a platform never trained on, with and without the platform token (arXiv 2304.05430)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rich.table import Table

from tcl_core.cost_model.base import EpochWatch
from tcl_core.errors import UserError
from tcl_core.evaluation.cells import Value, Watch, run_cells
from tcl_core.evaluation.context import Context
from tcl_core.evaluation.metrics import Spread, top_k
from tcl_core.evaluation.shares import chosen_groups, draw
from tcl_core.evaluation.tables.base import TableResult, Verdict, empty_table, over_seeds, percent
from tcl_core.events import CancelToken

_CODE = ("evaluation/tables/zero_shot.py",)
WITH, WITHOUT, TRAINED = "with_token", "without_token", "trained"
_COLUMNS = (WITH, WITHOUT, TRAINED)


@dataclass(frozen=True, kw_only=True)
class ZeroShotResult(TableResult):
    """`top1` by platform left out of training and by column; "trained" is the same model with that platform."""

    name: ClassVar[str] = "zero_shot"
    title: ClassVar[str] = "Zero-shot"
    model: str
    share: float
    top1: Mapping[str, Mapping[str, Spread]]

    def to_json(self) -> dict[str, Any]:
        return {
            platform: {column: spread.to_json() for column, spread in found.items()}
            for platform, found in self.top1.items()
        }

    def to_table(self) -> Table:
        table = empty_table("platform left out", "with platform token", "without", "trained on it too")
        for platform, found in self.top1.items():
            table.add_row(platform, *(str(found[column]) for column in _COLUMNS))
        return table

    def verdicts(self) -> tuple[Verdict, ...]:
        return ()

    def remarks(self) -> tuple[str, ...]:
        return (
            f"Top-1 of {self.model}, trained on a random {percent(self.share)} of the training records of all other "
            "platforms at once, with one head; without the token it is zeros on every platform. The last column adds "
            "the same share of the platform itself.",
        )


def run(context: Context, seeds: Sequence[int], watch: Watch, cancel: CancelToken) -> ZeroShotResult:
    """Leave out each platform in turn, under every seed.

    Raises:
        UserError: one platform only, or a cost model without a platform token.
    """
    config = context.config
    platforms = context.sequence()
    model = config.cost_model.name
    if context.model(model, seeds[0]).reads != "tokens":
        raise UserError("cost model", f"The cost model {model} has no platform token; choose mamba for this table.")
    rows = {f"{column} {platform}": (column, platform) for platform in platforms for column in _COLUMNS}

    def work(row: str, seed: int, epochs: EpochWatch) -> Value:
        column, platform = rows[row]
        return {"top1": _top1(context, column, platform, platforms, seed, epochs, cancel)}

    settings = {
        "cost_model": config.cost_model,
        "offline": config.offline,
        "share": config.platform_share,
        "platforms": platforms,
    }
    cells = run_cells(context.cells("zero_shot", settings, _CODE), "zero_shot", tuple(rows), seeds, work, watch, cancel)
    return ZeroShotResult(
        model=model,
        share=config.platform_share,
        top1={
            context.name(platform): {
                column: over_seeds(cells, f"{column} {platform}", seeds, "top1") for column in _COLUMNS
            }
            for platform in platforms
        },
    )


def _top1(
    context: Context,
    column: str,
    platform: str,
    platforms: Sequence[str],
    seed: int,
    epochs: EpochWatch,
    cancel: CancelToken,
) -> float:
    groups = context.groups.without_platform_token() if column == WITHOUT else context.groups
    split, share = context.split, context.config.platform_share
    taught = [each for each in platforms if column == TRAINED or each != platform]
    model = context.model(context.config.cost_model.name, seed)
    teaching = [
        group
        for each in taught
        for group in chosen_groups(groups, draw(groups, split.train, each, share, seed), each, model)
    ]
    validation = [group for each in taught for group in groups.groups(split.validation, each)]
    context.fit(model, teaching, validation, epochs, cancel)
    return top_k(context.test(model, platform, groups), 1).ratio
