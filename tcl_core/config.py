"""One frozen, keyword-only config per stage. Seeds and devices are explicit; nothing reads the environment later."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from tcl_core.domain import Network
from tcl_core.rival_config import LstmConfig, TransformerConfig

SAMPLERS: Final = ("rdu", "random", "topk", "kcenter", "uncertainty")
COST_MODELS: Final = ("mamba", "transformer", "lstm", "mlp", "xgb", "random")
TABLES: Final = ("models", "efficiency", "ablation", "continual", "transfer", "zero_shot", "tuning")
"""What a person may choose, for the command line and the window: the rooms that implement them are heavy to import."""

LEARNED_MODEL: Final = "ckd"
"""Cost model of a learned checkpoint; each of its two rankers is a `KNOWLEDGE_MODEL` and starts one."""
KNOWLEDGE_MODEL: Final = "mamba"
COLD: Final = "none"
"""What a person writes, and `RunConfig.checkpoint` says, for a cold start."""

LEARNING_RATES: Final[Mapping[str, float]] = {"transformer": 7e-4, "mlp": 7e-4}
"""Cost models that take no more than this, whatever the configs below name. As published (TLP, TenSet): at 2e-3 the
transformer falls back to guessing."""


@dataclass(frozen=True, kw_only=True)
class NetworkConfig:
    """How a network is imported.

    Attributes:
        shapes, values: dimensions and numbers fixed by the user, by input name.
        begin_at, end_at: tensors that the user lets it begin and end at, instead of the file's inputs and outputs.
        fast_math: replace `exp`, `erf` and `tanh`, which kernels call for each element, by polynomials.
        blocked: lay out the channels of dense and depthwise convolutions by vectors (`network.layouts.blocked`).
        winograd: compute blocked 3x3 convolutions in Winograd's way where it is quicker. Errors are two to three times
            those of direct sums then (`network.kernels.winograd.TILINGS`), and the weights up to four times the size.
    """

    shapes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    values: tuple[tuple[str, tuple[float, ...]], ...] = ()
    begin_at: tuple[str, ...] = ()
    end_at: tuple[str, ...] = ()
    fast_math: bool = True
    blocked: bool = True
    winograd: bool = True


def config_of(network: Network) -> NetworkConfig:
    """What the user said of a network."""
    return NetworkConfig(shapes=network.shapes, values=network.values, begin_at=network.begin_at, end_at=network.end_at)


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The Mamba ranker (METHOD, "Cost model"): about 90 thousand parameters."""

    width: int = 64
    layers: int = 2
    state: int = 16
    convolution: int = 4
    expand: int = 2
    heads: int = 8
    dropout: float = 0.0


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """Online training of a ranker by LambdaRank inside each task.

    Attributes:
        learning_rate: of models without one in `LEARNING_RATES`, and the most of those with one.
        epochs: passes over all groups in one `fit`; the first fit of a fresh model takes `first_epochs`.
        least_steps: a `fit` takes more epochs where few tasks would make fewer steps than this.
        tasks_per_step: tasks that one step learns from; what a step costs besides its records is shared by them.
        group_limit: most records of one task in one batch.
        max_samples: one `fit` ends with the step that reaches as many, so that learning cannot eat the budget of
            measuring: the Mamba ranker takes 0.7 s for them on two cores of a Zen 5. A limit in seconds would do the
            same, and the same seed would no longer give the same model.
    """

    learning_rate: float = 2e-3
    weight_decay: float = 1e-6
    gradient_clip: float = 0.5
    epochs: int = 6
    first_epochs: int = 20
    least_steps: int = 30
    tasks_per_step: int = 1
    group_limit: int = 128
    max_samples: int = 2048


REFINING = TrainingConfig(learning_rate=5e-4, epochs=3, least_steps=10, tasks_per_step=4, max_samples=2048)
"""For a model that has learned elsewhere, in less time than a fresh one takes. Four recorded runs, replayed from the
checkpoint that ships, pairs of the next round in order: 0.631, 0.553, 0.696, 0.613 with 1,024 records a fit, 0.654,
0.586, 0.700, 0.621 with 2,048, in 58.8 and 64.9 s. Twice the passes end no faster (`tuner.lesson.WORTHWHILE`)."""


@dataclass(frozen=True, kw_only=True)
class OfflineConfig:
    """Training on a dataset: passes over all groups until the validation tasks stop getting better.

    Attributes:
        epochs: most passes.
        tasks_per_step, task_records: tasks that one step learns from, and most records of each, drawn anew in each pass
            (three folds of networks left out, pairs in order: 0.680 with all records, four tasks and 640 steps in 40 s,
            0.697 now in 72 s, and 0.696 with all records, four tasks and 1,280 steps in 81 s).
        most_steps: passes end with the one that reaches as many; many tasks make many steps a pass.
        patience: passes without a better order of the validation tasks' records after which training ends, of fresh
            weights in its second half; those of the best pass there are kept.
        average: what the exponential average of the weights keeps of itself at each step.
        warm_up: share of the passes over which the learning rate rises; it falls by a cosine afterwards.
    """

    learning_rate: float = 2e-3
    weight_decay: float = 1e-6
    gradient_clip: float = 0.5
    epochs: int = 20
    most_steps: int = 960
    patience: int = 10
    average: float = 0.99
    warm_up: float = 0.05
    tasks_per_step: int = 8
    task_records: int = 48


