"""The top-1 that a perfect ranker of a repeated measurement reaches: what noise leaves of the metric.

Two figures. *Direct*: of the records that were measured twice, the second measurement ranks and the first is what the
choice is judged by, task by task. That needs tasks with two such records at least, and few records make it easy. So
also *simulated*, over all records: each latency is multiplied by a ratio ``second / first`` drawn (with replacement,
by the seed) from those observed on the very tasks that are judged, apart for records that were cut off after one run;
the product ranks, the latency itself judges. Where those tasks have too few repeats, ratios of the whole platform
stand in: records of other networks may have been measured more or less carefully.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tcl_core.dataset.base import DatasetNetwork, Measured
from tcl_core.evaluation.groups import Groups
from tcl_core.evaluation.metrics import RankedTask, Spread, top_k
from tcl_core.evaluation.training import ranked_networks

_DRAWS = 100
_LEAST_RATIOS = 8
"""Fewer ratios of cut-off records are not drawn from apart."""


@dataclass(frozen=True, kw_only=True)
class Ceiling:
    """Top-1 of a perfect ranker of the repeated measurement.

    Attributes:
        repeated: records that were measured twice and whose noise is drawn from.
        own: whether they are of the tasks that are judged; otherwise of the whole platform.
        direct: None where no task has two such records; `direct_tasks` are those that have.
        simulated: mean and standard deviation over draws.
    """

    repeated: int
    own: bool
    direct: float | None
    direct_tasks: int
    simulated: Spread

    def to_json(self) -> dict[str, object]:
        """As it stands in the result file."""
        return {
            "repeated": self.repeated,
            "own": self.own,
            "direct": self.direct,
            "direct_tasks": self.direct_tasks,
            "simulated": self.simulated.to_json(),
        }


def ceiling(
    groups: Groups, platform: str, networks: Sequence[DatasetNetwork], seed: int, draws: int = _DRAWS
) -> Ceiling | None:
    """The ceiling on the tasks of `networks`; None where nothing on the platform was measured twice."""
    keys = dict.fromkeys(key for network in networks for key, _ in network.weights if groups.has(key, platform))
    ratios = _Ratios([one for key in keys for one in groups.measured(key, platform)])
    own = ratios.suffice
    if not own:
        everything = groups.dataset.records.items()
        ratios = _Ratios([one for (_, measured_on), found in everything if measured_on == platform for one in found])
    if not ratios.count:
        return None
    direct = {key: ranked for key in keys if (ranked := _by_repeat(key, groups.measured(key, platform))) is not None}
    ran = {key: _successes(groups.measured(key, platform)) for key in keys}
    generator = np.random.default_rng(seed)
    simulated = []
    for _ in range(draws):
        drawn = {
            key: _ranked(key, np.stack([latencies_s * ratios.draw(cut_off, generator), latencies_s], axis=1))
            for key, (latencies_s, cut_off) in ran.items()
        }
        simulated.append(top_k(ranked_networks(networks, drawn), 1).ratio)
    return Ceiling(
        repeated=ratios.count,
        own=own,
        direct=top_k(ranked_networks(networks, direct), 1).ratio if direct else None,
        direct_tasks=len(direct),
        simulated=Spread.of(simulated),
    )


class _Ratios:
    """Observed ratios of the second measurement to the first, cut-off records apart.

    Attributes:
        count: how many.
        suffice: whether there are enough of records that were not cut off, among which the best ones are.
    """

    def __init__(self, measured: Sequence[Measured]) -> None:
        pairs = [(one.cut_off, _second_s(one), one.latency_s) for one in measured]
        found = [(cut_off, second / first) for cut_off, second, first in pairs if second and first]
        self.count = len(found)
        everything = np.array([ratio for _, ratio in found])
        parts = {flag: np.array([ratio for cut_off, ratio in found if cut_off is flag]) for flag in (False, True)}
        self._of = {flag: part if len(part) >= _LEAST_RATIOS else everything for flag, part in parts.items()}
        self.suffice = len(parts[False]) >= _LEAST_RATIOS

    def draw(self, cut_off: NDArray[np.bool_], generator: np.random.Generator) -> NDArray[np.float64]:
        """One ratio for each record [N]."""
        parts = {flag: generator.choice(self._of[flag], len(cut_off)) for flag in (False, True)}
        return np.where(cut_off, parts[True], parts[False])


def _second_s(one: Measured) -> float | None:
    """Median of the second measurement."""
    return replace(one, latencies_s=one.repeated_s).latency_s


def _by_repeat(task_key: str, measured: Sequence[Measured]) -> RankedTask | None:
    twice = [(second, one.latency_s) for one in measured if one.latency_s and (second := _second_s(one))]
    return _ranked(task_key, np.array(twice)) if len(twice) > 1 else None


def _successes(measured: Sequence[Measured]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Latencies in seconds and cut-off flags of the records that ran."""
    ran = [(latency, one.cut_off) for one in measured if (latency := one.latency_s) is not None]
    return np.array([latency for latency, _ in ran]), np.array([cut_off for _, cut_off in ran])


def _ranked(task_key: str, seen_and_judged: NDArray[np.float64]) -> RankedTask:
    """[N, 2]: latencies that rank and latencies that judge, in seconds."""
    scores = (-np.log(seen_and_judged[:, 0])).astype(np.float32)
    return RankedTask(task_key=task_key, scores=scores, latencies_s=seen_and_judged[:, 1])
