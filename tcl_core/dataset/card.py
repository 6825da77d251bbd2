"""The data card: what a dataset holds, how it was measured, how noisy it is; as Markdown, every figure computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from statistics import median

from tcl_core.config import CAREFUL, CollectConfig, MeasureConfig
from tcl_core.counting import counted
from tcl_core.dataset.base import Dataset, DatasetNetwork, Measured, Split
from tcl_core.dataset.noise import Noise, measure_noise
from tcl_core.domain import Platform

_FILES = {
    "platforms": "one row per platform: fingerprint, name, target, threads, and the features a cost model is told",
    "networks": "one row per network: digest, source, split, and its tasks with their weights",
    "tasks": "one row per task: its unscheduled module (`tvm.ir.save_json`), FLOPs, bytes moved, loops, arguments",
    "sketches": "one row per task, platform and sketch: its trace, and every legal value of every decision",
    "records": "one row per record: task, platform, sketch, decisions, latencies in seconds or a failure, whether it "
    "was cut off, and the latencies of a second measurement where there was one",
}


def data_card(
    dataset: Dataset,
    file_bytes: Mapping[str, int] | None = None,
    measure: MeasureConfig = CAREFUL,
    notes: Sequence[str] = (),
) -> str:
    """The card as Markdown.

    Args:
        file_bytes: bytes of each file by name, where it has been written.
        measure: the rules the records were measured by.
        notes: what else is to be known of how it was measured.
    """
    sections = (
        _summary(dataset),
        _platforms(dataset),
        _networks(dataset),
        _tasks(dataset),
        _records(dataset),
        _noise(dataset),
        [*_how_measured(measure), *(line for note in notes for line in ("", note))],
        _files(file_bytes or {}),
    )
    return "\n".join(line for section in sections for line in (*section, ""))


def _table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return [
        "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in line) + " |" for line in lines
    ]


def _of(dataset: Dataset, platform: str | None = None) -> list[Measured]:
    groups = (records for (_, on), records in dataset.records.items() if platform in {None, on})
    return [*chain.from_iterable(groups)]


def _share(part: int, whole: int) -> str:
    return f"{part:,} ({_percent(part / whole, 1)})" if whole else "0"


def _percent(share: float, decimals: int = 0) -> str:
    """As all the project writes it: a space before the sign."""
    return f"{100 * share:.{decimals}f} %"


def _summary(dataset: Dataset) -> list[str]:
    records = _of(dataset)
    failures = sum(record.failure is not None for record in records)
    return [
        "# Data card",
        "",
        "Measured candidates of tensor programs, for cost models that rank schedules: "
        f"**{counted(len(records), 'record')}** of **{counted(len({task for task, _ in dataset.records}), 'task')}** "
        f"from **{counted(len(dataset.networks), 'network')}** on **{counted(len(dataset.platforms), 'platform')}**. "
        f"Failures among them: {_share(failures, len(records))}. Content digest `{dataset.digest}`.",
        "",
        "Made by `python packaging/make_dataset.py`, this page too, from workspaces that `main.py collect` filled.",
    ]


def _platforms(dataset: Dataset) -> list[str]:
    hardware = ("threads", "cores", "vector bits", "L1 / L2 / L3 KiB", "peak GFLOP/s", "bandwidth GB/s")
    header = ("platform", "fingerprint", "target", *hardware, "tasks", "records")
    return ["## Platforms", "", *_table(header, (_platform_row(dataset, each) for each in dataset.platforms.values()))]


def _platform_row(dataset: Dataset, platform: Platform) -> tuple[object, ...]:
    features = platform.features
    return (
        platform.name,
        f"`{platform.fingerprint}`",
        f"`{platform.target_json}`",
        platform.threads,
        features.cores or features.multiprocessors,
        features.vector_bits,
        " / ".join(f"{size >> 10:,}" for size in (features.l1_bytes, features.l2_bytes, features.l3_bytes)),
        f"{features.peak_flops / 1e9:,.0f}",
        f"{features.bandwidth_bytes_s / 1e9:,.1f}",
        sum(on == platform.fingerprint for _, on in dataset.records),
        f"{len(_of(dataset, platform.fingerprint)):,}",
    )


def _networks(dataset: Dataset) -> list[str]:
    rows = [
        (network.name, network.split, len(network.weights), _own_tasks(dataset, network), network.source)
        for network in sorted(dataset.networks, key=lambda each: (list(Split).index(each.split), each.name))
    ]
    held_out = {key for each in dataset.networks if each.split is not Split.TRAIN for key, _ in each.weights}
    training = {key for each in dataset.networks if each.split is Split.TRAIN for key, _ in each.weights}
    return [
        "## Networks and splits",
        "",
        "Splits are by network, and a task that occurs in a held-out network is in no training set: "
        f"{len(training - held_out)} of the {len(training)} tasks of the training networks are trained on. Choices are "
        "made on the validation networks; the test networks are for the tables alone.",
        "",
        *_table(("network", "split", "tasks", "in no other network", "source"), rows),
    ]


def _own_tasks(dataset: Dataset, network: DatasetNetwork) -> int:
    others = {key for each in dataset.networks if each.digest != network.digest for key, _ in each.weights}
    return len(dict(network.weights).keys() - others)


def _tasks(dataset: Dataset) -> list[str]:
    anchors = Counter(task.anchor for task in dataset.tasks.values())
    return ["## Tasks by anchor", "", *_table(("anchor", "tasks"), anchors.most_common())]


def _records(dataset: Dataset) -> list[str]:
    lines = ["## Records", ""]
    sizes = [len(records) for records in dataset.records.values()]
    if sizes:
        lines += [
            f"Candidates of a task on a platform: {min(sizes)} to {max(sizes)}, median {median(sizes):g}. In the "
            f"median task the median success is {median(_spreads(dataset) or [1.0]):.1f} times as slow as the best.",
            "",
        ]
    rows = []
    for platform in dataset.platforms.values():
        records = _of(dataset, platform.fingerprint)
        failed, cut_off = sum(r.failure is not None for r in records), sum(r.cut_off for r in records)
        rows.append((platform.name, f"{len(records):,}", _share(failed, len(records)), _share(cut_off, len(records))))
    lines += _table(("platform", "records", "failures", "cut off after a quick run"), rows)
    causes = Counter(
        (record.failure.stage.value, record.failure.cause) for record in _of(dataset) if record.failure is not None
    )
    if causes:
        failed_at = [(stage, cause, f"{count:,}") for (stage, cause), count in causes.most_common()]
        lines += ["", *_table(("failed at", "cause", "records"), failed_at)]
    return lines


def _spreads(dataset: Dataset) -> list[float]:
    """Median over best latency of each group with a success."""
    groups = ([r.latency_s for r in records if r.latency_s is not None] for records in dataset.records.values())
    return [median(latencies) / min(latencies) for latencies in groups if latencies]


def _noise(dataset: Dataset) -> list[str]:
    every = _of(dataset)
    cases = {"all": every, "not cut off": [record for record in every if not record.cut_off]}
    cases |= {platform.name: _of(dataset, platform.fingerprint) for platform in dataset.platforms.values()}
    rows = [
        (name, noise.repeats, *_spread(noise))
        for name, records in cases.items()
        if (noise := measure_noise(records)) is not None
    ]
    if not rows:
        return ["## Noise", "", "No record was measured a second time."]
    header = ("records", "measured twice", "log2 ratio, median", "90th %", "relative difference, median", "90th %")
    return [
        "## Noise",
        "",
        "Some records were measured a second time, later and in another process. How far the two are apart, inside a "
        "task: what all its records share then is divided out:",
        "",
        *_table(header, rows),
    ]


def _spread(noise: Noise) -> tuple[str, str, str, str]:
    log2 = (f"{noise.log2_median:.3f}", f"{noise.log2_p90:.3f}")
    return (*log2, _percent(noise.relative_median, 1), _percent(noise.relative_p90, 1))


def _how_measured(measure: MeasureConfig) -> list[str]:
    return [
        "## How it was measured",
        "",
        "Candidates are distinct draws from a task's sketches, and mutations of the fastest quarter of them "
        f"({_percent(CollectConfig.bred)} of a pool unless it was asked for otherwise), replayed, postprocessed and "
        "deduplicated by structural hash. They are compiled side by side and timed one at a time on "
        "seeded random arguments: one run to warm up, then a quick one. A candidate whose quick run is slower than "
        f"{measure.cutoff:g} times the best of its task so far is cut off there and keeps that one latency. The others "
        f"are timed {_times(measure.repeats)}, each over at least {measure.min_repeat_s * 1e3:g} ms. A latency is the "
        "mean time of one run in such a repeat, in seconds; a record's latency is the median of its repeats. "
        f"{_visits(measure.visits)}With every later batch of a task, that of second measurements too, up to "
        f"{CollectConfig.references} random records of before are timed again, and what they are slower or faster by "
        f"is divided out; a batch in which they take more than {CollectConfig.steady:g} times as long is timed again, "
        f"and left out if it stays more than {measure.cutoff:g} times. Compiling may take "
        f"{measure.compile_timeout_s:g} s and running "
        f"{measure.run_timeout_s:g} s; a failure is a record too, with its stage and cause. Peak FLOP/s and "
        "bandwidth of a platform are micro-benchmarks on the same machine.",
    ]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _visits(count: int) -> str:
    if count == 1:
        return ""
    return (
        f"Each candidate is visited {_times(count)} so, with the rest of its batch between, and the visit with the "
        "least median counts: other work on the machine only ever adds. "
    )


def _files(file_bytes: Mapping[str, int]) -> list[str]:
    rows = [
        (f"`{name}.parquet`", f"{file_bytes[f'{name}.parquet']:,}" if f"{name}.parquet" in file_bytes else "", text)
        for name, text in _FILES.items()
    ]
    total = [f"Together {sum(file_bytes.values()) / 1e6:.2f} MB.", ""] if file_bytes else []
    return [
        "## Files",
        "",
        "Parquet with zstd, readable by any Parquet reader.",
        "",
        *total,
        *_table(("file", "bytes", "holds"), rows),
    ]
