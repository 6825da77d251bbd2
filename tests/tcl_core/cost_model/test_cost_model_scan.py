"""The fused kernels against the readable scan and convolution, forward and backward."""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tcl_core.cost_model.projection import project_linear, project_onednn
from tcl_core.cost_model.scan_fused import FusedKernels
from tcl_core.cost_model.scan_reference import causal_conv_silu_reference, scan_with_state, selective_scan_reference
from tcl_core.cost_model.scans import choose_ops
from tcl_core.errors import UserError

CHANNELS, STATES, TAPS = 32, 16, 4


@pytest.fixture(scope="module")
def kernels() -> FusedKernels:
    return FusedKernels(CHANNELS, STATES, TAPS)


def scan_inputs(seed: int, batch: int, tokens: int, *, channels: int = CHANNELS, states: int = STATES) -> list[Tensor]:
    """u, delta, A, B, C, D, z in float64; B, C and z are views of wider tensors, as in the block."""
    g = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=g, dtype=torch.float64)

    gate, projected = normal(batch, tokens, 2 * channels), normal(batch, tokens, 4 + 2 * states)
    _, B, C = projected.split([4, states, states], dim=-1)
    return [
        normal(batch, tokens, channels),
        2 * normal(batch, tokens, channels) - 2,
        -torch.rand(channels, states, generator=g, dtype=torch.float64) * 16,
        B,
        C,
        normal(channels),
        gate[..., channels:],
    ]


def conv_inputs(seed: int, batch: int, tokens: int) -> list[Tensor]:
    g = torch.Generator().manual_seed(seed)
    wide = torch.randn(batch, tokens, 2 * CHANNELS, generator=g, dtype=torch.float64)
    weight = torch.randn(CHANNELS, TAPS, generator=g, dtype=torch.float64)
    return [wide[..., :CHANNELS], weight, torch.randn(CHANNELS, generator=g, dtype=torch.float64)]


def float32_views(inputs: list[Tensor]) -> list[Tensor]:
    """The same values in float32, three- dimensional ones as views into wider, misaligned memory."""
    views = []
    for each in inputs:
        if each.dim() == 3:
            holder = torch.zeros(*each.shape[:2], each.shape[2] + 5)
            holder[..., 3:-2] = each
            views.append(holder[..., 3:-2].requires_grad_())
        else:
            views.append(each.float().requires_grad_())
    return views


def assert_agrees(fast, slow, inputs: list[Tensor]) -> None:
    """Values and all gradients, against the reference in float64."""
    exact = [each.clone().requires_grad_() for each in inputs]
    rough = float32_views(inputs)
    expected, found = slow(*exact), fast(*rough)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), expected, rtol=2e-5, atol=2e-5)
    upstream = torch.randn(expected.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    wanted = torch.autograd.grad(expected, exact, upstream)
    gradients = torch.autograd.grad(found, rough, upstream.float())
    for gradient, want in zip(gradients, wanted, strict=True):
        scale = max(1.0, float(want.abs().max()) if want.numel() else 0.0)
        torch.testing.assert_close(gradient.double(), want, rtol=1e-4, atol=2e-5 * scale)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 9), st.integers(1, 40))
def test_fused_scan_is_the_reference(kernels: FusedKernels, seed: int, batch: int, tokens: int) -> None:
    assert_agrees(kernels.scan, selective_scan_reference, scan_inputs(seed, batch, tokens))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 9), st.integers(1, 40))
def test_fused_convolution_is_the_reference(kernels: FusedKernels, seed: int, batch: int, tokens: int) -> None:
    assert_agrees(kernels.convolve, causal_conv_silu_reference, conv_inputs(seed, batch, tokens))


@pytest.mark.parametrize(("channels", "states"), [(128, 16), (24, 8), (20, 4)])
def test_other_channels_and_states(channels: int, states: int) -> None:
    """16, 8 and 4 lanes."""
    kernels = FusedKernels(channels, states, TAPS)
    inputs = scan_inputs(3, 4, 13, channels=channels, states=states)
    assert_agrees(kernels.scan, selective_scan_reference, inputs)


