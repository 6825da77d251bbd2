"""A crew fills cells beside this process, and is gone afterwards."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from multiprocessing.context import SpawnProcess
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
import torch

from tcl_core.dataset import Dataset, read_dataset, sealed, write_dataset
from tcl_core.evaluation import crew
from tcl_core.evaluation.cells import CellProgress
from tcl_core.evaluation.context import Context, EvaluationConfig
from tcl_core.evaluation.crew import Crew
from tcl_core.evaluation.tables import run_table
from tcl_core.events import CancelToken

pytestmark = pytest.mark.slow
WAIT_S = 240.0


@pytest.fixture
def context(dataset: Dataset, config: EvaluationConfig, tmp_path: Path) -> Context:
    """Over the small dataset as it lies on the disk."""
    write_dataset(tmp_path / "dataset", sealed(dataset))
    return Context(read_dataset(tmp_path / "dataset"), config, tmp_path / "cache")


def the_crew() -> list[BaseProcess]:
    """Child processes; measuring tests that came before keep theirs for the session."""
    return [child for child in multiprocessing.active_children() if "nursery" not in child.name]


def test_cells_are_filled_beside_this_process(context: Context, tmp_path: Path) -> None:
    threads = torch.get_num_threads()
    with Crew(dataset=tmp_path / "dataset", count=1).at_work(context, ("zero_shot",), (0,)):
        assert torch.get_num_threads() == 1
        until = time.monotonic() + WAIT_S
        while len(list(context.cache.glob("**/*.json"))) < 6 and time.monotonic() < until:
            time.sleep(0.1)
    assert not the_crew()
    assert torch.get_num_threads() == threads
    told: list[CellProgress] = []
    run_table("zero_shot", context, (0,), told.append, CancelToken())
    assert [each.done for each in told if each.resumed] == [1, 2, 3, 4, 5, 6]


def test_a_crew_ends_with_the_block_whatever_it_is_at(context: Context, tmp_path: Path) -> None:
    beside = Crew(dataset=tmp_path / "dataset", count=2)
    with pytest.raises(KeyError), beside.at_work(context, ("zero_shot",), (0,)):
        assert len(the_crew()) == 2
        raise KeyError
    assert not the_crew()


def test_a_process_that_cannot_begin_leaves_no_other(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def begun(order: crew._Order, number: int) -> SpawnProcess:
        if number == 2:
            raise OSError("no more processes")
        return begin(order, number)

    begin = crew._begun
    monkeypatch.setattr(crew, "_begun", begun)
    beside = Crew(dataset=tmp_path / "dataset", count=2)
    with pytest.raises(OSError, match="no more"), beside.at_work(context, ("zero_shot",), (0,)):
        pass
    assert not the_crew()


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="signals are masked on POSIX")
def test_a_crew_never_sees_an_interrupt(context: Context, tmp_path: Path) -> None:
    with Crew(dataset=tmp_path / "dataset", count=1).at_work(context, ("zero_shot",), (0,)):
        (process,) = the_crew()
        for _ in range(20):
            os.kill(process.pid or 0, signal.SIGINT)
            time.sleep(0.1)
        assert process.is_alive()
