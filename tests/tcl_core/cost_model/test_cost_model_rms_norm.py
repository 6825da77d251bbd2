"""The normalisation against torch's own, forward and backward."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tcl_core.cost_model.rms_norm import RmsNorm


@pytest.mark.parametrize("shape", [(3, 5, 16), (7, 16), (1, 1, 16), (0, 4, 16)])
def test_it_is_that_of_torch(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    theirs, ours = nn.RMSNorm(16, eps=1e-5), RmsNorm(16)
    nn.init.normal_(theirs.weight)
    ours.load_state_dict(theirs.state_dict(), strict=True)
    x = torch.randn(shape) * 3
    one, other = x.clone().requires_grad_(), x.clone().requires_grad_()
    upstream = torch.randn(shape)
    found, wanted = ours(one), theirs(other)
    torch.testing.assert_close(found, wanted)
    found.backward(upstream)
    wanted.backward(upstream)
    torch.testing.assert_close(one.grad, other.grad)
    torch.testing.assert_close(ours.weight.grad, theirs.weight.grad)


def test_zeros_stay_zeros() -> None:
    x = torch.zeros(2, 16, requires_grad=True)
    found = RmsNorm(16)(x)
    found.sum().backward()
    assert not found.any()
    assert x.grad is not None
    assert torch.isfinite(x.grad).all()
