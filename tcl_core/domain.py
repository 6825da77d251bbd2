"""What crosses a stage, a thread or a process: plain frozen data, picklable, with no heavy imports.

The words are METHOD's: a *network* holds *tasks*; a task has *sketches*; a sketch's sampling instructions take
*decisions*, which make a *candidate*; a measured one is a *record*, which belongs to one *platform*.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from enum import StrEnum

Decision = tuple[int, ...]
"""The value of one sampling instruction: tile factors, or one category index, or one compute location."""

SHARED = "tcl.shared"
"""Annotation of a block to be computed inside its reader: by loop of that, how many neighbouring steps share it."""

BLOCKED_CONVOLUTIONS = ("conv2d_NCHWc", "conv2d_NCHW_NCHWc", "group_conv2d_NCHWc")
"""Blocks in a task's module whose results are [batch, chunks, height, width, lanes], and which sum over channels."""

WINDOWED = ("depthwise_conv2d_NCHWc", "pool_max", "pool_sum")
"""As these, but over a window of each channel by itself; pooling is named so in plain layouts, too."""

RECURRENCE = "recurrence"
"""A block in a task's module around the blocks of one step, which reads what the step before it has written."""

OWN_OPERATORS = "tirx.tcl_studio."
"""What names of our own operators begin with; TVM knows them once `own_operators` is imported."""


class DecisionKind(StrEnum):
    """What a sampling instruction decides."""

    TILE = "tile"
    CATEGORY = "category"
    LOCATION = "location"


class Stage(StrEnum):
    """Where time goes and where a candidate can fail."""

    IMPORT = "import"
    SEARCH = "search"
    REPLAY = "replay"
    COMPILE = "compile"
    MEASURE = "measure"
    LEARN = "learn"
    LIBRARY = "library"


class Source(StrEnum):
    """Who asked for a record. CARRIED: a run, as one like it was fast for a similar task; DRAWN: a run, at random."""

    SEARCH = "search"
    CARRIED = "carried"
    DRAWN = "drawn"
    PERSON = "person"
    IMPORTED = "imported"
    COLLECTED = "collected"


class CheckpointKind(StrEnum):
    """Who saved a checkpoint: a tuning run, training on a dataset, or continual learning on a new platform."""

    RUN = "run"
    TRAINED = "trained"
    LEARNED = "learned"


@dataclass(frozen=True, kw_only=True)
class TensorSpec:
    """A named tensor; `shape` is static (a dynamic dimension never gets this far)."""

    name: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class PlatformFeatures:
    """What the cost model is told of the hardware. Zero means unknown or not applicable.

    Units: cores and multiprocessors in pieces, vector width in bits, memory in bytes, peak in FLOP/s, bandwidth in
    bytes/s. Heterogeneous features after arXiv 2304.05430.
    """

    cores: int
    vector_bits: int
    l1_bytes: int
    l2_bytes: int
    l3_bytes: int
    peak_flops: float
    bandwidth_bytes_s: float
    multiprocessors: int = 0
    shared_memory_bytes: int = 0
    warp_size: int = 0


@dataclass(frozen=True, kw_only=True)
class Platform:
    """One piece of hardware with its target. Records and checkpoints belong to one.

    Attributes:
        fingerprint: short hex digest of the device's identity and the target; the key of every record.
        name: what a person calls it, e.g. "AMD EPYC, 2 threads, znver5".
        kind: "llvm" or "cuda".
        target_json: the canonical TVM target as JSON (`{"kind": "llvm", "mcpu": ..., "num-cores": ...}`).
        threads: threads of a measurement (CPU).
        runnable: whether what is compiled for this target can be run from here.
        device: where the machine that runs it is reached, "" for this one; no part of what it is.
    """

    fingerprint: str
    name: str
    kind: str
    target_json: str
    threads: int
    runnable: bool
    features: PlatformFeatures
    device: str = ""


