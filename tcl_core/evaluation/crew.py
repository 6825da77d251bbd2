"""A crew: processes that fill the cells of tables beside this one.

They share nothing but the folder of finished cells, where each claims what it does (`cells.CellFolder.claim`): one that
dies leaves its cell to the others, and what it had finished is there. Each has one of torch's threads, and so has an
evaluation without a crew: in which order numbers are added depends on threads, and a table is not to depend on who
helps: the same trainings of Mamba have 0.978 in `models`, timed with two threads, and 0.976 in `efficiency`, with one.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnProcess
from pathlib import Path

import torch

from tcl_core.child_processes import obey_parent
from tcl_core.dataset import read_dataset
from tcl_core.errors import UserError
from tcl_core.evaluation.cells import CellProgress
from tcl_core.evaluation.context import Context, EvaluationConfig
from tcl_core.evaluation.tables import run_table
from tcl_core.events import CancelToken


@dataclass(frozen=True, kw_only=True)
class _Order:
    """What a process of the crew is to do.

    It names the dataset instead of holding it: what a spawned process is given must fit a pipe, or its death before it
    has read that blocks the parent for ever (CPython's `popen_spawn_posix` keeps the reading end open meanwhile).
    """

    dataset: Path
    config: EvaluationConfig
    cache: Path
    tables: tuple[str, ...]
    seeds: tuple[int, ...]


class _OnlyClaimed(Exception):
    """No cell of the table is left that no other process is at."""


@dataclass(frozen=True, kw_only=True)
class Crew:
    """`count` processes beside this one, and the folder they read the dataset from."""

    dataset: Path
    count: int

    @contextmanager
    def at_work(self, context: Context, tables: Sequence[str], seeds: Sequence[int]) -> Iterator[None]:
        """Within the block they fill these tables, and this process has one thread, too.

        After it they are gone, whatever they were at.
        """
        threads = torch.get_num_threads()
        order = _Order(
            dataset=self.dataset,
            config=context.config,
            cache=context.cache,
            tables=tuple(tables),
            seeds=tuple(seeds),
        )
        begun: list[SpawnProcess] = []
        try:
            torch.set_num_threads(1)
            with _interrupts_held():
                for number in range(1, self.count + 1):
                    begun.append(_begun(order, number))
            yield
        finally:
            torch.set_num_threads(threads)
            for process in begun:
                process.kill()
            for process in begun:
                process.join()


def _begun(order: _Order, number: int) -> SpawnProcess:
    # Spawned, not forked: torch has threads by now.
    process = multiprocessing.get_context("spawn").Process(target=_fill, args=(order,), name=f"tcl-evaluate-{number}")
    process.start()
    return process


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Ctrl+C waits until the block's end. Processes begun in it never see one: it is the parent's to handle."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    # Begun within the block it would let signals through at its end (CPython's `ResourceTracker.ensure_running`).
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _fill(order: _Order) -> None:
    """Fill what nobody else has claimed, table by table. Failures are the parent's to tell: it meets them, too."""
    obey_parent()
    torch.set_num_threads(1)
    context = Context(read_dataset(order.dataset), order.config, order.cache)

    def watch(told: CellProgress) -> None:
        if told.waiting:
            raise _OnlyClaimed

    for table in order.tables:
        try:
            run_table(table, context, order.seeds, watch, CancelToken())
        except _OnlyClaimed:
            continue
        except UserError:
            return
