"""The live comparison on runs that are told, not measured: when either had the cold run's last estimate."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tcl_core.config import CostModelConfig, RunConfig
from tcl_core.cost_model import make_cost_model
from tcl_core.cost_model.random_model import RandomModel
from tcl_core.domain import Candidate, Record, Stage
from tcl_core.errors import UserError
from tcl_core.evaluation.context import Context, TuningConfig
from tcl_core.evaluation.tables import tuning
from tcl_core.evaluation.tables.tuning import TuningResult, finished_seeds
from tcl_core.events import CancelToken, Event, PhaseChanged, Progress, RecordMeasured
from tcl_core.features import LAYOUT
from tests.tcl_core.evaluation.conftest import TINY
from tests.tcl_core.tuner.tuner_records import record

Told = tuple[float | None, ...]
"""Latencies that a run measured, one per trial of its one task; None for a failure."""

COLD: Told = (None, 9.0, 6.0, 5.0, 4.0, 4.5)


@dataclass
class ToldRun:
    """A run whose latencies are known beforehand, and what they are when they are timed anew."""

    warm: Told
    anew: dict[float, float]
    seen: list[RunConfig] = field(default_factory=list)
    closed: int = 0

    def __call__(self, config: RunConfig, cancel: CancelToken, opened: object) -> ToldRun:
        self.seen.append(config)
        return self

    def events(self) -> Iterator[Event]:
        cold = self.seen[-1].checkpoint == "none"
        try:
            for trial, latency_s in enumerate(COLD if cold else self.warm, 1):
                yield RecordMeasured(record=record_of("only", latency_s))
                yield progress(trial)
            yield PhaseChanged(stage=Stage.LIBRARY)
            raise AssertionError("the library is not to be built")
        finally:
            self.closed += 1

    def time_anew(self, candidates: Iterable[Candidate], *_: object) -> dict[Candidate, float]:
        """The latency is the candidate's decision."""
        return {each: self.anew.get(each.decisions[0][0], each.decisions[0][0]) for each in candidates}


def progress(trial: int) -> Progress:
    return Progress(
        trials=trial,
        failed=0,
        elapsed_s=10.0 * trial,
        fraction=0.0,
        eta_low_s=0.0,
        eta_high_s=0.0,
        candidates_scored=0,
        estimate_s=None,
    )


def record_of(task_key: str, latency_s: float | None) -> Record:
    decisions = ((0.0 if latency_s is None else latency_s,),)
    return record(latency_s, candidate=Candidate(task_key=task_key, sketch=0, decisions=cast(Any, decisions)))


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    path = tmp_path / "start.safetensors"
    make_cost_model(TINY, LAYOUT, 0).save(path)
    return str(path)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Callable[..., ToldRun]:
    def tell(*warm: float | None, digest: str = "new", anew: dict[float, float] | None = None) -> ToldRun:
        run = ToldRun(warm=warm, anew=anew or {})
        opened = SimpleNamespace(
            imported=SimpleNamespace(network=SimpleNamespace(digest=digest, name="sample")),
            tasks=(SimpleNamespace(key="only", weight=2),),
            platform=None,
        )
        monkeypatch.setattr(tuning, "Tuner", run)
        monkeypatch.setattr(tuning, "open_network", lambda *_: opened)
        monkeypatch.setattr(tuning, "time_anew", run.time_anew)
        return run

    return tell


def compared(context: Context, seeds: tuple[int, ...] = (0,)) -> TuningResult:
    result = tuning.run(context, seeds, lambda _: None, CancelToken())
    assert isinstance(result, TuningResult)
    return result


def with_checkpoint(make_context: Callable[..., Context], checkpoint: str) -> Context:
    return make_context(tuning=TuningConfig(checkpoint=checkpoint), cost_model=replace(TINY, device="cpu"))


def test_trials_and_seconds_until_the_cold_run_s_last_estimate(
    make_context: Callable[..., Context], checkpoint: str, told: Callable[..., ToldRun]
) -> None:
    run = told(5.0, 3.9, 3.0)  # a second run is not stopped: what it found is not known before it is timed anew
    context = with_checkpoint(make_context, checkpoint)
    assert finished_seeds(context, (0, 1)) == ()
    found = compared(context).to_json()
    assert finished_seeds(context, (0, 1)) == (0,)
    figures = {"cold_trials": 5, "warm_trials": 2, "cold_s": 50, "warm_s": 20, "final_ms": 8000, "never": 0}
    assert found == {"sample": figures}
    assert [config.checkpoint for config in run.seen] == ["none", str(Path(checkpoint).resolve())]
    assert run.seen[0].workspace != run.seen[1].workspace
    assert run.closed == 2
    compared(context, (1,))
    assert [config.checkpoint for config in run.seen[2:]] == [str(Path(checkpoint).resolve()), "none"]


def test_what_counts_is_timed_anew(
    make_context: Callable[..., Context], checkpoint: str, told: Callable[..., ToldRun]
) -> None:
    told(3.0, 2.0, anew={4.0: 4.5, 3.0: 5.0, 2.0: 4.5})
    found = compared(with_checkpoint(make_context, checkpoint)).to_json()["sample"]
    assert (found["cold_trials"], found["warm_trials"], found["final_ms"]) == (5, 2, 9000)


def test_a_cold_run_that_found_nothing_is_refused(
    make_context: Callable[..., Context], checkpoint: str, told: Callable[..., ToldRun]
) -> None:
    told(4.0, anew={4.0: math.inf})
    with pytest.raises(UserError, match="gave no latency of every task of sample"):
        compared(with_checkpoint(make_context, checkpoint))


def test_a_goal_met_and_a_start_that_never_gets_there(
    make_context: Callable[..., Context], checkpoint: str, told: Callable[..., ToldRun]
) -> None:
    told(4.0)
    assert [verdict.met for verdict in compared(with_checkpoint(make_context, checkpoint)).verdicts()] == [True]
    told(9.0, 8.0)
    context = with_checkpoint(make_context, checkpoint)
    context.cache = context.cache / "apart"
    result = compared(context)
    assert (result.to_json()["sample"]["warm_trials"], result.to_json()["sample"]["never"]) == (None, 1)
    assert [verdict.met for verdict in result.verdicts()] == [False]


def test_refusals(make_context: Callable[..., Context], checkpoint: str, told: Callable[..., ToldRun]) -> None:
    told(4.0, digest="testing")
    with pytest.raises(UserError, match="is in the dataset"):
        compared(with_checkpoint(make_context, checkpoint))
    with pytest.raises(UserError, match=r"no checkpoint .*gone"):
        compared(make_context(tuning=TuningConfig(checkpoint="gone"), cost_model=CostModelConfig()))
    with pytest.raises(UserError, match=r"no network lost\.onnx"):
        compared(make_context(tuning=TuningConfig(checkpoint=checkpoint, networks=("lost.onnx",))))
    assert finished_seeds(make_context(tuning=TuningConfig(checkpoint="gone")), (0,)) == ()


def test_a_checkpoint_of_another_cost_model_is_refused_before_anything_is_tuned(
    make_context: Callable[..., Context], tmp_path: Path
) -> None:
    path = tmp_path / "random.safetensors"
    RandomModel(LAYOUT, width=8, seed=0).save(path)
    with pytest.raises(UserError, match="holds the cost model 'random', not 'mamba'"):
        compared(make_context(tuning=TuningConfig(checkpoint=str(path))))
