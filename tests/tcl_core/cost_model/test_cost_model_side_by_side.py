"""Work shared out to threads: order, errors, torch's thread count, and the same gradient as in one piece."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
import torch
from cost_model_fakes import LAYOUT, small_config, token_group
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tcl_core.config import CostModelConfig, ModelConfig
from tcl_core.cost_model import side_by_side as module
from tcl_core.cost_model.mamba_model import MambaModel
from tcl_core.cost_model.rival_models import LstmModel, TransformerModel
from tcl_core.cost_model.side_by_side import near_equal, side_by_side
from tcl_core.cost_model.training import RankedGroup, RankerCourse, group_scores, rank_group

CPU = torch.device("cpu")


@pytest.fixture(params=[1, 2, 3])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def ranked(seed: int, count: int) -> RankedGroup:
    group = rank_group(token_group(seed, count), heads=4, seed=0, device=CPU)
    assert group is not None
    return group


def test_results_come_in_order_from_threads_that_compute_alone(threads: int) -> None:
    seen = side_by_side(lambda part: (part, torch.get_num_threads(), threading.current_thread().name), range(7), CPU)
    assert [part for part, _, _ in seen] == list(range(7))
    assert {count for _, count, _ in seen} == {1}
    assert threads > 1 or {name for _, _, name in seen} == {threading.current_thread().name}
    assert torch.get_num_threads() == threads


def test_an_error_is_raised_and_torch_has_its_threads_back(threads: int) -> None:
    with pytest.raises(ZeroDivisionError):
        side_by_side(lambda part: 1 // part, [1, 0, 2], CPU)
    assert torch.get_num_threads() == threads


def test_elsewhere_than_on_the_cpu_nothing_is_shared_out() -> None:
    here = threading.current_thread()
    assert side_by_side(lambda _: threading.current_thread() is here, range(4), torch.device("meta")) == [True] * 4


@given(count=st.integers(0, 300), threads=st.integers(1, 9))
def test_shares_are_near_equal_and_hold_every_row_once(count: int, threads: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.torch, "get_num_threads", lambda: threads)
        cuts = near_equal(count)
    sizes = [cut.stop - cut.start for cut in cuts]
    assert np.concatenate([np.arange(cut.start, cut.stop) for cut in cuts]).tolist() == list(range(count))
    assert len(cuts) <= threads
    assert max(sizes) - min(sizes) <= 1
    assert len(cuts) == 1 or min(sizes) >= 16


@pytest.mark.parametrize("tasks", [1, 3])
@pytest.mark.parametrize("model", [MambaModel, TransformerModel, LstmModel])
def test_the_gradient_is_the_same_from_any_number_of_threads(
    model: type[MambaModel | TransformerModel | LstmModel], tasks: int
) -> None:
    network = model(small_config(model.name), LAYOUT, 0).ranker.train()
    course = RankerCourse(network, [ranked(10 * seed, 40 + 2 * seed) for seed in range(tasks)], 16)
    parts = course.parts(64, np.random.default_rng(0))
    parameters = list(network.parameters())

    def judged() -> tuple[Tensor, tuple[Tensor, ...]]:
        total, _ = course.objective(parts)
        return total.detach(), torch.autograd.grad(total, parameters)

    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3, 2):
            torch.set_num_threads(threads)
            found.append(judged())
    finally:
        torch.set_num_threads(before)
    for loss, gradients in found[1:]:
        torch.testing.assert_close(loss, found[0][0], rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(gradients, found[0][1], rtol=2e-3, atol=2e-6)
    assert all(torch.equal(one, other) for one, other in zip(found[1][1], found[3][1], strict=True)), "not repeatable"


@pytest.mark.parametrize("model", [MambaModel, TransformerModel, LstmModel])
def test_the_gradient_is_the_same_whichever_thread_takes_a_share(
    model: type[MambaModel | TransformerModel | LstmModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pool may leave two shares to one thread, as it does where a core is busy elsewhere."""
    network = model(small_config(model.name), LAYOUT, 0).ranker.train()
    course = RankerCourse(network, [ranked(0, 40)], 16)
    parts = course.parts(64, np.random.default_rng(0))
    before, found = torch.get_num_threads(), []
    try:
        torch.set_num_threads(2)
        for pool in (partial(ThreadPoolExecutor, 2), partial(ThreadPoolExecutor, 1)):
            monkeypatch.setattr(module, "ThreadPoolExecutor", lambda _, *settings, pool=pool: pool(*settings))
            found.append(torch.autograd.grad(course.objective(parts)[0], list(network.parameters())))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))


def test_without_gradients_nothing_is_kept_for_them(threads: int) -> None:
    network = MambaModel(small_config("mamba"), LAYOUT, 0).ranker
    with torch.no_grad():
        scores_NK = group_scores(network, [ranked(1, 64)])[0]
    assert scores_NK.grad_fn is None
    torch.testing.assert_close(scores_NK, network(ranked(1, 64).given)[0].detach(), rtol=1e-4, atol=1e-5)


def test_dropout_is_drawn_by_one_thread_so_that_a_seed_repeats(threads: int) -> None:
    config = CostModelConfig(model=ModelConfig(width=16, layers=1, heads=4, dropout=0.5))
    network, group = MambaModel(config, LAYOUT, 0).ranker.train(), ranked(1, 64)
    found = []
    for _ in range(3):
        torch.manual_seed(5)
        found.append(group_scores(network, [group])[0].detach())
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])
    torch.manual_seed(6)
    assert not torch.equal(found[0], group_scores(network, [group])[0])


def test_a_step_in_shares_loads_no_computer_algebra() -> None:
    """Torch loads sympy where it is handed a gradient, in the midst of a run."""
    code = """
import sys, torch
from tcl_core.cost_model.side_by_side import read_in_shares

torch.set_num_threads(2)
network, rows = torch.nn.Linear(4, 1), torch.ones(64, 4)
read_in_shares(network, lambda share: network(rows[share]), 64).square().mean().backward()
assert network.weight.grad is not None
assert "sympy" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
