"""The oneDNN projection against `linear`: outputs and all gradients, also on strided inputs."""

from __future__ import annotations

import pytest
import torch

from tcl_core.cost_model.projection import project_linear, project_onednn


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("strided", [False, True])
def test_both_projections_have_the_same_gradients(biased: bool, strided: bool) -> None:
    torch.manual_seed(0)
    wide = torch.randn(3, 5, 16)
    weight, bias, up = torch.randn(4, 8), torch.randn(4), torch.randn(3, 5, 4)
    results = []
    for project in (project_linear, project_onednn):
        leaves = [wide.clone().requires_grad_(), weight.clone().requires_grad_(), bias.clone().requires_grad_()]
        x = leaves[0][..., 8:] if strided else leaves[0][..., :8].contiguous()
        out = project(x, leaves[1], leaves[2] if biased else None)
        out.backward(up)
        results.append((out.detach(), *(leaf.grad for leaf in leaves[: 3 if biased else 2])))
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other)


def test_a_constant_input_needs_no_gradient() -> None:
    weight = torch.randn(4, 8, requires_grad=True)
    project_onednn(torch.randn(2, 3, 8), weight).sum().backward()
    assert weight.grad is not None
