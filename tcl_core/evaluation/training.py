"""From a dataset to a trained model, and from a model to ranked networks: what every table repeats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from tcl_core.batches import FeatureBatch, Prediction
from tcl_core.cost_model.base import CostModel
from tcl_core.dataset.base import DatasetNetwork
from tcl_core.evaluation.groups import Groups, Reads
from tcl_core.evaluation.metrics import RankedNetwork, RankedTask

Predict = Callable[[FeatureBatch], Prediction]


def predict_group(predict: Predict, batches: Sequence[FeatureBatch]) -> Prediction:
    """One answer over the concatenation of a group's batches; at least one."""
    answers = [predict(batch) for batch in batches]
    return Prediction(
        scores=np.concatenate([answer.scores for answer in answers]),
        spread=np.concatenate([answer.spread for answer in answers]),
        embeddings=np.concatenate([answer.embeddings for answer in answers]),
    )


def rank_networks(
    predict: Predict,
    groups: Groups,
    platform: str,
    networks: Sequence[DatasetNetwork],
    task_keys: Iterable[str],
    *,
    reads: Reads = "tokens",
) -> tuple[RankedNetwork, ...]:
    """Rank the measured candidates of the networks' tasks, as far as they are among `task_keys`.

    Tasks of which nothing succeeded on the platform have no best and are left out, and so are networks without a task.
    """
    wanted = [key for key in dict.fromkeys(task_keys) if groups.has(key, platform)]
    groups.prepare(wanted, platform, reads)
    ranked = {key: _rank(predict, groups, key, platform, reads) for key in wanted}
    return ranked_networks(networks, ranked)


def ranked_networks(networks: Sequence[DatasetNetwork], ranked: Mapping[str, RankedTask]) -> tuple[RankedNetwork, ...]:
    """The networks with their ranked tasks, as far as they have any."""
    found = (
        RankedNetwork(
            name=network.name, tasks=tuple((weight, ranked[key]) for key, weight in network.weights if key in ranked)
        )
        for network in networks
    )
    return tuple(network for network in found if network.tasks)


def rank_with(
    model: CostModel, groups: Groups, platform: str, networks: Sequence[DatasetNetwork], task_keys: Iterable[str]
) -> tuple[RankedNetwork, ...]:
    """`rank_networks` by a cost model, with the features it reads."""
    return rank_networks(model.predict, groups, platform, networks, task_keys, reads=model.reads)


def distinct_tasks(networks: Sequence[RankedNetwork]) -> list[RankedTask]:
    """Every ranked task once, for figures without weights."""
    return list({task.task_key: task for network in networks for _, task in network.tasks}.values())


def _rank(predict: Predict, groups: Groups, task_key: str, platform: str, reads: Reads) -> RankedTask:
    batches = groups.group(task_key, platform, reads=reads).batches
    return RankedTask(
        task_key=task_key,
        scores=predict_group(predict, batches).scores,
        latencies_s=groups.latencies_s(task_key, platform),
    )
