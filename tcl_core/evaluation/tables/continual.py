"""Table "continual": platforms in sequence, and what is left of the first ones after the last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from rich.table import Table

from tcl_core.cost_model.base import EpochWatch
from tcl_core.evaluation.cells import Value, Watch, run_cells
from tcl_core.evaluation.context import Context
from tcl_core.evaluation.metrics import Matrix, Spread, forgetting
from tcl_core.evaluation.platforms import CODE, fresh_learner, learn, learner_names, platform_data, platform_top1
from tcl_core.evaluation.tables.base import Cells, TableResult, Verdict, empty_table, percent
from tcl_core.events import CancelToken
from tcl_core.learning.base import PlatformData

_CODE = (*CODE, "evaluation/tables/continual.py")
_OURS, _FINE_TUNING, _MULTI_TASK = "ckd", "fine-tune", "multi-task"
_FORGETTING_GOAL = 0.01


@dataclass(frozen=True, kw_only=True)
class LearnerRow:
    """One learner over one order of the platforms.

    Attributes:
        top1: R[i][j], mean over seeds: top-1 on platform j after learning platform i.
        final_top1: mean over platforms after the last.
        size_bytes: after the last platform.
    """

    learner: str
    top1: Matrix
    forgetting: Spread
    final_top1: Spread
    size_bytes: int


@dataclass(frozen=True, kw_only=True)
class OrderResult:
    """All learners over one order of the platforms, named as a person calls them."""

    platforms: tuple[str, ...]
    rows: tuple[LearnerRow, ...]

    def row(self, learner: str) -> LearnerRow | None:
        return next((row for row in self.rows if row.learner == learner), None)

    def to_json(self) -> dict[str, Any]:
        """With our learner's matrix and forgetting, and every learner's by name."""
        ours = self.row(_OURS) or self.rows[0]
        return {
            "platforms": list(self.platforms),
            "R": [list(row) for row in ours.top1],
            "forgetting": ours.forgetting.mean,
            "final_top1": {row.learner: row.final_top1.mean for row in self.rows},
            "by_learner": {
                row.learner: {
                    "R": [list(line) for line in row.top1],
                    "forgetting": row.forgetting.to_json(),
                    "final_top1": row.final_top1.to_json(),
                    "size_bytes": row.size_bytes,
                }
                for row in self.rows
            },
        }


@dataclass(frozen=True, kw_only=True)
class ContinualResult(TableResult):
    """Two orders: from the weakest platform to the strongest, and back."""

    name: ClassVar[str] = "continual"
    title: ClassVar[str] = "Continual learning"
    share: float
    orders: tuple[OrderResult, ...]

    def to_json(self) -> dict[str, Any]:
        first, *others = (order.to_json() for order in self.orders)
        return first | {"other_orders": others}

    def to_table(self) -> Table:
        most = max(len(order.platforms) for order in self.orders)
        table = empty_table(
            "order, learner", "after", *(f"on {j + 1}" for j in range(most)), "forgetting", "final top-1"
        )
        for number, order in enumerate(self.orders, 1):
            for row in order.rows:
                for i, line in enumerate(row.top1):
                    last = i == len(row.top1) - 1
                    table.add_row(
                        f"{number}, {row.learner}",
                        str(i + 1),
                        *(f"{value:.4f}" for value in line),
                        str(row.forgetting) if last else "",
                        str(row.final_top1) if last else "",
                    )
        return table

    def verdicts(self) -> tuple[Verdict, ...]:
        found: list[Verdict] = []
        for number, order in enumerate(self.orders, 1):
            ours = order.row(_OURS)
            if ours is None:
                continue
            found.append(
                Verdict(
                    goal=f"forgetting under {_FORGETTING_GOAL} (order {number})",
                    reached=str(ours.forgetting),
                    met=ours.forgetting.mean < _FORGETTING_GOAL,
                )
            )
            found += [
                Verdict(
                    goal=f"final top-1 ahead of {name} (order {number})",
                    reached=f"{ours.final_top1} against {rival.final_top1}",
                    met=ours.final_top1.mean > rival.final_top1.mean,
                )
                for name in (_FINE_TUNING, _MULTI_TASK)
                if (rival := order.row(name)) is not None
            ]
        return tuple(found)

    def remarks(self) -> tuple[str, ...]:
        listed = "; ".join(
            f"order {number}: " + ", ".join(f"{j} {name}" for j, name in enumerate(order.platforms, 1))
            for number, order in enumerate(self.orders, 1)
        )
        return (
            listed[0].upper() + listed[1:] + ".",
            f"A random {percent(self.share)} of each platform's training records, the same for all learners; the rest "
            "of their pools without labels, and candidates of the training networks on the other platforms, drawn anew "
            "from their sketches. Columns before a platform is learned are zero-shot. Forgetting is the "
            "mean over platforms of the best top-1 ever minus the last. Only multi-task is given the records of "
            "earlier platforms.",
        )


def run(context: Context, seeds: Sequence[int], watch: Watch, cancel: CancelToken) -> ContinualResult:
    """Every learner through both orders under every seed."""
    config = context.config
    upwards = context.sequence()
    orders = {"upwards": upwards, "downwards": upwards[::-1]}
    rows = {f"{order} {name}": (order, name) for order in orders for name in learner_names(context)}

    def work(row: str, seed: int, epochs: EpochWatch) -> Value:
        order, name = rows[row]
        return _learn_in_sequence(context, name, orders[order], seed, epochs, cancel)

    settings = {
        "cost_model": config.cost_model,
        "offline": config.offline,
        "learner": config.learner,
        "share": config.platform_share,
        "platforms": upwards,
    }
    cells = run_cells(context.cells("continual", settings, _CODE), "continual", tuple(rows), seeds, work, watch, cancel)
    return ContinualResult(
        share=config.platform_share,
        orders=tuple(
            OrderResult(
                platforms=tuple(map(context.name, platforms)),
                rows=tuple(_row(cells, f"{order} {name}", name, seeds) for name in learner_names(context)),
            )
            for order, platforms in orders.items()
        ),
    )


def _learn_in_sequence(
    context: Context, name: str, platforms: Sequence[str], seed: int, epochs: EpochWatch, cancel: CancelToken
) -> Value:
    learner = fresh_learner(context, name, seed)
    learned: list[PlatformData] = []
    matrix = []
    for platform in platforms:
        data = platform_data(context, platform, context.config.platform_share, seed)
        learn(learner, data, learned, epochs, cancel)
        learned.append(data)
        matrix.append([platform_top1(context, learner, each) for each in platforms])
    return {"R": matrix, "size_bytes": learner.size_bytes}


def _row(cells: Cells, row: str, learner: str, seeds: Sequence[int]) -> LearnerRow:
    found: list[Mapping[str, Any]] = [cells[row, seed] for seed in seeds]
    matrices = [value["R"] for value in found]
    return LearnerRow(
        learner=learner,
        top1=np.mean(matrices, axis=0).tolist(),
        forgetting=Spread.of([forgetting(matrix) for matrix in matrices]),
        final_top1=Spread.of([float(np.mean(matrix[-1])) for matrix in matrices]),
        size_bytes=max(value["size_bytes"] for value in found),
    )
