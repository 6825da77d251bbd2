"""The peers: stock MetaSchedule through its public API, in a process of its own. ``python -m tcl_core.bench.stock``."""

from __future__ import annotations

import json
import os
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from tcl_core.bench.lap import Improvement, Lap
from tcl_core.domain import Task

Rival = Literal["xgb", "mlp", "random"]
"""Stock's own loop with its xgb; with TenSet-MLP in its place; random candidates, nothing else."""

_NEVER_S = 1e10
"""As `add_to_database.cc` has it."""


@dataclass(frozen=True, kw_only=True)
class StockRequest:
    """What a peer is to tune.

    Attributes:
        trials: of all tasks together; stock's gradient scheduler shares them out.
        checkpoint: where a trained TenSet-MLP lies, for the rival "mlp".
    """

    tasks: tuple[Task, ...]
    target_json: str
    trials: int
    round_size: int
    seed: int
    rival: Rival = "xgb"
    checkpoint: str | None = None


def run_stock(request: StockRequest) -> Lap:
    """Tune in a process of its own.

    Raises:
        CalledProcessError: stock ended with an error.
    """
    with tempfile.TemporaryDirectory(prefix="tcl-studio-") as folder:
        question, answer = Path(folder) / "request.pickle", Path(folder) / "answer.pickle"
        question.write_bytes(pickle.dumps(request))
        command = [sys.executable, "-m", "tcl_core.bench.stock", str(question), str(answer)]
        environment = os.environ | _threads(request)
        subprocess.run(command, check=True, capture_output=True, cwd=Path(__file__).parents[2], env=environment)
        lap: Lap = pickle.loads(answer.read_bytes())
        return lap


def _threads(request: StockRequest) -> dict[str, str]:
    """The target's threads for whoever runs a candidate. TVM itself takes half of the logical processors."""
    threads = json.loads(request.target_json).get("num-cores")
    return {} if threads is None else {"TVM_NUM_THREADS": str(threads)}


def tune_stock(request: StockRequest) -> Lap:
    """Tune with `tune_tasks`; its time counts alone, imports and the loading of a model are left out."""
    import tvm

    from tcl_core.own_operators import read_module
    from tcl_core.tvm_import import import_tensor_intrinsics

    target = tvm.target.Target(json.loads(request.target_json))
    import_intrinsics = partial(import_tensor_intrinsics, str(target.kind.name))
    import_intrinsics()
    from tvm.s_tir import meta_schedule

    contexts = [
        meta_schedule.TuneContext(
            mod=read_module(task.module_json),
            target=target,
            space_generator="post-order-apply",
            search_strategy="replay-trace" if request.rival == "random" else "evolutionary",
            task_name=task.key,
            rand_state=request.seed + 1 + index,
            num_threads="physical",
        )
        for index, task in enumerate(request.tasks)
    ]
    model = _cost_model(request)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        watch, history = _watch(request.tasks, start)
        database = meta_schedule.tune.tune_tasks(
            tasks=contexts,
            task_weights=[float(task.weight) for task in request.tasks],
            work_dir=folder,
            max_trials_global=request.trials,
            num_trials_per_iter=request.round_size,
            cost_model=model,
            # Its workers start anew in every round and import TVM's tensor intrinsics: 32 s where torch is installed
            # too (two cores of a Zen 4), and after 30 s it gives a candidate up. With our shortcut it takes 0.3 s.
            builder=meta_schedule.builder.LocalBuilder(initializer=import_intrinsics),
            measure_callbacks=[*meta_schedule.MeasureCallback.create("default"), watch],
        )
        seconds = time.perf_counter() - start
        trials = sum(_ran(record.run_secs) for record in database.get_all_tuning_records())
        best = {
            task.key: database.query_ir_module(context.mod, target, task.key)
            for task, context in zip(request.tasks, contexts, strict=True)
        }
    return Lap(
        seconds=seconds,
        trials=trials,
        modules=tuple((key, str(tvm.ir.save_json(module))) for key, module in best.items() if module is not None),
        history=tuple(history),
    )


def _cost_model(request: StockRequest) -> Any:
    if request.rival == "random":
        return "none"
    if request.rival == "xgb":
        return "xgb"
    from tcl_core.bench.tenset_mlp import stock_mlp

    if request.checkpoint is None:
        raise ValueError("the rival mlp needs a checkpoint")
    return stock_mlp(Path(request.checkpoint), request.seed)


def _watch(tasks: Sequence[Task], start: float) -> tuple[Any, list[Improvement]]:
    """A measure callback of stock's, and the list of improvements that it fills."""
    from tvm.ir.utils import derived_object
    from tvm.s_tir import meta_schedule

    history: list[Improvement] = []
    best_s: dict[str, float] = {}

    @derived_object
    class Watch(meta_schedule.measure_callback.PyMeasureCallback):  # type: ignore[misc]
        """Notes when a task's best got better."""

        def apply(self, _scheduler: Any, task_id: int, _candidates: Any, _built: Any, results: Any) -> None:
            key = tasks[task_id].key
            found = [_median(result.run_secs) for result in results if result.run_secs]
            latency_s = min(found, default=float("inf"))
            if latency_s < best_s.get(key, float("inf")):
                best_s[key] = latency_s
                elapsed_s = time.perf_counter() - start
                history.append(Improvement(elapsed_s=elapsed_s, task_key=key, latency_s=latency_s))

    return Watch(), history


def _ran(seconds: Sequence[Any] | None) -> bool:
    """Whether a record of stock's database has run; what failed is written down as having taken `_NEVER_S`."""
    return _median(seconds) < _NEVER_S if seconds else False


def _median(seconds: Sequence[Any]) -> float:
    return statistics.median(map(float, seconds))


def _main() -> None:
    request = pickle.loads(Path(sys.argv[1]).read_bytes())
    Path(sys.argv[2]).write_bytes(pickle.dumps(tune_stock(request)))


if __name__ == "__main__":
    _main()
