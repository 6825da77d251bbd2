"""The arithmetic of a score, counted from the network and by hand."""

from __future__ import annotations

from tcl_core.config import CostModelConfig, ModelConfig
from tcl_core.cost_model.arithmetic import candidate_flops, token_flops
from tcl_core.cost_model.mamba_model import MambaModel
from tcl_core.features import LAYOUT


def ranker(**sizes: int):
    return MambaModel(CostModelConfig(scan="reference", model=ModelConfig(**sizes)), LAYOUT, 0).ranker


def test_a_token_is_counted_operation_by_operation() -> None:
    width, states, taps, channels, rank = 32, 8, 4, 64, 2
    block = (
        2 * width * 2 * channels  # in_proj
        + 2 * taps * channels
        + 2 * channels * (rank + 2 * states)  # x_proj
        + 2 * rank * channels  # dt_proj
        + 7 * channels * states  # scan
        + 2 * channels * width  # out_proj
    )
    counted = token_flops(ranker(width=width, layers=3, state=states, convolution=taps, expand=2, heads=5))
    assert counted == 2 * LAYOUT.fields * width + 3 * block


def test_a_candidate_pays_its_heads_once() -> None:
    assert candidate_flops(ranker(width=32, heads=5)) == 2 * 32 * 5 * 16 + 2 * 5 * 16
