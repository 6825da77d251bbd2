"""Candidates scored a second, from decision vectors to scores: what a search pays for an answer of this model.

A model on tokens pays features and prediction; one that reads schedules pays replay, postprocessing, per-store features
and prediction for every candidate. Illegal candidates count: their replay was paid for as well.
"""

from __future__ import annotations

import statistics
import time

import numpy as np

from tcl_core.cost_model.base import CostModel
from tcl_core.dataset.base import Dataset
from tcl_core.domain import Sketch
from tcl_core.features import TokenTemplate, platform_features
from tcl_core.search.population import DecisionSpace

_TOKEN_BATCH, _TOKEN_REPEATS = 1024, 5
_SCHEDULE_BATCH = 32


def scored_per_second(model: CostModel, dataset: Dataset, task_key: str, platform: str, seed: int) -> float:
    """Of a trained model, on random candidates of the task's largest sketch. The clock is read: not repeatable."""
    sketch = max(dataset.sketches[task_key, platform], key=lambda one: DecisionSpace(one).size)
    if model.reads == "schedules":
        return _schedules_per_second(model, dataset, sketch, platform, seed)
    return _tokens_per_second(model, dataset, sketch, platform, seed)


def _tokens_per_second(model: CostModel, dataset: Dataset, sketch: Sketch, platform: str, seed: int) -> float:
    """Median over repeats, after one that warms up."""
    context = (dataset.tasks[sketch.task_key], platform_features(dataset.platforms[platform]))
    template, space = TokenTemplate(sketch, *context), DecisionSpace(sketch)
    population = space.population(space.random(_TOKEN_BATCH, np.random.default_rng(seed)))
    rates = []
    for _ in range(1 + _TOKEN_REPEATS):
        start = time.perf_counter()
        model.predict(template.featurise(population))
        rates.append(_TOKEN_BATCH / (time.perf_counter() - start))
    return statistics.median(rates[1:])


def _schedules_per_second(model: CostModel, dataset: Dataset, sketch: Sketch, platform: str, seed: int) -> float:
    from tcl_core.space.design_space import DesignSpace

    space = DesignSpace(dataset.tasks[sketch.task_key], dataset.platforms[platform].target_json)
    decisions = DecisionSpace(sketch)
    rates = []
    for repeat in range(2):
        generator = np.random.default_rng([seed, repeat])
        candidates = decisions.candidates(decisions.random(_SCHEDULE_BATCH, generator))
        start = time.perf_counter()
        batch, legal = space.schedules(candidates)
        if legal:
            model.predict(batch)
        rates.append(len(candidates) / (time.perf_counter() - start))
    return rates[-1]