@pytest.mark.parametrize("cut", [0, 1, 2, 5, 8])
def test_a_resumed_scan_goes_on_where_the_prefix_ended(kernels: FusedKernels, cut: int) -> None:
    """One prefix, the same for all sequences, then the rest by the fused route: as if never cut."""
    u, delta, A, B, C, D, z = (each.float() for each in scan_inputs(11, 1, 8))
    whole = selective_scan_reference(u, delta, A, B, C, D, z)
    _, state = scan_with_state(u[:, :cut], delta[:, :cut], A, B[:, :cut], C[:, :cut], D, z[:, :cut])
    rest = [each[:, cut:].expand(3, -1, -1) for each in (u, delta, B, C, z)]
    found = kernels.scan(rest[0], rest[1], A, rest[2], rest[3], D, rest[4], state[0])
    torch.testing.assert_close(found, whole[:, cut:].expand(3, -1, -1), rtol=1e-4, atol=1e-5)

    x, weight, bias = (each.float() for each in conv_inputs(11, 1, 8))
    whole = causal_conv_silu_reference(x, weight, bias)
    history = torch.nn.functional.pad(x[0, :cut], (0, 0, TAPS - 1, 0))[cut:]
    for convolve in (kernels.convolve, causal_conv_silu_reference):
        found = convolve(x[:, cut:].expand(3, -1, -1), weight, bias, history)
        torch.testing.assert_close(found, whole[:, cut:].expand(3, -1, -1), rtol=1e-4, atol=1e-5)


def test_a_resumed_scan_refuses_to_give_wrong_gradients(kernels: FusedKernels) -> None:
    inputs = float32_views(scan_inputs(0, 2, 3))
    with pytest.raises(RuntimeError, match="resumed"):
        kernels.scan(*inputs, torch.zeros(CHANNELS, STATES)).sum().backward()
    x, weight, bias = float32_views(conv_inputs(0, 2, 3))
    with pytest.raises(RuntimeError, match="resumed"):
        kernels.convolve(x, weight, bias, torch.zeros(TAPS - 1, CHANNELS)).sum().backward()


def test_extreme_steps_stay_finite_and_exact(kernels: FusedKernels) -> None:
    """Decays that underflow, steps that vanish, gates that saturate."""
    inputs = scan_inputs(5, 2, 6)
    inputs[1] = inputs[1] * 40
    inputs[6] = inputs[6] * 60
    assert_agrees(kernels.scan, selective_scan_reference, inputs)


@pytest.mark.parametrize(("batch", "tokens"), [(0, 5), (3, 0)])
def test_empty_batches(kernels: FusedKernels, batch: int, tokens: int) -> None:
    inputs = float32_views(scan_inputs(0, batch, tokens))
    y = kernels.scan(*inputs)
    assert y.shape == (batch, tokens, CHANNELS)
    assert not torch.autograd.grad(y.sum(), inputs)[2].any()


def test_reference_gradients_are_right() -> None:
    inputs = [each.clone().requires_grad_() for each in scan_inputs(2, 2, 4, channels=4, states=2)]
    assert torch.autograd.gradcheck(selective_scan_reference, inputs)
    exact = [each.clone().requires_grad_() for each in conv_inputs(2, 2, 5)]
    assert torch.autograd.gradcheck(causal_conv_silu_reference, exact, fast_mode=True)


def test_onednn_projection_is_linear() -> None:
    g = torch.Generator().manual_seed(0)
    weight, bias = torch.randn(36, 64, generator=g), torch.randn(36, generator=g)
    for batch, tokens in ((1, 1), (1, 7), (5, 3), (0, 4)):
        x = torch.randn(batch, tokens, 64, generator=g)
        found = project_onednn(x, weight, bias)
        torch.testing.assert_close(found, project_linear(x, weight, bias))
        assert found.is_contiguous()


def test_routes() -> None:
    sizes = {"channels": CHANNELS, "states": STATES, "taps": TAPS}
    assert choose_ops("auto", "cpu", **sizes).name == "fused"
    assert choose_ops("auto", "cpu", channels=6, states=2, taps=2).name == "reference"
    assert choose_ops("reference", "cpu", **sizes).name == "reference"
    for route, device in (("cuda", "cpu"), ("fused", "cuda"), ("warp", "cpu")):
        with pytest.raises(UserError) as refused:
            choose_ops(route, device, **sizes)
        assert refused.value.stage == "cost model"
    with pytest.raises(UserError, match="multiple of 4"):
        choose_ops("fused", "cpu", channels=6, states=2, taps=2)


def test_copies_share_kernels(kernels: FusedKernels) -> None:
    assert copy.deepcopy(kernels) is kernels


def test_threads_that_ask_at_once_are_given_one_kernel() -> None:
    asked = FusedKernels(channels=20, states=6, taps=3)
    together = Barrier(2)

    def ask(_: int) -> tuple[object, object]:
        together.wait(timeout=10)
        return asked.scan_forward, asked.conv_forward

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(ask, range(2))
    assert first[0] is second[0]
    assert first[1] is second[1]
