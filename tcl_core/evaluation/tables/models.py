"""Table "models": every cost model on the same tasks, trained and tested alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from rich.table import Table

from tcl_core.evaluation.cells import Tell, Value, Watch, run_cells
from tcl_core.evaluation.context import Context
from tcl_core.evaluation.metrics import Spread, pairwise_accuracy, top_k
from tcl_core.evaluation.speed import scored_per_second
from tcl_core.evaluation.tables.base import Cells, TableResult, Verdict, empty_table, over_seeds
from tcl_core.evaluation.training import distinct_tasks, rank_with
from tcl_core.events import CancelToken

_CODE = ("evaluation/speed.py", "evaluation/tables/models.py", "space", "own_operators")
_TOP1_GOAL = 0.93
_FIGURES = ("top1", "top1_by_network", "top5")
_NOT_ALWAYS = ("pairwise", "validation_top1")


@dataclass(frozen=True, kw_only=True)
class ModelRow:
    """One model over all seeds.

    Attributes:
        top1_by_network: mean of per-network ratios.
        pairwise: None where no test task has two different latencies.
        validation_top1: what choices see; None without validation networks.
    """

    name: str
    top1: Spread
    top1_by_network: Spread
    top5: Spread
    pairwise: Spread | None
    validation_top1: Spread | None
    parameters: int
    per_second: float
    train_s: float


@dataclass(frozen=True, kw_only=True)
class ModelsResult(TableResult):
    """The table of models."""

    name: ClassVar[str] = "models"
    title: ClassVar[str] = "Cost models"
    platform: str
    rows: tuple[ModelRow, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            row.name: {figure: _json(getattr(row, figure)) for figure in (*_FIGURES, *_NOT_ALWAYS)}
            | {"parameters": row.parameters, "per_second": row.per_second, "train_s": row.train_s}
            for row in self.rows
        }

    def to_table(self) -> Table:
        table = empty_table(
            "model", "top-1", "top-5", "pairwise", "top-1 by network", "validation", "parameters", "scored/s", "train s"
        )
        for row in self.rows:
            table.add_row(
                row.name,
                *map(str, (row.top1, row.top5, row.pairwise or "-", row.top1_by_network, row.validation_top1 or "")),
                f"{row.parameters:,}",
                f"{row.per_second:,.0f}",
                f"{row.train_s:,.1f}",
            )
        return table

    def verdicts(self) -> tuple[Verdict, ...]:
        by_name = {row.name: row for row in self.rows}
        mamba, transformer = by_name.get("mamba"), by_name.get("transformer")
        if mamba is None:
            return ()
        best = max(self.rows, key=lambda row: row.top1.mean)
        found = [
            Verdict(goal="mamba first on top-1", reached=f"{best.name} {best.top1}", met=best is mamba),
            Verdict(goal=f"top-1 above {_TOP1_GOAL}", reached=f"mamba {mamba.top1}", met=mamba.top1.mean > _TOP1_GOAL),
        ]
        if transformer is not None:
            found.append(
                Verdict(
                    goal="mamba at no more than half the transformer's parameters",
                    reached=f"{mamba.parameters:,} against {transformer.parameters:,}",
                    met=2 * mamba.parameters <= transformer.parameters,
                )
            )
        return tuple(found)

    def remarks(self) -> tuple[str, ...]:
        return (
            f"On {self.platform}. Top-k is the ratio of sums over the test networks' tasks; a chosen failure counts as "
            "the task's worst latency; equal scores count against the model.",
            "Scored/s runs from decision vectors to scores: xgb and mlp replay every candidate.",
        )


def run(context: Context, seeds: Sequence[int], watch: Watch, cancel: CancelToken) -> ModelsResult:
    """Train every model on all records of the training networks, under every seed."""
    config = context.config
    context.check(context.platform)

    def work(row: str, seed: int, tell: Tell) -> Value:
        return _train_and_test(context, row, seed, tell, cancel)

    settings = {
        "cost_model": config.cost_model,
        "offline": config.offline,
        "threads": torch.get_num_threads(),  # of the others' tables each cell has one
    }
    cells = run_cells(
        context.cells("models", settings, _CODE),
        "models",
        config.models,
        seeds,
        work,
        watch,
        cancel,
    )
    return ModelsResult(
        platform=context.name(context.platform),
        rows=tuple(
            ModelRow(
                name=name,
                **{figure: over_seeds(cells, name, seeds, figure) for figure in _FIGURES},
                pairwise=_where_known(cells, name, seeds, "pairwise"),
                validation_top1=_where_known(cells, name, seeds, "validation_top1"),
                parameters=round(over_seeds(cells, name, seeds, "parameters").mean),
                per_second=over_seeds(cells, name, seeds, "per_second").mean,
                train_s=over_seeds(cells, name, seeds, "train_s").mean,
            )
            for name in config.models
        ),
    )


def _json(figure: Spread | None) -> list[float] | None:
    return None if figure is None else figure.to_json()


def _where_known(cells: Cells, name: str, seeds: Sequence[int], figure: str) -> Spread | None:
    found = [cells[name, seed][figure] for seed in seeds]
    return None if None in found else Spread.of(found)


def _train_and_test(context: Context, name: str, seed: int, tell: Tell, cancel: CancelToken) -> Value:
    platform, split, groups = context.platform, context.split, context.groups
    model = context.model(name, seed)
    groups.prepare((*split.train, *split.validation, *split.test), platform, model.reads, cancel, tell)
    teaching = groups.groups(split.train, platform, reads=model.reads)
    report = context.fit(model, teaching, context.validation(platform, model.reads), tell, cancel)
    tested = context.test(model, platform)
    validated = rank_with(model, groups, platform, split.validation_networks, split.validation)
    timed = max(
        (key for key in split.test if groups.has(key, platform)), key=lambda key: context.dataset.tasks[key].flops
    )
    top1 = top_k(tested, 1)
    return {
        "top1": top1.ratio,
        "top1_by_network": top1.mean_by_network,
        "top5": top_k(tested, 5).ratio,
        "pairwise": pairwise_accuracy(distinct_tasks(tested)),
        "validation_top1": top_k(validated, 1).ratio if validated else None,
        "parameters": model.parameters,
        "per_second": scored_per_second(model, context.dataset, timed, platform, seed),
        "train_s": report.seconds,
        "epochs": report.epochs,
    }
