"""A small dataset of real sketches with a known truth: two platforms, three networks, failures, repeats."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tcl_core.config import CostModelConfig, LearnerConfig, ModelConfig, OfflineConfig
from tcl_core.dataset.base import Dataset, DatasetNetwork, Measured, Split
from tcl_core.domain import Candidate, Failure, Platform, Sketch, Stage, Task
from tcl_core.evaluation.context import Context, EvaluationConfig
from tcl_core.search.population import DecisionSpace
from tcl_core.space.design_space import DesignSpace

STRONG, WEAK = "strong", "weak"
TRAIN, VALIDATION, TEST = ("a", "b", "c"), ("v",), ("t", "u")
PER_TASK = 24
TINY = CostModelConfig(model=ModelConfig(width=8, layers=1, state=4, heads=2))
QUICK = OfflineConfig(epochs=2, patience=2)


def slowness(candidate: Candidate, best: float) -> float:
    """Seconds: tiles whose innermost factor is near 2 ** best are fast."""
    tiles = [decision for decision in candidate.decisions if len(decision) > 1]
    return 1e-4 * (1 + sum(abs(math.log2(tile[-1]) - best) for tile in tiles))


def measured(sketches: tuple[Sketch, ...], platform: str, count: int, seed: int) -> tuple[Measured, ...]:
    """Random candidates over the sketches; every eighth fails, every sixth was measured twice, 3 % slower."""
    generator = np.random.default_rng(seed)
    found: dict[Candidate, Measured] = {}
    while len(found) < count:
        space = DecisionSpace(sketches[len(found) % len(sketches)])
        (candidate,) = space.candidates(space.random(1, generator))
        latency_s = slowness(candidate, best=1.0 if platform == WEAK else 3.0)
        index = len(found)
        failure = Failure(stage=Stage.MEASURE, cause="timeout") if index % 8 == 7 else None
        found[candidate] = Measured(
            candidate=candidate,
            platform=platform,
            latencies_s=() if failure else (latency_s,),
            failure=failure,
            cut_off=index % 3 == 1,
            repeated_s=(1.03 * latency_s,) if index % 6 == 0 else (),
        )
    return tuple(found.values())


@pytest.fixture(scope="session")
def dataset(matmul_task: Task, cpu_platform: Platform) -> Dataset:
    """One matrix product under six names: three teach, one validates, two test; "a" is in a test network, too."""
    sketches = DesignSpace(matmul_task, cpu_platform.target_json).sketches
    keys = (*TRAIN, *VALIDATION, *TEST)
    platforms = {
        name: replace(
            cpu_platform,
            fingerprint=name,
            name=f"{name} CPU",
            features=replace(cpu_platform.features, vector_bits=bits),
        )
        for name, bits in ((STRONG, 512), (WEAK, 128))
    }
    own = {(key, p): tuple(replace(s, task_key=key) for s in sketches) for key in keys for p in platforms}
    return Dataset(
        digest="d" * 64,
        platforms=platforms,
        networks=tuple(
            DatasetNetwork(name=name, digest=name, source="", split=split, weights=weights)
            for name, split, weights in (
                ("teaching", Split.TRAIN, (("a", 1), ("b", 2), ("c", 1), ("t", 5))),
                ("choosing", Split.VALIDATION, (("v", 1), ("u", 1))),
                ("testing", Split.TEST, (("t", 3), ("u", 1))),
                ("testing too", Split.TEST, (("u", 2),)),
            )
        ),
        tasks={key: replace(matmul_task, key=key, name=key) for key in keys},
        sketches=own,
        records={
            (key, p): measured(own[key, p], p, PER_TASK + 4 * (p == STRONG), seed) for seed, (key, p) in enumerate(own)
        },
    )


@pytest.fixture(scope="session")
def config() -> EvaluationConfig:
    """Tiny models, two passes."""
    return EvaluationConfig(
        models=("mamba", "random"),
        cost_model=TINY,
        offline=QUICK,
        learner=LearnerConfig(progress=QUICK, compress=QUICK, adapter=4, probes=1),
        shares=(0.1, 0.2),
        samplers=("rdu", "random"),
        transfer_shares=(0.1,),
        platform_share=0.5,
        known_share=0.5,
        processes=1,
    )


@pytest.fixture
def make_context(dataset: Dataset, config: EvaluationConfig, tmp_path: Path) -> Callable[..., Context]:
    """A context over the small dataset, or another one; settings by keyword."""

    def make(given: Dataset = dataset, **changes: object) -> Context:
        return Context(given, replace(config, **changes), tmp_path / "cache")  # type: ignore[arg-type]

    return make
