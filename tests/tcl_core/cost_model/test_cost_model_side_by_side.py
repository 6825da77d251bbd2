"""Work shared out to threads: order, errors, torch's thread count, and the same gradient as in one piece."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch
from cost_model_fakes import LAYOUT, token_group
from hypothesis import given
from hypothesis import strategies as st

from tcl_core.config import CostModelConfig, ModelConfig
from tcl_core.cost_model import side_by_side as module
from tcl_core.cost_model.mamba_model import MambaModel
from tcl_core.cost_model.side_by_side import shares, side_by_side
from tcl_core.cost_model.training import RankedGroup, RankerCourse, rank_group

CPU = torch.device("cpu")


@pytest.fixture(params=[1, 2, 3])
def threads(request: pytest.FixtureRequest):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def test_results_come_in_order_from_threads_that_compute_alone(threads: int) -> None:
    seen = side_by_side(lambda part: (part, torch.get_num_threads(), threading.current_thread().name), range(7))
    assert [part for part, _, _ in seen] == list(range(7))
    assert {count for _, count, _ in seen} == {1}
    assert threads > 1 or {name for _, _, name in seen} == {threading.current_thread().name}
    assert torch.get_num_threads() == threads


def test_an_error_is_raised_and_torch_has_its_threads_back(threads: int) -> None:
    with pytest.raises(ZeroDivisionError):
        side_by_side(lambda part: 1 // part, [1, 0, 2])
    assert torch.get_num_threads() == threads


@given(count=st.integers(0, 300), least=st.integers(1, 40), threads=st.integers(1, 9))
def test_shares_are_near_equal_and_hold_every_row_once(count: int, least: int, threads: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.torch, "get_num_threads", lambda: threads)
        cuts = shares(count, least)
    sizes = [cut.stop - cut.start for cut in cuts]
    assert np.concatenate([np.arange(cut.start, cut.stop) for cut in cuts]).tolist() == list(range(count))
    assert len(cuts) <= threads
    assert max(sizes) - min(sizes) <= 1
    assert len(cuts) == 1 or min(sizes) >= least


@pytest.mark.parametrize("tasks", [1, 3])
def test_the_gradient_is_that_of_the_whole_objective(threads: int, tasks: int) -> None:
    config = CostModelConfig(model=ModelConfig(width=16, layers=2, heads=4))
    network = MambaModel(config, LAYOUT, 0).ranker
    groups: list[RankedGroup] = []
    for seed in range(tasks):
        ranked = rank_group(token_group(10 * seed, 40 + 2 * seed), heads=4, seed=0, device=CPU)
        assert ranked is not None
        groups.append(ranked)
    course = RankerCourse(network, groups, 16)
    parts = course.parts(64, np.random.default_rng(0))
    total, reported = course.objective(parts)
    total.backward()  # type: ignore[no-untyped-call]
    wanted = {name: parameter.grad for name, parameter in network.named_parameters()}
    network.zero_grad(set_to_none=True)
    torch.testing.assert_close(course.backward(parts), reported.detach())
    found = {name: parameter.grad for name, parameter in network.named_parameters()}
    torch.testing.assert_close(found, wanted, rtol=2e-3, atol=2e-6)


def test_dropout_is_drawn_by_one_thread_so_that_a_seed_repeats(threads: int) -> None:
    config = CostModelConfig(model=ModelConfig(width=16, layers=1, heads=4, dropout=0.5))
    group = rank_group(token_group(1, 64), heads=4, seed=0, device=CPU)
    assert group is not None
    course = RankerCourse(MambaModel(config, LAYOUT, 0).ranker, [group], 16)
    course.network.train()
    losses = []
    for _ in range(3):
        torch.manual_seed(5)
        course.network.zero_grad(set_to_none=True)
        losses.append(float(course.backward(course.parts(64, np.random.default_rng(0)))))
    assert len(set(losses)) == 1
