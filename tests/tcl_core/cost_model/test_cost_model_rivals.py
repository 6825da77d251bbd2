"""The rivals' networks: TLP's published sizes, attention against torch's own, padding, several tasks in one pass."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from cost_model_fakes import LAYOUT, small_config, token_group
from torch import nn

from tcl_core.config import CostModelConfig
from tcl_core.cost_model import make_cost_model
from tcl_core.cost_model.projection import project_linear, project_onednn
from tcl_core.cost_model.ranker import RankerInput, TokenRanker
from tcl_core.cost_model.training import RankedGroup, group_scores, rank_group
from tcl_core.cost_model.transformer import Attention

NAMES = ("mamba", "transformer", "lstm")


def ranker(name: str) -> TokenRanker:
    model = make_cost_model(small_config(name), LAYOUT, 0)
    network: TokenRanker = model.ranker  # type: ignore[attr-defined]
    return network.eval()


def ranked(seed: int, *tokens: int) -> RankedGroup:
    found = rank_group(token_group(seed, 12, tokens=tokens), heads=4, seed=0, device=torch.device("cpu"))
    assert found is not None
    return found


@pytest.mark.parametrize("project", [project_linear, project_onednn])
def test_attention_is_that_of_torch(project) -> None:
    torch.manual_seed(0)
    theirs, ours = nn.MultiheadAttention(32, 4, batch_first=True).eval(), Attention(32, 4, project).eval()
    ours.load_state_dict(theirs.state_dict(), strict=True)
    nn.init.normal_(theirs.in_proj_bias)
    ours.in_proj_bias.data.copy_(theirs.in_proj_bias)
    x, seen = torch.randn(3, 7, 32), torch.arange(7) < torch.tensor([[7], [5], [1]])
    with torch.inference_mode():
        wanted = theirs(x, x, x, key_padding_mask=~seen, need_weights=False)[0]
        found = ours(x, seen[:, None, None, :])
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_padding_changes_nothing(name: str) -> None:
    network, group = ranker(name), ranked(1, 6)
    given = group.given
    padded = RankerInput(
        kinds_T=nn.functional.pad(given.kinds_T, (0, 4)),
        fields_NTF=nn.functional.pad(given.fields_NTF, (0, 0, 0, 4), value=9.0),
        task_C=given.task_C,
        platform_C=given.platform_C,
        lengths_N=torch.full((len(given.fields_NTF),), 6),
    )
    with torch.inference_mode():
        for found, wanted in zip(network(padded), network(given), strict=True):
            torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_several_tasks_read_at_once_score_as_alone(name: str) -> None:
    network, groups = ranker(name), [ranked(1, 6), ranked(2, 9, 4), ranked(3, 11)]
    other = replace(groups[2].given, task_C=groups[2].given.task_C + 1, platform_C=groups[2].given.platform_C * 2)
    groups[2] = replace(groups[2], given=other)
    with torch.inference_mode():
        together = group_scores(network, groups)
        for group, found in zip(groups, together, strict=True):
            torch.testing.assert_close(found, network(group.given)[0], rtol=1e-4, atol=1e-5)


def test_sizes_are_those_the_method_names() -> None:
    parameters = {name: make_cost_model(CostModelConfig(name=name), LAYOUT, 0).parameters for name in NAMES}
    assert parameters["transformer"] >= 2 * parameters["mamba"]
    assert 0.9 < parameters["lstm"] / parameters["mamba"] < 1.1
    transformer = make_cost_model(CostModelConfig(name="transformer"), LAYOUT, 0).ranker  # type: ignore[attr-defined]
    shapes = [tuple(each.weight.shape) for each in (*transformer.widen, *transformer.residual, *transformer.narrow)]
    assert shapes == [(128, 64), (256, 128), (256, 256), (256, 256), (256, 256), (256, 256), (128, 256), (64, 128)]
    assert [each.heads for each in transformer.attention] == [8]


@pytest.mark.parametrize("name", NAMES)
def test_every_weight_and_input_reaches_the_score(name: str) -> None:
    network, given = ranker(name).train(), ranked(1, 6).given
    for field in (given.fields_NTF, given.task_C, given.platform_C):
        field.requires_grad_()
    network(given)[0].square().sum().backward()
    for tensor in (given.fields_NTF, given.task_C, given.platform_C, *network.parameters()):
        assert tensor.grad is not None
        assert tensor.grad.any()
