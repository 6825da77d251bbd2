"""The block's official face, and exactness of padding through block and ranker."""

from __future__ import annotations

import math

import pytest
import torch
from cost_model_fakes import LAYOUT

from tcl_core.config import ModelConfig
from tcl_core.cost_model.mamba import Mamba
from tcl_core.cost_model.ranker import Ranker, RankerInput
from tcl_core.cost_model.scans import SequenceOps, choose_ops

WIDTH, STATES, TAPS, EXPAND = 64, 16, 4, 2
CHANNELS, RANK = EXPAND * WIDTH, math.ceil(WIDTH / 16)
# Names and shapes of mamba_ssm.modules.mamba_simple.Mamba(d_model=64), 2.3.1.
OFFICIAL = {
    "A_log": (CHANNELS, STATES),
    "D": (CHANNELS,),
    "in_proj.weight": (2 * CHANNELS, WIDTH),
    "conv1d.weight": (CHANNELS, 1, TAPS),
    "conv1d.bias": (CHANNELS,),
    "x_proj.weight": (RANK + 2 * STATES, CHANNELS),
    "dt_proj.weight": (CHANNELS, RANK),
    "dt_proj.bias": (CHANNELS,),
    "out_proj.weight": (WIDTH, CHANNELS),
}


def ops(route: str) -> SequenceOps:
    return choose_ops(route, "cpu", channels=CHANNELS, states=STATES, taps=TAPS)


def block(route: str = "reference") -> Mamba:
    torch.manual_seed(0)
    return Mamba(WIDTH, states=STATES, taps=TAPS, expand=EXPAND, ops=ops(route))


def ranker(route: str = "reference") -> Ranker:
    torch.manual_seed(0)
    return Ranker(LAYOUT, ModelConfig(), ops(route)).eval()


def ranker_input(count: int, tokens: int) -> RankerInput:
    g = torch.Generator().manual_seed(tokens)
    return RankerInput(
        kinds_T=torch.randint(0, LAYOUT.kinds, (tokens,), generator=g),
        fields_NTF=torch.randn(count, tokens, LAYOUT.fields, generator=g),
        task_C=torch.randn(LAYOUT.task, generator=g),
        platform_C=torch.randn(LAYOUT.platform, generator=g),
    )


def test_names_and_shapes_are_official_and_load_strictly() -> None:
    found = {name: tuple(tensor.shape) for name, tensor in block().state_dict().items()}
    assert found == OFFICIAL
    block().load_state_dict({name: torch.randn(shape) for name, shape in OFFICIAL.items()}, strict=True)


def test_initialisation_is_official() -> None:
    fresh = block()
    torch.testing.assert_close(torch.exp(fresh.A_log)[7], torch.arange(1.0, STATES + 1))
    assert torch.equal(fresh.D, torch.ones(CHANNELS))
    steps = torch.nn.functional.softplus(fresh.dt_proj.bias).detach()
    assert 1e-3 * 0.99 <= float(steps.min()) < float(steps.max()) <= 0.1 * 1.01
    assert float(fresh.dt_proj.weight.detach().abs().max()) <= RANK**-0.5


def test_one_checkpoint_for_both_cpu_routes_forward_and_backward() -> None:
    slow, fast = block("reference"), block("fused")
    fast.load_state_dict(slow.state_dict(), strict=True)
    x = torch.randn(5, 11, WIDTH, generator=torch.Generator().manual_seed(2))
    upstream = torch.randn(5, 11, WIDTH, generator=torch.Generator().manual_seed(3))
    torch.testing.assert_close(fast(x), slow(x), rtol=1e-4, atol=1e-5)
    slow(x).backward(upstream)
    fast(x).backward(upstream)
    for (name, one), other in zip(slow.named_parameters(), fast.parameters(), strict=True):
        assert one.grad is not None
        assert other.grad is not None, name
        scale = float(one.grad.abs().max())
        torch.testing.assert_close(other.grad, one.grad, rtol=1e-3, atol=1e-5 * max(scale, 1.0), msg=name)


def test_block_is_causal() -> None:
    x = torch.randn(2, 9, WIDTH, generator=torch.Generator().manual_seed(4))
    changed = x.clone()
    changed[:, 5:] += 1
    mamba = block("fused")
    assert torch.equal(mamba(x)[:, :5], mamba(changed)[:, :5])
    assert not torch.equal(mamba(x)[:, 5:], mamba(changed)[:, 5:])


@pytest.mark.parametrize("route", ["reference", "fused"])
def test_padding_on_the_right_is_exact(route: str) -> None:
    network = ranker(route)
    short, longer = ranker_input(3, 6), ranker_input(3, 10)
    padded = RankerInput(
        kinds_T=torch.nn.functional.pad(short.kinds_T, (0, 4)).expand(3, -1),
        fields_NTF=torch.nn.functional.pad(short.fields_NTF, (0, 0, 0, 4), value=9.0),
        task_C=longer.task_C,
        platform_C=longer.platform_C,
        lengths_N=torch.full((3,), 6),
    )
    alone = RankerInput(
        kinds_T=short.kinds_T, fields_NTF=short.fields_NTF, task_C=longer.task_C, platform_C=longer.platform_C
    )
    with torch.inference_mode():
        for found, wanted in zip(network(padded), network(alone), strict=True):
            torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("route", ["reference", "fused"])
@pytest.mark.parametrize("shared", [0, 1, 2, 7])
def test_a_shared_beginning_read_once_changes_nothing(route: str, shared: int) -> None:
    network, given = ranker(route), ranker_input(4, 8)
    given.fields_NTF[:, :shared] = given.fields_NTF[:1, :shared]
    with torch.inference_mode():
        wanted = network(given)
        prefix = network.read_prefix(
            given.kinds_T[:shared], given.fields_NTF[0, :shared], given.task_C, given.platform_C
        )
        found = network.resume(prefix, given.kinds_T[shared:], given.fields_NTF[:, shared:])
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_ranker_is_of_the_size_the_method_names() -> None:
    parameters = sum(parameter.numel() for parameter in ranker().parameters())
    assert 60_000 < parameters < 100_000


def test_every_input_reaches_the_score() -> None:
    network, given = ranker(), ranker_input(2, 5)
    for field in (given.fields_NTF, given.task_C, given.platform_C):
        field.requires_grad_()
    network(given)[0].sum().backward()
    for field in (given.fields_NTF, given.task_C, given.platform_C):
        assert field.grad is not None
        assert (field.grad.abs().sum(dim=0) > 0).any()
    assert network.kind.weight.grad is not None
    assert network.kind.weight.grad.any()
