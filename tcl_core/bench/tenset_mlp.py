"""TenSet-MLP as a cost model of the stock loop: TVM's own `mlp` raises unless five tasks have records when it trains.

It is trained on the dataset that ships, like our checkpoint, and goes on learning from every round, like stock's xgb.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_cache_path
from tvm.ir.utils import derived_object
from tvm.s_tir import meta_schedule

from tcl_core.batches import ScheduleBatch, TaskGroup
from tcl_core.config import LEARNING_RATES, CostModelConfig
from tcl_core.cost_model import make_cost_model
from tcl_core.cost_model.base import EpochReport
from tcl_core.dataset import bundled_dataset_path, read_dataset
from tcl_core.evaluation.cells import digest_of
from tcl_core.evaluation.context import Context, EvaluationConfig
from tcl_core.events import CancelToken
from tcl_core.features import LAYOUT

_NAME = "mlp"
_CODE = ("cost_model", "evaluation/context.py", "evaluation/groups.py", "evaluation/splits.py")


def trained_tenset_mlp(report: Callable[[str], None]) -> Path:
    """The model trained on the training networks of the dataset that ships; once for all that it depends on."""
    cache = user_cache_path("tcl-studio", appauthor=False) / "bench"
    dataset = read_dataset(bundled_dataset_path())
    config = EvaluationConfig()
    made_of = digest_of({"dataset": dataset.digest, "offline": config.offline, "rates": LEARNING_RATES}, _CODE)
    path = cache / f"tenset-mlp-{made_of[:16]}.safetensors"
    if path.exists():
        return path
    cancel = CancelToken()
    context = Context(dataset, config, cache / "cells")
    split = context.split
    model = context.model(_NAME, 0)
    keys = (*split.train, *split.validation)
    context.groups.prepare(keys, context.platform, model.reads, cancel, lambda what: None)
    teaching = context.groups.groups(split.train, context.platform, reads=model.reads)

    def tell(epoch: EpochReport) -> None:
        report(f"TenSet-MLP: pass {epoch.epoch} of {epoch.epochs}")

    context.fit(model, teaching, context.validation(context.platform, model.reads), tell, cancel)
    cache.mkdir(parents=True, exist_ok=True)
    model.save(path)
    return path


def stock_mlp(checkpoint: Path, seed: int) -> Any:
    """The trained model as a `PyCostModel`."""
    model = make_cost_model(CostModelConfig(name=_NAME), LAYOUT, seed)
    model.load(checkpoint)
    seen: dict[str, tuple[Any, list[Any], list[float]]] = {}

    @derived_object
    class TensetMlp(meta_schedule.cost_model.PyCostModel):  # type: ignore[misc]
        """Predicts with the network, learns from all records of the run so far."""

        def load(self, path: str) -> None:
            model.load(Path(path))

        def save(self, path: str) -> None:
            model.save(Path(path))

        def predict(self, context: Any, candidates: Sequence[Any]) -> NDArray[np.float64]:
            found = model.predict(ScheduleBatch(context=context, candidates=candidates))
            return found.scores.astype(np.float64)

        def update(self, context: Any, candidates: Sequence[Any], results: Sequence[Any]) -> None:
            _, measured, latencies_s = seen.setdefault(str(context.task_name), (context, [], []))
            for candidate, result in zip(candidates, results, strict=True):
                measured.append(candidate)
                times = [float(value) for value in result.run_secs or ()]
                latencies_s.append(float(np.median(times)) if times else float("inf"))
            model.fit([_group(name, *known) for name, known in seen.items()])

    return TensetMlp()


def _group(name: str, context: Any, measured: list[Any], latencies_s: list[float]) -> TaskGroup:
    found = np.array(latencies_s)
    labels = found.min() / found if np.isfinite(found).any() else np.zeros(len(found))
    batch = ScheduleBatch(context=context, candidates=measured)
    return TaskGroup(task_key=name, batches=(batch,), labels=labels.astype(np.float32))
