"""Per-store features of a dataset's candidates, for the models that read schedules: replayed once, side by side.

A replay with its postprocessors and features costs about 12 ms; xgb and mlp share the rows over all seeds.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tcl_core.batches import FloatArray
from tcl_core.child_processes import obey_parent
from tcl_core.domain import Candidate, Sketch, Task
from tcl_core.errors import UserError
from tcl_core.events import CancelToken

if TYPE_CHECKING:
    from tcl_core.space.design_space import DesignSpace

_WORTH_A_PROCESS = 4
"""Tasks from which on starting workers (each loads TVM) pays."""

Key = tuple[str, str]
Rows = tuple[FloatArray, ...]


@dataclass(frozen=True, kw_only=True)
class ReplayJob:
    """The candidates of one (task, platform)."""

    task: Task
    target_json: str
    sketches: tuple[Sketch, ...]
    candidates: tuple[Candidate, ...]


def extract(job: ReplayJob) -> Rows:
    """Per-store rows [stores, 164] of each candidate; one row of zeros where replay rejects it.

    Raises:
        UserError: this version makes other sketches of the task than those measured; more of them do no harm.
    """
    from tcl_core.cost_model.store_features import STORE_FEATURES, store_feature_rows

    space = _space_of(job)
    batch, legal = space.schedules(job.candidates)
    rows: list[FloatArray] = [np.zeros((1, STORE_FEATURES), np.float32)] * len(job.candidates)
    for index, row in zip(legal, store_feature_rows(batch) if legal else (), strict=True):
        rows[index] = row
    return tuple(rows)


def _space_of(job: ReplayJob) -> DesignSpace:
    """The space that the candidates were drawn from."""
    from tcl_core.space.design_space import DesignSpace

    space = DesignSpace(job.task, job.target_json)
    made = {sketch.index: _sizes(sketch) for sketch in space.sketches}
    if any(made.get(sketch.index) != _sizes(sketch) for sketch in job.sketches):
        raise UserError(
            "dataset",
            f"This version of TCL Studio makes other sketches of {job.task.name} than those of the dataset, so it "
            "cannot be replayed; install the version that the dataset was measured with.",
        )
    return space


def _sizes(sketch: Sketch) -> list[int]:
    return [len(domain.values) for domain in sketch.domains]


class StoreRows:
    """Rows by (task key, platform). Belongs to one thread."""

    def __init__(self) -> None:
        self._rows: dict[Key, Rows] = {}

    def __getitem__(self, key: Key) -> Rows:
        return self._rows[key]

    def prepare(
        self,
        jobs: Mapping[Key, ReplayJob],
        processes: int,
        cancel: CancelToken | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """Extract what is not there yet; `tell` hears how far it is.

        Raises:
            Interrupted: `cancel` was stopped; what was extracted is kept.
        """
        missing = {key: job for key, job in jobs.items() if key not in self._rows}
        several = processes > 1 and len(missing) >= _WORTH_A_PROCESS
        extracted = _in_processes(missing, processes) if several else _here(missing)
        with closing(extracted):
            for done, (key, rows) in enumerate(extracted, 1):
                self._rows[key] = rows
                if tell is not None:
                    tell(f"replayed {done} of {len(missing)} tasks")
                if cancel is not None:
                    cancel.checkpoint()


def _here(jobs: Mapping[Key, ReplayJob]) -> Generator[tuple[Key, Rows]]:
    for key, job in jobs.items():
        yield key, extract(job)


def _in_processes(jobs: Mapping[Key, ReplayJob], processes: int) -> Generator[tuple[Key, Rows]]:
    """As they are done; closed early, it drops what has not begun."""
    # Spawned, not forked: TVM and torch have threads by now.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context, initializer=obey_parent) as executor:
        try:
            futures = {executor.submit(extract, job): key for key, job in jobs.items()}
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BrokenProcessPool as error:
            raise UserError(
                "setup",
                "A process that replays candidates for the cost model ended before it was done, as one does from which "
                "the system takes its memory; free some and try again, or choose another cost model than mlp and xgb.",
            ) from error
        finally:
            executor.shutdown(cancel_futures=True)