@dataclass(frozen=True, kw_only=True)
class CostModelConfig:
    """Which cost model, on which device. `name` is a key of `cost_model.MODELS`.

    Attributes:
        model: the Mamba ranker; its `heads` are those of every token ranker.
        training, refining: online, of a fresh model and of one that has learned elsewhere.
    """

    name: str = "mamba"
    device: str = "cpu"
    scan: str = "auto"
    model: ModelConfig = field(default_factory=ModelConfig)
    transformer: TransformerConfig = field(default_factory=TransformerConfig)
    lstm: LstmConfig = field(default_factory=LstmConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    refining: TrainingConfig = REFINING


@dataclass(frozen=True, kw_only=True)
class LearnerConfig:
    """Continual knowledge distillation, and the momentum of one of its baselines (METHOD, "CKD").

    Attributes:
        progress, compress: how the active column is trained, and how it is distilled into the knowledge base.
        copy_knowledge: the active column starts as a copy of the knowledge base, not from random weights.
        gate: share of a lateral adapter's output that is let through before any training.
        adapter: width of the lateral adapters' bottleneck.
        pairs: weight of what the knowledge base teaches the active column on pairs it ranks rightly itself.
        temperature: of list-wise distillation; scores have a standard deviation of about 1 inside a task.
        ewc, gamma: weight of the elastic penalty (lambda), and what is left of the Fisher information per platform.
        rehearsal: weight of the knowledge base's own earlier answers on the new candidates under earlier platforms'
            tokens; no record of theirs is needed.
        hearsay: the active column's share in those answers (the knowledge base's is the rest).
        probes: random vectors per task that estimate the Fisher information.
        momentum: share of the slow weights that one pass of training leaves ("momentum" only).
    """

    progress: OfflineConfig = field(default_factory=OfflineConfig)
    compress: OfflineConfig = field(default_factory=OfflineConfig)
    copy_knowledge: bool = True
    gate: float = 0.05
    adapter: int = 16
    pairs: float = 0.5
    temperature: float = 0.5
    ewc: float = 100.0
    gamma: float = 0.95
    rehearsal: float = 1.0
    hearsay: float = 0.5
    probes: int = 4
    momentum: float = 0.99


@dataclass(frozen=True, kw_only=True)
class SamplerConfig:
    """Which sampler. `name` is a key of `selection.SAMPLERS`.

    Attributes:
        representativeness, diversity, uncertainty: the weights a, b, c of METHOD's ``a R + b D + c U``.
        exploit: weight of the (pool-normalised) score as a fourth term, online.
        neighbours: the k nearest neighbours of R.
    """

    name: str = "rdu"
    representativeness: float = 0.3
    diversity: float = 0.3
    uncertainty: float = 0.2
    exploit: float = 1.0
    neighbours: int = 8


TEACHING = SamplerConfig(representativeness=0.1, exploit=0.0, neighbours=64)
"""Offline, for what is learned from. Latencies of a tenth by R at 0.3 spread 0.77 as far as the pool's, at 0.1 0.97.
By 8 neighbours two twins are a crowd: validation networks, top-1 0.943, by 64 0.971 (two seeds by three folds)."""


@dataclass(frozen=True, kw_only=True)
class SearchConfig:
    """Evolution over decision vectors.

    Attributes:
        population: most candidates of one generation over all sketches of a task; one with no more is scored whole.
        per_choice: the same for each candidate that is going to be chosen: a search for few is short.
        generations: times the population is bred and scored before selection.
        mutation: probability that a child is mutated rather than crossed.
        elite: share of a generation that survives unchanged.
        fresh: share of each generation that is sampled at random.
        pool: best distinct candidates handed to the sampler.
    """

    population: int = 1024
    per_choice: int = 64
    generations: int = 4
    mutation: float = 0.85
    elite: float = 0.25
    fresh: float = 0.1
    pool: int = 256


FEW_TRIALS = 16
"""Trials up to which little is known of a task (METHOD, "First evidence")."""


@dataclass(frozen=True, kw_only=True)
class SchedulerConfig:
    """Where rounds go: weight x expected gain.

    Attributes:
        first_round: candidates measured in a task's first round: enough for an estimate of the whole network, soon.
        first_taught: the same where the cost model has learned before. Validation networks end as fast, known sooner.
        growth: a later round takes this many times what was measured of the task before.
        round_size: candidates of a round at most.
        min_gain: a task whose expected gain of a further round is below this share of the network's time is left.
        patience: rounds without improvement after which a task's expected gain is taken as small.
    """

    first_round: int = 2
    first_taught: int = 1
    growth: int = 3
    round_size: int = 32
    min_gain: float = 0.0002
    patience: int = 6


@dataclass(frozen=True, kw_only=True)
class MeasureConfig:
    """Compiling in parallel, timing alone (METHOD, "Metrics"; PLATFORM for the reasons).

    Attributes:
        compile_workers: warm processes that compile side by side; 0 for one per core that this process may use.
        compile_timeout_s, run_timeout_s: wall-clock limits for one candidate.
        compile_patience: a candidate is given up when it compiles this many times as long as is usual for its task, and
            longer than `measure.compiling.SOON_S`; the others would wait for it. 0: only `compile_timeout_s` counts.
        cutoff: after one run a candidate slower than `cutoff` times the task's best is a loser and is not repeated.
        repeats, min_repeat_s: repeats of the winner's timing, each at least this long.
        contend: a candidate whose first repeats are all slower than this times the task's best is not repeated further.
        visits: times a candidate is timed in all, with the rest of its task's between. The visit with the least median
            counts: other work on the machine only ever adds, and lasts longer than repeats in a row.
        memory_bytes: data (heap and the like) a worker may take beyond what it had when warm; 0 for no limit.
        seed: of the arguments' random contents.
    """

    compile_workers: int = 0
    compile_timeout_s: float = 20.0
    compile_patience: float = 10.0
    run_timeout_s: float = 10.0
    cutoff: float = 1.5
    repeats: int = 3
    min_repeat_s: float = 0.005
    contend: float = 1.1
    visits: int = 1
    memory_bytes: int = 4 << 30
    seed: int = 0


CAREFUL = MeasureConfig(compile_patience=0.0, repeats=1, min_repeat_s=0.005, visits=8)
"""For what is learned from for long. Eight visits with a short repeat each, seconds apart, find a shared machine at its
best more often than three long repeats in a row."""

ANEW = replace(CAREFUL, repeats=3, cutoff=math.inf)
"""For what several runs found, side by side: none of it is cut off."""


@dataclass(frozen=True, kw_only=True)
class LibraryConfig:
    """Building, checking and timing the tuned library.

    Attributes:
        rtol, atol: tolerance of the check against onnxruntime (`numpy.allclose` semantics).
        timing_rounds: interleaved rounds of (tuned, untuned, onnxruntime).
        timing_s: least total time of each contender's timing, in seconds.
        seed: of the random inputs.
    """

    rtol: float = 1e-3
    atol: float = 1e-3
    timing_rounds: int = 11
    timing_s: float = 0.6
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class CollectConfig:
    """Measuring pools of many networks for training.

    Attributes:
        networks: paths of ONNX files.
        per_task: N, distinct candidates that make a task's pool.
        bred: share of the pool that is bred from the fastest of the rest, once that is measured: random candidates
            alone teach a model little about the few that a search has to tell apart.
        share: share of each pool that is measured, chosen by `sampler`.
        repeat: share of the records that is measured a second time, to know the noise.
        references: most records of a task that are timed again beside each of its later batches, so that all are in one
            unit. The median of four is off by half of what a single one is.
        steady: a batch is timed again when its references take more than this many times as long as was assumed. Beyond
            `MeasureConfig.cutoff` times as long as before it is left out: threads share a core then.
        max_tasks: most tasks taken of one network, those with the largest weight x FLOPs first; 0 for all.
    """

    networks: tuple[str, ...]
    workspace: str
    target: str = "cpu"
    threads: int | None = None
    per_task: int = 64
    bred: float = 0.5
    share: float = 1.0
    repeat: float = 0.02
    references: int = 4
    steady: float = 1.25
    max_tasks: int = 0
    seed: int = 0
    network_config: NetworkConfig = field(default_factory=NetworkConfig)
    sampler: SamplerConfig = field(default_factory=lambda: SamplerConfig(name="random"))
    measure: MeasureConfig = CAREFUL


@dataclass(frozen=True, kw_only=True)
class Budget:
    """When a run stops; None means no such limit. A run also stops when no task promises a gain.

    Attributes:
        task_trials: most trials of single tasks in the run, by a task's key or name; the others share what is left.
    """

    trials: int | None = None
    minutes: float | None = None
    task_trials: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """Everything one run needs; saved with the run and enough to repeat it.

    Attributes:
        network: path of the ONNX file; None for the bundled sample.
        target: the text of ``--target``.
        threads: threads of a measurement; None for all physical cores.
        include: task keys to tune; empty for all.
        checkpoint: the file the cost model starts from (as a workspace notes it: `checkpoints.kept`); "none": cold;
            None: the workspace's own model of the platform, else what ships for this kind of platform, else cold.
    """

    network: str | None
    workspace: str
    target: str = "cpu"
    threads: int | None = None
    seed: int = 0
    budget: Budget = field(default_factory=Budget)
    include: tuple[str, ...] = ()
    checkpoint: str | None = None
    network_config: NetworkConfig = field(default_factory=NetworkConfig)
    cost_model: CostModelConfig = field(default_factory=CostModelConfig)
    sampler: SamplerConfig = field(default_factory=SamplerConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    scheduler: SchedulerConfig = field(default_factory=SchedulerConfig)
    measure: MeasureConfig = field(default_factory=MeasureConfig)
    library: LibraryConfig = field(default_factory=LibraryConfig)
