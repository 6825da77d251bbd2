"""Small datasets: one by hand, and hypothesis strategies for any."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from tcl_core.dataset import Dataset, DatasetNetwork, Measured, Split, sealed
from tcl_core.domain import (
    Access,
    Candidate,
    DecisionDomain,
    DecisionKind,
    Failure,
    LoopAxis,
    Platform,
    PlatformFeatures,
    Sketch,
    Stage,
    Task,
    TensorSpec,
)

TRACE = '[[["GetSBlock",[],["{name}","main"],["b0"]],["SamplePerfectTile",["l0"],[2,64],["v1","v2"]]],[]]'
FEATURES = PlatformFeatures(
    cores=2,
    vector_bits=512,
    l1_bytes=1 << 15,
    l2_bytes=1 << 20,
    l3_bytes=1 << 25,
    peak_flops=1.5e11,
    bandwidth_bytes_s=2.5e10,
)


def platform(fingerprint: str = "cafe01", **changes: object) -> Platform:
    made = Platform(
        fingerprint=fingerprint,
        name=f"CPU {fingerprint}",
        kind="llvm",
        target_json='{"kind": "llvm"}',
        threads=2,
        runnable=True,
        features=FEATURES,
    )
    return replace(made, **changes)


def task(key: str = "a1", block: str = "matmul", weight: int = 3) -> Task:
    return Task(
        key=key,
        name=f"fused_{key}",
        weight=weight,
        module_json=f'{{"nodes": ["{block}"]}}',
        flops=1.25e9,
        bytes_moved=3e6,
        dtype="float32",
        axes=(LoopAxis(extent=64, kind="spatial"), LoopAxis(extent=512, kind="reduce")),
        arguments=(
            TensorSpec(name="a", dtype="float32", shape=(64, 512)),
            TensorSpec(name="b", dtype="int64", shape=()),
        ),
        anchor="matmul",
    )


def sketch(task_key: str = "a1", index: int = 0, block: str = "matmul") -> Sketch:
    tile = DecisionDomain(instruction=1, kind=DecisionKind.TILE, values=((1, 64), (2, 32), (64, 1)))
    return Sketch(task_key=task_key, index=index, trace_json=TRACE.replace("{name}", block), domains=(tile,))


def measured(factor: int = 2, task_key: str = "a1", on: str = "cafe01", **changes: object) -> Measured:
    made = Measured(
        candidate=Candidate(task_key, 0, ((factor, 64 // factor),)),
        platform=on,
        latencies_s=(0.003, 0.001, 0.002),
        failure=None,
        cut_off=False,
    )
    return replace(made, **changes)


def failed(factor: int, message: str = "", **changes: object) -> Measured:
    failure = Failure(stage=Stage.COMPILE, cause="timeout", message=message)
    return measured(factor, latencies_s=(), failure=failure, **changes)


def network(name: str = "net", split: Split = Split.TRAIN, **changes: object) -> DatasetNetwork:
    made = DatasetNetwork(name=name, digest=f"d-{name}", source=f"{name}.onnx", split=split, weights=(("a1", 3),))
    return replace(made, **changes)


def dataset(**changes: object) -> Dataset:
    """One task on one platform: two successes, one of them measured twice, and a failure."""
    group = ("a1", "cafe01")
    made = Dataset(
        digest="",
        platforms={"cafe01": platform()},
        networks=(network(),),
        tasks={"a1": task()},
        sketches={group: (sketch(),)},
        records={group: (measured(2), measured(1, repeated_s=(0.004,)), failed(64, "20 s"))},
    )
    return sealed(replace(made, **changes))


# Any dataset. Text is anything that UTF-8 can hold; numbers are whatever the types allow.

texts = st.text(st.characters(codec="utf-8"), max_size=12)
names = st.text("abc01", min_size=1, max_size=3)
wholes = st.integers(-(2**62), 2**62)
numbers = st.floats(allow_nan=False, allow_infinity=False)
latencies = st.floats(min_value=1e-9, max_value=1e3)
decisions = st.lists(st.integers(-2, 4096), min_size=1, max_size=4).map(tuple)
splits = st.sampled_from(Split)
domains = st.builds(
    DecisionDomain,
    instruction=st.integers(0, 99),
    kind=st.sampled_from(DecisionKind),
    values=st.lists(decisions, max_size=4).map(tuple),
    literals=st.lists(numbers, max_size=3).map(tuple),
)
features = st.builds(
    PlatformFeatures,
    **dict.fromkeys(("cores", "vector_bits", "l1_bytes", "l2_bytes", "l3_bytes"), wholes),
    **dict.fromkeys(("multiprocessors", "shared_memory_bytes", "warp_size"), wholes),
    **dict.fromkeys(("peak_flops", "bandwidth_bytes_s"), numbers),
)
failures = st.builds(Failure, stage=st.sampled_from(Stage), cause=texts, message=texts)


@st.composite
def platforms(draw: st.DrawFn, fingerprint: str) -> Platform:
    return Platform(
        fingerprint=fingerprint,
        name=draw(texts),
        kind=draw(texts),
        target_json=draw(texts),
        threads=draw(wholes),
        runnable=draw(st.booleans()),
        features=draw(features),
    )


@st.composite
def tasks(draw: st.DrawFn, key: str) -> Task:
    steps = st.lists(st.tuples(wholes, numbers), max_size=2).map(tuple)
    accesses = st.builds(Access, bytes=numbers, spans=st.lists(steps, max_size=2).map(tuple))
    tensors = st.builds(TensorSpec, name=texts, dtype=texts, shape=st.lists(st.integers(0, 9), max_size=3).map(tuple))
    return Task(
        key=key,
        name=draw(texts),
        weight=draw(st.integers(0, 99)),
        module_json=draw(texts),
        flops=draw(numbers),
        bytes_moved=draw(numbers),
        dtype=draw(texts),
        axes=tuple(draw(st.lists(st.builds(LoopAxis, extent=wholes, kind=texts), max_size=3))),
        arguments=tuple(draw(st.lists(tensors, max_size=3))),
        anchor=draw(texts),
        accesses=tuple(draw(st.lists(accesses, max_size=2))),
    )


@st.composite
def sketches(draw: st.DrawFn, key: str) -> tuple[Sketch, ...]:
    drawn = draw(st.lists(st.tuples(texts, st.lists(domains, max_size=3)), min_size=1, max_size=2))
    return tuple(
        Sketch(task_key=key, index=index, trace_json=trace, domains=tuple(of_sketch))
        for index, (trace, of_sketch) in enumerate(drawn)
    )


@st.composite
def records(draw: st.DrawFn, group: tuple[str, str], of: tuple[Sketch, ...]) -> tuple[Measured, ...]:
    made = {}
    for _ in range(draw(st.integers(1, 3))):
        chosen = draw(st.sampled_from(of))
        count = len(chosen.domains)
        taken = tuple(draw(st.lists(decisions, min_size=count, max_size=count)))
        failure = draw(st.none() | failures)
        candidate = Candidate(group[0], chosen.index, taken)
        made[candidate] = Measured(
            candidate=candidate,
            platform=group[1],
            latencies_s=() if failure else tuple(draw(st.lists(latencies, min_size=1, max_size=3))),
            failure=failure,
            cut_off=draw(st.booleans()),
            repeated_s=() if failure else tuple(draw(st.lists(latencies, max_size=2))),
        )
    return tuple(made.values())


@st.composite
def datasets(draw: st.DrawFn) -> Dataset:
    fingerprints, keys = draw(st.sets(names, min_size=1, max_size=2)), draw(st.sets(names, min_size=1, max_size=3))
    groups = draw(st.sets(st.tuples(st.sampled_from(sorted(keys)), st.sampled_from(sorted(fingerprints)))))
    of_group = {group: draw(sketches(group[0])) for group in sorted(groups)}
    weights = st.lists(st.tuples(st.sampled_from(sorted(keys)), wholes), max_size=3).map(tuple)
    networks = [
        DatasetNetwork(name=draw(texts), digest=digest, source=draw(texts), split=draw(splits), weights=draw(weights))
        for digest in sorted(draw(st.sets(names, max_size=2)), reverse=draw(st.booleans()))
    ]
    return sealed(
        Dataset(
            digest="",
            platforms={fingerprint: draw(platforms(fingerprint)) for fingerprint in fingerprints},
            networks=tuple(networks),
            tasks={key: draw(tasks(key)) for key in keys},
            sketches=of_group,
            records={group: draw(records(group, of)) for group, of in of_group.items()},
        )
    )
