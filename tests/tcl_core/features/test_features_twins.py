"""The batch featuriser against its slow twin, on replayed traces of real sketches, for CPU and CUDA."""

from __future__ import annotations

import numpy as np
import pytest

from tcl_core.batches import Population
from tcl_core.domain import Candidate, Platform, Replay, Task
from tcl_core.features import LAYOUT, TokenTemplate, platform_features, task_features
from tcl_core.features.reference import trace_tokens
from tcl_core.features.vocabulary import UNKNOWN_KIND
from tcl_core.space.design_space import DesignSpace
from tests.tcl_core.conftest import CPU_TARGET, CUDA_TARGET


@pytest.mark.parametrize("target", [CPU_TARGET, CUDA_TARGET], ids=["cpu", "cuda"])
@pytest.mark.parametrize("name", ["matmul_task", "softmax_task", "copy_task", "scalar_task"])
def test_both_paths_agree(request: pytest.FixtureRequest, name: str, target: str, cpu_platform: Platform) -> None:
    task: Task = request.getfixturevalue(name)
    space = DesignSpace(task, target)
    generator = np.random.default_rng(0)
    compared = 0
    for sketch in space.sketches:
        template = TokenTemplate(sketch, task_features(task), platform_features(cpu_platform))
        assert template.dropped == 0
        for _ in range(400):
            decisions = tuple(domain.values[generator.integers(len(domain.values))] for domain in sketch.domains)
            replay = space.replay(Candidate(task.key, sketch.index, decisions))
            if not isinstance(replay, Replay):
                continue
            pairs = list(zip(sketch.domains, replay.candidate.decisions, strict=True))
            if not all(decision in domain.values for domain, decision in pairs):
                continue
            choices = np.array([[domain.values.index(decision) for domain, decision in pairs]], np.int32)
            batch = template.featurise(Population(sketch=sketch.index, choices=choices.reshape(1, -1)))
            kinds, fields = trace_tokens(replay.trace_json)
            assert np.array_equal(batch.kinds, kinds)
            assert np.array_equal(batch.fields[0], fields)
            assert UNKNOWN_KIND not in kinds
            compared += 1
            if compared % 4 == 0:
                break
    assert compared >= 1


def test_context_tokens_have_the_widths_of_the_layout(matmul_task: Task, cpu_platform: Platform) -> None:
    assert task_features(matmul_task).shape == (LAYOUT.task,)
    assert platform_features(cpu_platform).shape == (LAYOUT.platform,)
    assert np.isfinite(task_features(matmul_task)).all()
    assert np.abs(platform_features(cpu_platform)).max() < 10
