"""A crew fills cells beside this process, and is gone afterwards."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable

import pytest
import torch

from tcl_core.evaluation.cells import CellProgress
from tcl_core.evaluation.context import Context
from tcl_core.evaluation.crew import crew
from tcl_core.evaluation.tables import run_table
from tcl_core.events import CancelToken

pytestmark = pytest.mark.slow
WAIT_S = 240.0


def test_cells_are_filled_beside_this_process(make_context: Callable[..., Context]) -> None:
    context, threads = make_context(), torch.get_num_threads()
    with crew(context, ("zero_shot",), (0,), 1):
        assert torch.get_num_threads() == max(1, threads // 2)
        until = time.monotonic() + WAIT_S
        while len(list(context.cache.glob("**/*.json"))) < 6 and time.monotonic() < until:
            time.sleep(0.1)
    assert not multiprocessing.active_children()
    assert torch.get_num_threads() == threads
    told: list[CellProgress] = []
    run_table("zero_shot", context, (0,), told.append, CancelToken())
    assert [each.done for each in told if each.resumed] == [1, 2, 3, 4, 5, 6]


def test_a_crew_ends_with_the_block_whatever_it_is_at(make_context: Callable[..., Context]) -> None:
    with pytest.raises(KeyError), crew(make_context(), ("zero_shot",), (0,), 2):
        assert len(multiprocessing.active_children()) == 2
        raise KeyError
    assert not multiprocessing.active_children()
