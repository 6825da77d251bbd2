import subprocess
import sys

import torch
from torch import Tensor, nn

from tcl_core.cost_model.adam import Adam

SHAPES = ((3, 5), (7,), (2, 2))


def parameters(seed: int) -> list[nn.Parameter]:
    generator = torch.Generator().manual_seed(seed)
    return [nn.Parameter(torch.randn(shape, generator=generator)) for shape in SHAPES]


def draw_gradients(ours: list[nn.Parameter], theirs: list[nn.Parameter], generator: torch.Generator) -> None:
    """Give both the same random gradients."""
    for one, other in zip(ours, theirs, strict=True):
        gradient: Tensor = torch.randn(one.shape, generator=generator)
        one.grad, other.grad = gradient.clone(), gradient.clone()


def test_it_steps_as_torch_to_the_bit() -> None:
    ours, theirs = parameters(0), parameters(0)
    adam = Adam([(ours[:2], 0.1), (ours[2:], 0.0)], 0.01)
    reference = torch.optim.Adam(
        [{"params": theirs[:2], "weight_decay": 0.1}, {"params": theirs[2:], "weight_decay": 0.0}], lr=0.01, fused=True
    )
    generator = torch.Generator().manual_seed(1)
    for step in range(12):
        rate = 0.01 / (1 + step)
        adam.rate = rate
        for group in reference.param_groups:
            group["lr"] = rate
        draw_gradients(ours, theirs, generator)
        if step < 4:
            ours[2].grad = theirs[2].grad = None  # what has no gradient yet is not moved
        adam.step()
        reference.step()
        for one, other in zip(ours, theirs, strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=0)


def test_after_forgetting_it_steps_like_a_new_one() -> None:
    ours, theirs = parameters(0), parameters(0)
    adam, generator = Adam([(ours, 0.0)], 0.01), torch.Generator().manual_seed(1)
    draw_gradients(ours, theirs, generator)
    adam.step()
    adam.forget()
    with torch.no_grad():
        for one, other in zip(ours, theirs, strict=True):
            other.copy_(one)
    draw_gradients(ours, theirs, generator)
    adam.step()
    Adam([(theirs, 0.0)], 0.01).step()
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


def test_a_model_learns_without_torchs_compiler() -> None:
    code = """
import sys
import numpy as np
from tcl_core.batches import TaskGroup, TokenBatch
from tcl_core.config import CostModelConfig
from tcl_core.cost_model import make_cost_model
from tcl_core.features import LAYOUT
generator = np.random.default_rng(0)
batch = TokenBatch(
    kinds=np.zeros(4, np.int64), fields=generator.random((8, 4, LAYOUT.fields), np.float32),
    task=np.zeros(LAYOUT.task, np.float32), platform=np.zeros(LAYOUT.platform, np.float32),
)
model = make_cost_model(CostModelConfig(), LAYOUT, 0)
group = TaskGroup(task_key="task", batches=(batch,), labels=np.linspace(0.1, 1.0, 8, dtype=np.float32))
assert model.fit([group]).loss is not None
sys.exit("torch._dynamo" in sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