@dataclass(frozen=True, kw_only=True)
class Network:
    """An ONNX model as the user opened it.

    Attributes:
        name, path: the file's stem, and where it was opened.
        digest: SHA-256 (hex) of the model's bytes, external data included, and of all that the user said of it:
        shapes, values: dimensions (``--shape``) and numbers (``--value``), by input name.
        begin_at, end_at: tensors at which it begins and ends, instead of the file's inputs and outputs.
    """

    name: str
    path: str
    digest: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    shapes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    values: tuple[tuple[str, tuple[float, ...]], ...] = ()
    begin_at: tuple[str, ...] = ()
    end_at: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class LoopAxis:
    """One loop of a task's anchor block: extent, and "spatial" or "reduce"."""

    extent: int
    kind: str


@dataclass(frozen=True, kw_only=True)
class Access:
    """What of one buffer a task's anchor block reads or writes.

    Attributes:
        bytes: in one iteration.
        spans: groups of axes (places in `Task.axes`) that index the same dimensions, each axis with the elements that a
            step along it adds: r steps along each touch ``bytes * prod over groups of (1 + sum of added * (r - 1))``.
    """

    bytes: float
    spans: tuple[tuple[tuple[int, float], ...], ...]


@dataclass(frozen=True, kw_only=True)
class Task:
    """One fused operator subgraph with its weight: how often it occurs in the network.

    Attributes:
        key: hex structural hash of the unscheduled TensorIR module; equal tasks of two networks share it.
        name: the fused function's name, e.g. "fused_conv2d_add_relu".
        module_json: the unscheduled IRModule, `tvm.ir.save_json` text; its entry function is "main".
        flops: floating point operations of one run.
        bytes_moved: bytes of all arguments, each counted once.
        dtype: dtype of the output.
        axes: loops of the anchor block (the block with most iterations).
        arguments: the entry function's arguments, inputs first.
        anchor: operator name of the anchor block, e.g. "conv2d_nchw".
        accesses: of the anchor block, reads first; empty where they are not known.
    """

    key: str
    name: str
    weight: int
    module_json: str
    flops: float
    bytes_moved: float
    dtype: str
    axes: tuple[LoopAxis, ...]
    arguments: tuple[TensorSpec, ...]
    anchor: str
    accesses: tuple[Access, ...] = ()

    @property
    def intensity(self) -> float:
        """Arithmetic intensity in FLOP per byte."""
        return self.flops / self.bytes_moved if self.bytes_moved else 0.0


@dataclass(frozen=True, kw_only=True)
class TaskLoops:
    """What of a task tells how like another one it is; attributes as `Task`'s."""

    key: str
    axes: tuple[LoopAxis, ...]
    anchor: str


@dataclass(frozen=True, kw_only=True)
class ImportIssue:
    """Something the import noticed, by node: an unsupported operator, a dynamic dimension, a warning."""

    node: str
    operator: str
    problem: str
    mend: str

    @property
    def line(self) -> str:
        """All of it; node and operator are empty where it is about the whole network."""
        at = f"{self.node} ({self.operator}): " if self.operator else ""
        return f"{at}{self.problem}; {self.mend}"


@dataclass(frozen=True, kw_only=True)
class ImportReport:
    """What became of a network: counts of operators, issues by node, and what ran how long."""

    operators: tuple[tuple[str, int], ...]
    issues: tuple[ImportIssue, ...]
    seconds: float


@dataclass(frozen=True, kw_only=True)
class DecisionDomain:
    """Every legal value of one sampling instruction of a sketch.

    Attributes:
        instruction: index of the sampling instruction in the sketch's trace.
        kind: tile, category or location.
        values: the legal decisions; for a tile the ordered factorisations of the loop's extent, for a category the
            index, for a location the loop index (-1 root, -2 inlined), each as a tuple.
        literals: what a category's indices stand for (unroll steps, vector lengths); empty otherwise.
    """

    instruction: int
    kind: DecisionKind
    values: tuple[Decision, ...]
    literals: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ThreadLimit:
    """How many threads a block of a GPU may have: bounds for a product of factors of several decisions.

    Attributes:
        factors: of each factor the domain it is decided in, and its place in the decision.
    """

    factors: tuple[tuple[int, int], ...]
    least: int
    most: int


