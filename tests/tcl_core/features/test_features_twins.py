"""The batch featuriser against its slow twin, on replayed traces of real sketches, for CPU and CUDA."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from tcl_core.batches import FloatArray, Population
from tcl_core.config import NetworkConfig
from tcl_core.domain import Access, Candidate, Platform, Replay, Sketch, Task
from tcl_core.features import LAYOUT, TokenTemplate, platform_features, task_features
from tcl_core.features.context import Hardware
from tcl_core.features.reference import trace_tokens
from tcl_core.features.vocabulary import FIELDS, TASK_ARGUMENTS, UNKNOWN_KIND, Field
from tcl_core.network.importer import import_network
from tcl_core.network.load import load_network
from tcl_core.network.sample import sample_path
from tcl_core.space.design_space import DesignSpace
from tests.tcl_core.conftest import CPU_TARGET, CUDA_TARGET


def compared(
    space: DesignSpace, sketch: Sketch, platform: Platform, generator: np.random.Generator, most: int
) -> Iterator[FloatArray]:
    """Fields of at most so many random candidates that replay as they are, the same on both paths."""
    template = TokenTemplate(sketch, space.task, platform_features(platform))
    assert template.dropped == 0
    for _ in range(400):
        decisions = tuple(domain.values[generator.integers(len(domain.values))] for domain in sketch.domains)
        replay = space.replay(Candidate(space.task.key, sketch.index, decisions))
        if not isinstance(replay, Replay):
            continue
        pairs = list(zip(sketch.domains, replay.candidate.decisions, strict=True))
        if not all(decision in domain.values for domain, decision in pairs):
            continue
        choices = np.array([[domain.values.index(decision) for domain, decision in pairs]], np.int32)
        batch = template.featurise(Population(sketch=sketch.index, choices=choices.reshape(1, -1)))
        kinds, fields = trace_tokens(replay.trace_json, space.task, platform_features(platform))
        assert np.array_equal(batch.kinds, kinds)
        assert np.array_equal(batch.fields[0], fields)
        assert UNKNOWN_KIND not in kinds
        yield fields
        most -= 1
        if not most:
            return


@pytest.mark.parametrize("target", [CPU_TARGET, CUDA_TARGET], ids=["cpu", "cuda"])
@pytest.mark.parametrize("name", ["matmul_task", "softmax_task", "copy_task", "scalar_task"])
def test_both_paths_agree(request: pytest.FixtureRequest, name: str, target: str, cpu_platform: Platform) -> None:
    space = DesignSpace(request.getfixturevalue(name), target)
    generator = np.random.default_rng(0)
    assert any([*compared(space, sketch, cpu_platform, generator, 4)] for sketch in space.sketches)


def test_both_paths_agree_on_a_network(cpu_platform: Platform) -> None:
    network = import_network(load_network(sample_path(), NetworkConfig()), CPU_TARGET, NetworkConfig())
    generator = np.random.default_rng(0)
    shown = []
    for task in network.tasks:
        space = DesignSpace(task, CPU_TARGET)
        found = [fields for sketch in space.sketches for fields in compared(space, sketch, cpu_platform, generator, 1)]
        shown.append(np.any([fields.any(axis=0) for fields in found], axis=0))
    for field in (Field.PRODUCT, Field.BALANCE, Field.OUTER + 1, Field.LEVEL_BYTES, Field.BROUGHT, Field.BROUGHT_RATES):
        assert np.mean([each[field] for each in shown]) > 1 / 3, f"field {field} is rarely known"


def test_no_candidate_has_no_fields(cpu_platform: Platform) -> None:
    network = import_network(load_network(sample_path(), NetworkConfig()), CPU_TARGET, NetworkConfig())
    for task in network.tasks:
        for sketch in DesignSpace(task, CPU_TARGET).sketches:
            template = TokenTemplate(sketch, task, platform_features(cpu_platform))
            none = Population(sketch=sketch.index, choices=np.zeros((0, len(sketch.domains)), np.int32))
            assert template.featurise(none).fields.shape == (0, len(template.kinds), FIELDS)


def test_a_batch_is_its_candidates_one_by_one(matmul_task: Task, cpu_platform: Platform) -> None:
    generator = np.random.default_rng(0)
    for sketch in DesignSpace(matmul_task, CPU_TARGET).sketches:
        template = TokenTemplate(sketch, matmul_task, platform_features(cpu_platform))
        choices = np.stack([generator.integers(len(domain.values), size=9) for domain in sketch.domains], axis=1)
        population = Population(sketch=sketch.index, choices=choices.astype(np.int32))
        together = template.featurise(population).fields
        for row, fields in enumerate(together):
            alone = Population(sketch=sketch.index, choices=population.choices[row : row + 1])
            assert np.array_equal(template.featurise(alone).fields[0], fields)


def test_context_tokens_have_the_widths_of_the_layout(matmul_task: Task, cpu_platform: Platform) -> None:
    assert task_features(matmul_task).shape == (LAYOUT.task,)
    assert platform_features(cpu_platform).shape == (LAYOUT.platform,)
    assert np.isfinite(task_features(matmul_task)).all()
    assert np.abs(platform_features(cpu_platform)).max() < 10


def test_arguments_are_shown_by_their_bytes(matmul_task: Task) -> None:
    first = LAYOUT.task - TASK_ARGUMENTS - 1
    left, right, *others, result = task_features(matmul_task)[first:]
    for found, count in ((left, 64 * 96), (right, 96 * 48), (result, 64 * 48)):
        assert found == pytest.approx(math.log2(1 + 4 * count) / 16)
    assert others == [0.0] * 3


@pytest.mark.parametrize("dtype", ["bool", "int16", "uint16", "uint32", "uint64", "int64", "float16", "float64"])
def test_elements_are_as_wide_as_their_type(matmul_task: Task, dtype: str) -> None:
    size = np.dtype(dtype).itemsize
    arguments = tuple(replace(argument, dtype=dtype) for argument in matmul_task.arguments)
    found = task_features(replace(matmul_task, dtype=dtype, arguments=arguments))
    assert found[3] == size / 4
    assert found[-1] == pytest.approx(math.log2(1 + size * 64 * 48) / 16)


def test_threads_and_caches_are_read_back_from_the_token(cpu_platform: Platform) -> None:
    told = Hardware.told_by(platform_features(cpu_platform))
    assert told.threads == cpu_platform.threads
    assert told.caches == pytest.approx((cpu_platform.features.l1_bytes, cpu_platform.features.l2_bytes), rel=1e-4)
    assert Hardware.told_by(np.zeros(LAYOUT.platform, np.float32)) == Hardware(threads=0, caches=(0.0, 0.0))


def test_a_token_of_zeros_hides_the_platform(matmul_task: Task, cpu_platform: Platform) -> None:
    sketch = DesignSpace(matmul_task, CPU_TARGET).sketches[0]
    pairs = ((0, 2), (2, 1), (0, 1))
    accesses = tuple(Access(bytes=4.0, spans=(((one, 1.0),), ((other, 1.0),))) for one, other in pairs)
    task = replace(matmul_task, anchor="T_matmul", accesses=accesses)
    population = Population(sketch=0, choices=np.zeros((1, len(sketch.domains)), np.int32))
    token = platform_features(cpu_platform)
    smaller = token * 0.7
    told, otherwise, blind = (
        TokenTemplate(sketch, task, each).featurise(population).fields for each in (token, smaller, 0 * token)
    )
    hidden = [Field.BALANCE, Field.SHARE, *range(Field.BROUGHT, Field.PRODUCT_FILLED)]
    differ = set(np.flatnonzero((told != otherwise).any(axis=(0, 1))))
    assert {Field.SHARE, Field.BROUGHT} <= differ <= {*hidden}
    assert not blind[..., hidden].any()
