"""Synthetic groups with a known truth, for token models and for models that read schedules."""

from __future__ import annotations

import numpy as np

from tcl_core.batches import FeatureLayout, ScheduleBatch, TaskGroup, TokenBatch
from tcl_core.config import CostModelConfig, ModelConfig, TrainingConfig
from tcl_core.rival_config import LstmConfig, TransformerConfig
from tcl_core.tvm_import import import_tensor_intrinsics

LAYOUT = FeatureLayout(version=1, kinds=40, fields=32, task=24, platform=12)


def small_config(name: str) -> CostModelConfig:
    """A cost model of that name that is fast; one `fit` does not teach it much."""
    return CostModelConfig(
        name=name,
        model=ModelConfig(width=32, layers=1, heads=4),
        transformer=TransformerConfig(widen=(32, 64), attention_heads=4, residual_blocks=1, narrow=(64,)),
        lstm=LstmConfig(width=32, layers=1),
        training=TrainingConfig(learning_rate=3e-3, first_epochs=4, least_steps=8, max_samples=1 << 30),
    )


def token_batch(seed: int, count: int, tokens: int = 12, layout: FeatureLayout = LAYOUT) -> TokenBatch:
    """Candidates of one sketch: a few fields of a few tokens vary, as decisions do."""
    sketch = np.random.default_rng([tokens, layout.fields])
    fields = np.tile(sketch.random((1, tokens, layout.fields), np.float32), (count, 1, 1))
    varying = np.random.default_rng(seed).integers(0, 6, (count, tokens // 3, 4)).astype(np.float32) / 6
    fields[:, 1::3, 2:6][:, : varying.shape[1]] = varying
    return TokenBatch(
        kinds=sketch.integers(0, layout.kinds, tokens).astype(np.int32),
        fields=fields,
        task=sketch.random(layout.task, np.float32),
        platform=sketch.random(layout.platform, np.float32),
    )


def token_labels(*batches: TokenBatch) -> np.ndarray:
    """Speeds in (0, 1]: best where the first decided token's fields are near 1/2."""
    slowness = np.concatenate([((batch.fields[:, 1, 2:6] - 0.5) ** 2).sum(axis=1) for batch in batches])
    latency = 1 + 10 * slowness
    return (latency.min() / latency).astype(np.float32)


def token_group(seed: int, count: int = 48, key: str = "task", tokens: tuple[int, ...] = (12, 9)) -> TaskGroup:
    batches = tuple(token_batch(seed + i, count // len(tokens), each) for i, each in enumerate(tokens))
    return TaskGroup(task_key=key, batches=batches, labels=token_labels(*batches))


def pairwise_accuracy(scores: np.ndarray, labels: np.ndarray) -> float:
    """Share of pairs ordered rightly; ties among the scores count half."""
    faster = labels[:, None] > labels[None, :]
    gap = scores[:, None] - scores[None, :]
    return float(((gap > 0) + 0.5 * (gap == 0))[faster].mean())


def schedule_batch(count: int, first_seed: int) -> ScheduleBatch:
    """Random schedules of a small matrix product, as MetaSchedule draws them."""
    import_tensor_intrinsics("llvm")
    import tvm
    from tvm import te
    from tvm.s_tir import Schedule, meta_schedule
    from tvm.s_tir.schedule import Trace

    a, b = te.placeholder((64, 64), name="a"), te.placeholder((64, 64), name="b")
    k = te.reduce_axis((0, 64), name="k")
    c = te.compute((64, 64), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")
    module = tvm.IRModule({"main": te.create_prim_func([a, b, c])})
    target = tvm.target.Target({"kind": "llvm", "num-cores": 2})
    context = meta_schedule.TuneContext(
        mod=module, target=target, space_generator="post-order-apply", num_threads=1, task_name="matmul"
    )
    sketch = context.generate_design_space()[-1]
    arguments = meta_schedule.arg_info.ArgInfo.from_entry_func(module, remove_preproc=False)
    candidates = []
    for seed in range(first_seed, first_seed + count):
        schedule = Schedule(module, seed=seed, debug_mask="none")
        Trace(sketch.trace.insts, {}).apply_to_schedule(schedule, remove_postproc=True)
        candidates.append(meta_schedule.MeasureCandidate(schedule, arguments))
    return ScheduleBatch(context=context, candidates=tuple(candidates))


def schedule_labels(batch: ScheduleBatch) -> np.ndarray:
    """Speeds in (0, 1]: faster with a larger innermost tile of the contiguous loop, the second that is tiled."""
    speeds = []
    for candidate in batch.candidates:
        trace = candidate.sch.trace
        tiles = [trace.decisions[each] for each in trace.insts if each.kind.name == "SamplePerfectTile"]
        speeds.append(1.0 + np.log2(float(tiles[1][-1])))
    return (np.array(speeds) / max(speeds)).astype(np.float32)
