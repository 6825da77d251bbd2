"""The tables that `evaluate` prints, one module each: `run(context, seeds, watch, cancel)` gives a frozen result.

All but ``tuning`` come from the dataset alone. That one measures on this machine, for as long as its runs take, and so
is run only when it is asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Final

from tcl_core.config import TABLES
from tcl_core.evaluation.cells import Watch
from tcl_core.evaluation.context import Context
from tcl_core.evaluation.tables.base import TableResult, Verdict
from tcl_core.events import CancelToken

__all__ = ["LIVE", "SEVERAL_PLATFORMS", "TABLES", "TIMED", "TableResult", "Verdict", "run_table"]

LIVE: Final = ("tuning",)
TIMED: Final = ("models", *LIVE)
"""Nothing else may run on the machine meanwhile."""
SEVERAL_PLATFORMS: Final = ("continual", "transfer", "zero_shot")


def run_table(name: str, context: Context, seeds: Sequence[int], watch: Watch, cancel: CancelToken) -> TableResult:
    """Compute a table of `TABLES`, or go on with it.

    Raises:
        UserError: the dataset does not hold what the table needs.
        Interrupted: `cancel` was stopped; finished cells are kept.
    """
    module = importlib.import_module(f"tcl_core.evaluation.tables.{name}")
    result: TableResult = module.run(context, seeds, watch, cancel)
    return result