@dataclass(frozen=True, kw_only=True)
class Sketch:
    """One design space of a task: a trace whose sampling instructions have no decisions yet.

    Attributes:
        trace_json: JSON text of MetaSchedule's `Trace.as_json`, up to (not including) `EnterPostproc`:
            ``[[[kind, inputs, attributes, outputs], ...], [[instruction, decision], ...]]``.
        domains: one per sampling instruction, in trace order.
        limits: what legal decisions are within together, see `thread_limits`; empty on a CPU.
    """

    task_key: str
    index: int
    trace_json: str
    domains: tuple[DecisionDomain, ...]
    limits: tuple[ThreadLimit, ...] = ()


@dataclass(frozen=True)
class Candidate:
    """Task + sketch + decisions (one per domain of the sketch, in order); replaying it gives a schedule."""

    task_key: str
    sketch: int
    decisions: tuple[Decision, ...]


@dataclass(frozen=True, kw_only=True)
class Replay:
    """A replayed, postprocessed candidate, ready to compile.

    Attributes:
        candidate: with the decisions read back from the replayed trace (replay may silently change them).
        module_json: the scheduled IRModule, `tvm.ir.save_json` text.
        trace_json: the whole trace, postprocessing included: applying it to the task's module gives the module.
        structural_hash: hex; equal schedules share it, whatever their decisions.
    """

    candidate: Candidate
    module_json: str
    trace_json: str
    structural_hash: str


@dataclass(frozen=True, kw_only=True)
class Failure:
    """An expected failure is data.

    Attributes:
        stage: where it failed.
        cause: a short phrase failures are grouped by ("timeout", "crash (SIGSEGV)", "out of memory", an exception).
        message: the whole text.
    """

    stage: Stage
    cause: str
    message: str = ""


@dataclass(frozen=True, kw_only=True)
class Rationale:
    """Why a candidate was chosen: the predicted score and the sampler's three parts, each in [0, 1], None where the
    sampler does not compute it; a person's choice has the score alone.
    """

    score: float | None = None
    representativeness: float | None = None
    diversity: float | None = None
    uncertainty: float | None = None


@dataclass(frozen=True, kw_only=True)
class Record:
    """A measured candidate: latencies in seconds, or a failure with its stage and cause.

    Attributes:
        platform: fingerprint of the platform it was measured on.
        trace_json: see `Replay.trace_json`; empty when the replay failed.
        structural_hash: see `Replay.structural_hash`; empty when the replay failed.
        latencies_s: repeats of the mean latency of one run, in seconds; empty on failure.
        round: the run's round in which it was chosen, from 0.
        measured_at: Unix time in seconds.
    """

    candidate: Candidate
    platform: str
    trace_json: str
    structural_hash: str
    latencies_s: tuple[float, ...]
    failure: Failure | None
    rationale: Rationale
    cut_off: bool
    source: Source
    round: int
    measured_at: float

    @property
    def latency_s(self) -> float | None:
        """Median latency in seconds; None on failure."""
        return statistics.median(self.latencies_s) if self.latencies_s else None


@dataclass(frozen=True, kw_only=True)
class RecordCount:
    """How much was measured of a task on a platform.

    Attributes:
        trials: records, `failures` among them.
        best_s: lowest median latency in seconds; None without a success.
    """

    trials: int = 0
    failures: int = 0
    best_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class TaskState:
    """A task as a run sees it: what the scheduler decides on and the task table shows.

    Attributes:
        best_s: latency of the best record in seconds, None before the first success.
        history_s, first_s: best latency after each round, and after the first; None where an earlier run held that.
        exhausted: nothing new can be proposed, or no gain is expected.
    """

    task: Task
    trials: int = 0
    failures: int = 0
    best_s: float | None = None
    history_s: tuple[float, ...] = ()
    first_s: float | None = None
    exhausted: bool = False
