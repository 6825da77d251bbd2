"""Checkpoints as texts, tables and JSON, for the commands that make or manage them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.table import Table

from tcl_core.checkpoints.file import CheckpointFile
from tcl_core.checkpoints.shelf import Entry
from tcl_core.command_line.output import Output

Metrics = Sequence[tuple[str, float]]
_DECIDING = "validation_"
_SHORT = 8
"""Digits of a fingerprint or digest in the list; the rest is in `show`."""


def show_metrics(metrics: Metrics, held_out: Sequence[str], output: Output) -> None:
    """One line, or why there are none; those of the networks that decide when to stop apart."""
    tested = [(name, value) for name, value in metrics if not name.startswith(_DECIDING)]
    decided = [(name, value) for name, value in metrics if name.startswith(_DECIDING)]
    text = "not tested: no network with a success on this platform is held out (that takes two networks measured on it)"
    if tested:
        text = " on ".join(filter(None, (metrics_text(tested), ", ".join(held_out))))
    if decided:
        text = f"{text}; {metrics_text(decided)} on those that decide when to stop"
    output.result.print(text, soft_wrap=True)


def metrics_text(metrics: Metrics) -> str:
    """Names and values in one line."""
    return ", ".join(f"{name} {value:.4f}" for name, value in metrics)


def file_json(file: CheckpointFile) -> dict[str, Any]:
    """Everything a checkpoint says of itself."""
    origin = file.origin
    return {
        "path": str(file.path),
        "cost_model": file.model,
        "digest": file.digest,
        "size_bytes": file.size_bytes,
        "numbers": file.numbers,
        "feature_version": file.layout.version,
        "fits": file.fits,
        "libraries": dict(file.libraries),
        "kind": origin.kind.value if origin else None,
        "platform": _platform(origin.platform.fingerprint, origin.platform.name) if origin else None,
        "target": origin.platform.target_json if origin else None,
        "lineage": list(origin.lineage) if origin else [],
        "parent": origin.parent if origin else None,
        "data_hash": origin.data_hash if origin else None,
        "records": origin.records if origin else None,
        "metrics": dict(origin.metrics) if origin else {},
        "seed": origin.seed if origin else None,
    }


def entry_json(entry: Entry) -> dict[str, Any]:
    """One row of the list."""
    platform = entry.platform
    known = file_json(entry.file) if entry.file else {"path": str(entry.path)}
    return known | {
        "id": entry.id,
        "name": entry.name,
        "kind": entry.kind,
        "platform": _platform(platform.fingerprint, platform.name) if platform else None,
        "default_for": list(entry.starts),
        "problem": entry.problem or None,
    }


def _platform(fingerprint: str, name: str) -> dict[str, str]:
    return {"fingerprint": fingerprint, "name": name}


def entry_legend(entries: Sequence[Entry]) -> list[str]:
    """What `entry_table` abbreviates, and what is wrong with a file, one line each."""
    platforms = {entry.platform.fingerprint: entry.platform.name for entry in entries if entry.platform}
    lines = [f"{fingerprint[:_SHORT]}: {name}" for fingerprint, name in platforms.items()]
    if any(entry.starts for entry in entries):
        lines.append("* runs start from it when nothing else is asked for")
    return lines + [entry.problem for entry in entries if entry.problem]


def _top1(metrics: dict[str, float]) -> str:
    return f"{metrics['top1']:.3f}" if "top1" in metrics else "-"


def entry_table(entries: Sequence[Entry]) -> Table:
    """The list, with top-1 alone of the metrics; `*` marks what runs start from when nothing else is asked for."""
    table = Table(box=None, pad_edge=False)
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("name", overflow="fold")
    for heading in ("kind", "model", "platform", "parent"):
        table.add_column(heading, no_wrap=True)
    for heading in ("records", "KB", "top-1"):
        table.add_column(heading, justify="right", no_wrap=True)
    for entry in entries:
        origin = entry.origin
        table.add_row(
            "" if entry.id is None else str(entry.id),
            "*" if entry.starts else "",
            entry.name,
            entry.kind,
            entry.file.model if entry.file else "-",
            entry.platform.fingerprint[:_SHORT] if entry.platform else "-",
            origin.parent[:_SHORT] if origin and origin.parent else "-",
            f"{origin.records:,}" if origin else "-",
            f"{entry.file.size_bytes / 1000:,.0f}" if entry.file else "-",
            _top1(dict(origin.metrics) if origin else {}),
        )
    return table
