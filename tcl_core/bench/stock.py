"""The peer: stock MetaSchedule through its public API, in a process of its own. ``python -m tcl_core.bench.stock``."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from tcl_core.domain import Task


def tune_stock(task: Task, target_json: str, trials: int, round_size: int, seed: int) -> dict[str, float]:
    """Tune one task with `tune_tasks` and its xgb model.

    Returns:
        seconds: wall time of `tune_tasks` alone, imports left out.
        trials: measured candidates.
        best_s: median latency of the best, in seconds.
    """
    import tvm

    from tcl_core.tvm_import import import_tensor_intrinsics

    import_tensor_intrinsics()
    from tvm.s_tir import meta_schedule

    target = tvm.target.Target(json.loads(target_json))
    context = meta_schedule.TuneContext(
        mod=tvm.ir.load_json(task.module_json),
        target=target,
        space_generator="post-order-apply",
        search_strategy="evolutionary",
        task_name=task.name,
        rand_state=seed + 1,
        num_threads="physical",
    )
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        database = meta_schedule.tune.tune_tasks(
            tasks=[context],
            task_weights=[1.0],
            work_dir=folder,
            max_trials_global=trials,
            num_trials_per_iter=round_size,
            cost_model="xgb",
        )
        seconds = time.perf_counter() - start
        records = [record for record in database.get_all_tuning_records() if record.run_secs]
    latencies = [sorted(float(second) for second in record.run_secs) for record in records]
    best = min((values[len(values) // 2] for values in latencies), default=float("nan"))
    return {"seconds": seconds, "trials": float(len(records)), "best_s": best}


def _main() -> None:
    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    task = Task(
        key=request["key"],
        name=request["name"],
        weight=1,
        module_json=request["module_json"],
        flops=0.0,
        bytes_moved=0.0,
        dtype="float32",
        axes=(),
        arguments=(),
        anchor="",
    )
    answer = tune_stock(task, request["target_json"], request["trials"], request["round_size"], request["seed"])
    Path(sys.argv[2]).write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    _main()
