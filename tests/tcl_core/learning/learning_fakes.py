"""Synthetic platforms with a known truth: the same tasks, ranked by each platform in its own way."""

from __future__ import annotations

import numpy as np

from tcl_core.batches import FeatureLayout, TaskGroup, TokenBatch
from tcl_core.config import CostModelConfig, LearnerConfig, ModelConfig, OfflineConfig
from tcl_core.events import CancelToken
from tcl_core.learning import PlatformData, PlatformLearner

LAYOUT = FeatureLayout(version=1, kinds=12, fields=6, task=4, platform=3)
COST_MODEL = CostModelConfig(model=ModelConfig(width=16, layers=2, state=4, heads=3))
OFFLINE = OfflineConfig(epochs=14, patience=14, learning_rate=5e-3)
LEARNER = LearnerConfig(progress=OFFLINE, compress=OFFLINE, adapter=4)
QUICK = OfflineConfig(epochs=2, learning_rate=5e-3)
QUICK_LEARNER = LearnerConfig(progress=QUICK, compress=QUICK, adapter=4, probes=1)

OPTIMA = {"a": (0.25, 0.75, 0.5), "b": (0.75, 0.4, 0.5), "c": (0.5, 0.1, 0.9)}
"""Where each platform's fastest candidate lies in three decided fields."""
TOKENS = {"a": (1.0, 0.0, 0.2), "b": (0.0, 1.0, 0.5), "c": (0.0, 0.2, 1.0)}


class StopAfter(CancelToken):
    """Stopped at the n-th checkpoint."""

    def __init__(self, checkpoints: int) -> None:
        super().__init__()
        self._left = checkpoints

    def checkpoint(self) -> None:
        self._left -= 1
        if self._left < 0:
            self.stop()
        super().checkpoint()


def token_batch(platform: str, task: int, count: int, seed: int, tokens: int = 6) -> TokenBatch:
    """Candidates of one sketch: three fields vary, as decisions do."""
    sketch = np.random.default_rng([task, tokens])
    fields = np.tile(sketch.random((1, tokens, LAYOUT.fields), np.float32) / 4, (count, 1, 1))
    fields[:, 2:5, 0] = np.random.default_rng([seed, task, tokens]).integers(0, 9, (count, 3)).astype(np.float32) / 8
    return TokenBatch(
        kinds=sketch.integers(0, LAYOUT.kinds, tokens).astype(np.int32),
        fields=fields,
        task=np.random.default_rng(task).random(LAYOUT.task, np.float32),
        platform=np.array(TOKENS[platform], np.float32),
    )


def labels_of(platform: str, batches: tuple[TokenBatch, ...]) -> np.ndarray:
    """Speeds in (0, 1]: best where the decided fields lie at the platform's optimum."""
    decided = np.concatenate([batch.fields[:, 2:5, 0] for batch in batches])
    latency = 1 + 6 * ((decided - np.array(OPTIMA[platform])) ** 2).sum(axis=1)
    return (latency.min() / latency).astype(np.float32)


def token_group(platform: str, task: int, count: int = 32, seed: int = 0) -> TaskGroup:
    batches = (token_batch(platform, task, count - count // 4, seed), token_batch(platform, task, count // 4, seed, 7))
    return TaskGroup(task_key=f"task {task}", batches=batches, labels=labels_of(platform, batches))


def platform_data(platform: str, tasks: int = 16, count: int = 32, unlabelled: int = 0) -> PlatformData:
    return PlatformData(
        platform=platform,
        groups=tuple(token_group(platform, task, count) for task in range(tasks)),
        validation=tuple(token_group(platform, 100 + task, 48, seed=1) for task in range(4)),
        unlabelled=tuple(token_batch(platform, 200 + task, 16, seed=2) for task in range(unlabelled)),
    )


def top1(learner: PlatformLearner, platform: str, tasks: int = 8) -> float:
    """Mean label of the first-ranked of fresh candidates of fresh tasks."""
    found = []
    for task in range(tasks):
        group = token_group(platform, 300 + task, 64, seed=3)
        scores = np.concatenate([learner.predict(platform, batch).scores for batch in group.batches])
        found.append(group.labels[int(np.argmax(scores))])
    return float(np.mean(found))


def rank_correlation(learner: PlatformLearner, platform: str, tasks: int = 8) -> float:
    """Mean Spearman's rho of scores against labels, on the same candidates as `top1`."""
    found = []
    for task in range(tasks):
        group = token_group(platform, 300 + task, 64, seed=3)
        scores = np.concatenate([learner.predict(platform, batch).scores for batch in group.batches])
        ranks = [np.argsort(np.argsort(values)) for values in (scores, group.labels)]
        found.append(float(np.corrcoef(*ranks)[0, 1]))
    return float(np.mean(found))
