"""Candidates scored a second, features and model: ours against stock's features and xgb, and the machine's limit."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tcl_core.batches import Population, TaskGroup
from tcl_core.bench.result import BenchResult, Series, paired_ratio
from tcl_core.bench.subject import IMPORTED, SUBJECT, write_convolution
from tcl_core.config import CostModelConfig
from tcl_core.cost_model import make_cost_model
from tcl_core.cost_model.arithmetic import candidate_flops, token_flops
from tcl_core.cost_model.base import CostModel
from tcl_core.cost_model.mamba_model import MambaModel, shared_tokens
from tcl_core.features import LAYOUT, TokenTemplate, platform_features
from tcl_core.search.population import DecisionSpace
from tcl_core.space.design_space import DesignSpace
from tcl_core.tuner import open_network

BATCH, STOCK_BATCH = 1024, 48
BATCHES, REPEATS = 8, 7
GOAL = 100.0


def run(report: Callable[[str], None]) -> BenchResult:
    """Interleave both on random candidates of every sketch of the task."""
    with tempfile.TemporaryDirectory() as folder:
        opened = open_network(str(write_convolution(Path(folder))), "cpu", None, IMPORTED)
    task = max(opened.tasks, key=lambda task: task.flops)
    space = DesignSpace(task, opened.platform.target_json, stock=True)  # nothing of ours in what the peer replays
    context = (task, platform_features(opened.platform))
    templates = [TokenTemplate(sketch, *context) for sketch in space.sketches]
    generator = np.random.default_rng(0)
    spaces = [DecisionSpace(sketch) for sketch in space.sketches]
    populations = [_random(spaces[index % len(spaces)], BATCH, generator) for index in range(BATCHES)]
    mamba = MambaModel(CostModelConfig(), LAYOUT, 0)
    xgb = make_cost_model(CostModelConfig(name="xgb"), LAYOUT, 0)
    _train(mamba, xgb, templates[0], space, spaces[0], generator)
    ours, stock = [], []
    for _ in range(REPEATS):
        ours.append(_rate_ours(mamba, templates, populations))
        stock.append(_rate_stock(xgb, space, spaces[0], generator))
        report(f"ours {ours[-1]:,.0f} /s, stock {stock[-1]:,.0f} /s")
    ratio, spread = paired_ratio(ours, stock)
    rate = statistics.median(ours)
    limit = opened.platform.features.peak_flops / _flops(mamba, templates, populations)
    tokens = max(len(template.kinds) for template in templates)
    return BenchResult(
        name="scoring",
        subject=f"{SUBJECT}; {len(templates)} sketches of up to {tokens} tokens, batches of {BATCH}",
        machine=opened.platform.name,
        goal=f"at least {GOAL:g}x stock's features and xgb",
        series=(
            Series(name="token features + Mamba", unit="candidates/s", values=tuple(ours)),
            Series(name="replay + per-store features + xgb (stock)", unit="candidates/s", values=tuple(stock)),
        ),
        ratio=ratio,
        ratio_spread=spread,
        per_second=rate,
        passed=ratio >= GOAL,
        remarks=(
            ("candidates a second at the machine's measured arithmetic peak", limit),
            ("ours, share of that limit", rate / limit),
        ),
    )


def _random(space: DecisionSpace, count: int, generator: np.random.Generator) -> Population:
    return space.population(space.random(count, generator))


def _flops(model: MambaModel, templates: list[TokenTemplate], populations: list[Population]) -> float:
    """Sums and products that a candidate takes on average; what a batch begins with alike is read once."""
    each = []
    for population in populations:
        fields = templates[population.sketch].featurise(population).fields
        tokens = fields.shape[1] - shared_tokens(fields)
        each.append(tokens * token_flops(model.ranker) + candidate_flops(model.ranker))
    return float(np.mean(each))


def _train(
    mamba: CostModel,
    xgb: CostModel,
    template: TokenTemplate,
    space: DesignSpace,
    decisions: DecisionSpace,
    generator: np.random.Generator,
) -> None:
    """Both models must be trained, or they would answer without computing; the labels do not matter here."""
    population = _random(decisions, STOCK_BATCH, generator)
    labels = generator.random(STOCK_BATCH).astype(np.float32)
    mamba.fit([TaskGroup(task_key="bench", batches=(template.featurise(population),), labels=labels)])
    batch, legal = space.schedules(decisions.candidates(population.choices))
    xgb.fit([TaskGroup(task_key="bench", batches=(batch,), labels=labels[list(legal)])])


def _rate_ours(model: CostModel, templates: list[TokenTemplate], populations: list[Population]) -> float:
    start = time.perf_counter()
    for population in populations:
        model.predict(templates[population.sketch].featurise(population))
    return sum(len(population.choices) for population in populations) / (time.perf_counter() - start)


def _rate_stock(
    model: CostModel, space: DesignSpace, decisions: DecisionSpace, generator: np.random.Generator
) -> float:
    candidates = decisions.candidates(decisions.random(STOCK_BATCH, generator))
    start = time.perf_counter()
    batch, _ = space.schedules(candidates)
    model.predict(batch)
    return len(candidates) / (time.perf_counter() - start)
