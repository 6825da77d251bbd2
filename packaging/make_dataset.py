"""Make a dataset of collected workspaces: ``python packaging/make_dataset.py WORKSPACE... --out resources/dataset``.

Run from the checkout. A dataset's folder among the workspaces is merged like one, so that what was measured elsewhere
stays; ``--drop`` leaves out a platform of such a dataset that was measured anew. Writes the Parquet files and, beside
them, the data card (README.md), and says how large they are. Networks that no ``--split`` and no dataset names are
split by `tcl_core.dataset.assign_splits`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tcl_core.dataset import (  # noqa: E402
    Dataset,
    Split,
    assign_splits,
    data_card,
    is_dataset,
    merge_datasets,
    read_dataset,
    write_dataset,
)
from tcl_core.errors import UserError  # noqa: E402
from tcl_core.evaluation.from_workspace import dataset_from  # noqa: E402
from tcl_core.store import Workspace  # noqa: E402

LIMIT_BYTES = 40_000_000
"""What the repository takes."""

CARD = "README.md"


def make_dataset(
    paths: Sequence[Path],
    out: Path,
    splits: Mapping[str, Split],
    sources: Mapping[str, str],
    drop: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> dict[str, int]:
    """Merge workspaces and datasets into the folder `out`, with its card; gives the bytes of each file by name.

    Args:
        drop: fingerprints of platforms that are left out of the datasets.
        notes: see `data_card`.

    Raises:
        UserError: a workspace that is none or holds nothing to learn from, datasets that cannot be merged, a platform
            to drop that no dataset has, a full disk.
    """
    parts: list[Dataset] = []
    known: dict[str, Split] = {}
    dropped: set[str] = set()
    for path in paths:
        if is_dataset(path):
            part = _with_sources(read_dataset(path), sources)
            dropped |= part.platforms.keys() & set(drop)
            parts.append(_without(part, drop))
            known |= {network.name: network.split for network in parts[-1].networks}
            continue
        with Workspace.open(path, create=False, read_only=True) as workspace:
            parts.append(dataset_from(workspace, {}, sources))
    if missing := set(drop) - dropped:
        raise UserError("dataset", f"No dataset has the platform {min(missing)} that is to be dropped.")
    # Held-out networks are chosen among those of all parts.
    assigned = assign_splits((network.name for part in parts for network in part.networks), {**known, **splits})
    write_dataset(out, merge_datasets([_with_splits(part, assigned) for part in parts]))
    sizes = {file.name: file.stat().st_size for file in sorted(out.glob("*.parquet"))}
    # What is told is what can be read back.
    card = data_card(read_dataset(out), sizes, notes=notes)
    try:
        (out / CARD).write_text(card, encoding="utf-8")
    except OSError as error:
        raise UserError("dataset", f"The data card {out / CARD} cannot be written: {error.strerror}.") from error
    return {**sizes, CARD: len(card.encode())}


def _with_sources(part: Dataset, sources: Mapping[str, str]) -> Dataset:
    networks = tuple(replace(network, source=sources.get(network.name, network.source)) for network in part.networks)
    return replace(part, networks=networks)


def _without(part: Dataset, drop: Sequence[str]) -> Dataset:
    return replace(
        part,
        platforms={key: platform for key, platform in part.platforms.items() if key not in drop},
        sketches={group: found for group, found in part.sketches.items() if group[1] not in drop},
        records={group: found for group, found in part.records.items() if group[1] not in drop},
    )


def _with_splits(part: Dataset, assigned: Mapping[str, Split]) -> Dataset:
    networks = tuple(replace(network, split=assigned[network.name]) for network in part.networks)
    return replace(part, networks=networks)


def _named(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=VALUE")
    return name, value


def _split(text: str) -> tuple[str, Split]:
    name, value = _named(text)
    if value not in [*Split]:
        raise argparse.ArgumentTypeError(f"'{value}' is not one of {', '.join(Split)}")
    return name, Split(value)


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse, make, tell; 0, or 2 with one sentence."""
    parser = argparse.ArgumentParser(description="Merge collected workspaces into one dataset folder.")
    parser.add_argument(
        "workspaces", nargs="+", type=Path, metavar="WORKSPACE", help="a folder that collect filled, or a dataset's"
    )
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="the dataset's folder")
    parser.add_argument(
        "--split",
        action="append",
        default=[],
        type=_split,
        metavar="NAME=SPLIT",
        help=f"one of {', '.join(Split)}",
    )
    parser.add_argument(
        "--source", action="append", default=[], type=_named, metavar="NAME=TEXT", help="where a network comes from"
    )
    parser.add_argument(
        "--drop",
        action="append",
        default=[],
        metavar="FINGERPRINT",
        help="a platform that the datasets' records are left out of",
    )
    parser.add_argument(
        "--note", action="append", default=[], metavar="TEXT", help="what else the card says of how it was measured"
    )
    parsed = parser.parse_args(arguments)
    try:
        sizes = make_dataset(
            parsed.workspaces, parsed.out, dict(parsed.split), dict(parsed.source), parsed.drop, parsed.note
        )
    except UserError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    for name, size in sizes.items():
        sys.stdout.write(f"{size:>12,} {name}\n")
    total = sum(sizes.values())
    sys.stdout.write(f"{total:>12,} bytes in {parsed.out}\n")
    if total > LIMIT_BYTES:
        sys.stderr.write(f"That is more than the {LIMIT_BYTES:,} bytes that the repository takes; collect fewer.\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
