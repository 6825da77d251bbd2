"""A crew: processes that fill the cells of tables beside this one.

They share nothing but the folder of finished cells, where each claims what it does (`cells.CellFolder.claim`): one that
dies leaves its cell to the others, and what it had finished is there.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.context import SpawnProcess
from pathlib import Path

import torch

from tcl_core.dataset.base import Dataset
from tcl_core.errors import Interrupted, UserError
from tcl_core.evaluation.cells import CellProgress
from tcl_core.evaluation.context import Context, EvaluationConfig
from tcl_core.evaluation.tables import run_table
from tcl_core.events import CancelToken


@dataclass(frozen=True, kw_only=True)
class _Order:
    """What a process of the crew is to do: `Context`'s arguments, the tables, and how many threads it has."""

    dataset: Dataset
    config: EvaluationConfig
    cache: Path
    tables: tuple[str, ...]
    seeds: tuple[int, ...]
    threads: int


class _OnlyClaimed(Exception):
    """No cell of the table is left that no other process is at."""


@contextmanager
def crew(context: Context, tables: Sequence[str], seeds: Sequence[int], count: int) -> Iterator[None]:
    """Within the block `count` more processes fill these tables; after it they are gone, whatever they were at.

    Meanwhile each process, this one too, has an equal share of torch's threads, and one at least.
    """
    threads = torch.get_num_threads()
    order = _Order(
        dataset=context.dataset,
        config=context.config,
        cache=context.cache,
        tables=tuple(tables),
        seeds=tuple(seeds),
        threads=max(1, threads // (count + 1)),
    )
    # Spawned, not forked: torch has threads by now.
    spawn = multiprocessing.get_context("spawn")
    begun: list[SpawnProcess] = []
    try:
        torch.set_num_threads(order.threads)
        for number in range(count):
            process = spawn.Process(target=_fill, args=(order,), name=f"tcl-evaluate-{number + 1}")
            process.start()
            begun.append(process)
        yield
    finally:
        torch.set_num_threads(threads)
        for process in begun:
            process.terminate()
        for process in begun:
            process.join()


def _fill(order: _Order) -> None:
    """Fill what nobody else has claimed, table by table. Failures are the parent's to tell: it meets them, too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(order.threads)
    context, token = Context(order.dataset, order.config, order.cache), CancelToken()
    parent = multiprocessing.parent_process()

    def watch(told: CellProgress) -> None:
        if parent is not None and not parent.is_alive():
            token.stop()
        if told.waiting:
            raise _OnlyClaimed

    for table in order.tables:
        try:
            run_table(table, context, order.seeds, watch, token)
        except _OnlyClaimed:
            continue
        except (Interrupted, UserError):
            return
