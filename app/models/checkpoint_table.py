"""Checkpoints of a workspace: one row each, children below the one they went on from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from PySide6.QtCore import QObject, Qt

from app.models import quantities
from app.models.row_table import Column, RowTableModel
from app.translation import later, tr
from tcl_core.checkpoint_events import CheckpointFacts, PlatformRecords, WorkspaceListed
from tcl_core.config import KNOWLEDGE_MODEL, LEARNED_MODEL

_SHORT = 8
_INDENT = "     "


class CheckpointColumn(IntEnum):
    """Columns of the checkpoint table."""

    NAME = 0
    KIND = 1
    TOP1 = 2
    TOP5 = 3
    PAIRWISE = 4
    RECORDS = 5
    MODEL = 6
    SIZE = 7
    PLATFORM = 8


BRANCH_ROLE = int(Qt.ItemDataRole.UserRole) + 3
"""A row's `Branch`."""


@dataclass(frozen=True, kw_only=True)
class Branch:
    """A row's piece of the lineage's graph, one column of it per generation.

    Attributes:
        depth: ancestors in the table.
        passing: for each generation above, whether its line goes on below this row, to a later child.
        parent: whether children follow below.
        kind: of the checkpoint; "" where its file cannot be read.
        name: what stands beside it.
    """

    depth: int
    passing: tuple[bool, ...]
    parent: bool
    kind: str
    name: str


@dataclass(frozen=True, kw_only=True)
class CheckpointRow:
    """A checkpoint in its place.

    Attributes:
        depth: ancestors in the table.
        passing, has_children: see `Branch`.
        parent: what a person reads for its parent.
    """

    facts: CheckpointFacts
    depth: int
    passing: tuple[bool, ...]
    has_children: bool
    parent: str

    @property
    def branch(self) -> Branch:
        facts = self.facts
        kind = "" if facts.problem else facts.kind
        return Branch(depth=self.depth, passing=self.passing, parent=self.has_children, kind=kind, name=facts.name)


def _name(row: CheckpointRow) -> str:
    branch = f"{_INDENT * (row.depth - 1)}└  " if row.depth else ""
    return branch + row.facts.name


def _metric(name: str) -> Callable[[CheckpointRow], float]:
    """The metric; -1 where nobody measured it."""
    return lambda row: dict(row.facts.metrics).get(name, -1.0)


def _metric_column(title: str, hint: str, name: str) -> Column[CheckpointRow]:
    value = _metric(name)

    def text(row: CheckpointRow) -> str:
        return "–" if value(row) < 0 else f"{value(row):.3f}"

    return Column(title, hint, text, value, numeric=True)


_COLUMNS: tuple[Column[CheckpointRow], ...] = (
    Column(later("Checkpoint"), later("Children stand below the checkpoint they went on from"), _name),
    Column(
        later("Kind"),
        later(
            "Left by a run, trained on records, learned over platforms, or shipped; runs start "
            "from a default one when nothing else is asked for"
        ),
        lambda row: tr("{kind}, default", kind=row.facts.kind) if row.facts.starts else row.facts.kind,
    ),
    _metric_column(
        "Top-1", later("Speed of the candidate ranked first, relative to the best, on networks it has not seen"), "top1"
    ),
    _metric_column(
        "Top-5",
        later("Speed of the best of the five ranked first, relative to the best, on networks it has not seen"),
        "top5",
    ),
    _metric_column(
        later("Pairwise"),
        later("Share of pairs of candidates that are ranked rightly, on networks it has not seen"),
        "pairwise",
    ),
    Column(
        later("Records"),
        later("Records it was trained on last"),
        lambda row: "–" if row.facts.records is None else f"{row.facts.records:,}",
        lambda row: -1 if row.facts.records is None else row.facts.records,
        numeric=True,
    ),
    Column(later("Model"), later("The cost model it holds"), lambda row: row.facts.model or tr("unreadable")),
    Column(
        "KB",
        later("Size of the file, in kilobytes"),
        lambda row: f"{row.facts.size_bytes / 1000:,.0f}" if row.facts.size_bytes else "–",
        lambda row: row.facts.size_bytes,
        numeric=True,
    ),
    Column(
        later("Platform"),
        later("Whose records it learned from last"),
        lambda row: row.facts.platform.name if row.facts.platform else "–",
    ),
)


class CheckpointTableModel(RowTableModel[CheckpointRow]):
    """What a workspace holds. Reset whenever a listing arrives or another platform is chosen.

    Attributes:
        listing: the last `WorkspaceListed`, None before the first.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(_COLUMNS, parent)
        self.listing: WorkspaceListed | None = None
        self._platform = ""

    def set_listing(self, listing: WorkspaceListed | None) -> None:
        """Show a workspace; None shows nothing."""
        self.beginResetModel()
        self.listing = listing
        if self._platform not in {one.platform.fingerprint for one in self.platforms}:
            self._platform = ""
        self._arrange()
        self.endResetModel()

    def choose_platform(self, fingerprint: str) -> None:
        """Show the checkpoints of one platform alone; "" for all."""
        if fingerprint == self._platform:
            return
        self.beginResetModel()
        self._platform = fingerprint
        self._arrange()
        self.endResetModel()

    @property
    def platform(self) -> str:
        """Fingerprint of the platform that is shown alone; "" for all."""
        return self._platform

    @property
    def platforms(self) -> tuple[PlatformRecords, ...]:
        """Platforms of the workspace."""
        return self.listing.platforms if self.listing else ()

    @property
    def checkpoints(self) -> tuple[CheckpointFacts, ...]:
        """All of the workspace, whatever is shown."""
        return self.listing.checkpoints if self.listing else ()

    def facts(self, row: int) -> CheckpointFacts | None:
        """The checkpoint of a row; None outside the table."""
        return self._rows[row].facts if 0 <= row < len(self._rows) else None

    def row_of(self, path: str) -> int:
        """The row of a file; -1 where it is not shown."""
        return next((number for number, row in enumerate(self._rows) if row.facts.path == path), -1)

    def _arrange(self) -> None:
        shown = [
            one
            for one in self.checkpoints
            if not self._platform or (one.platform and one.platform.fingerprint == self._platform)
        ]
        names = {one.digest: one.name for one in self.checkpoints if one.digest}
        self._rows = list(_family(shown, names))

    def row_data(self, row: CheckpointRow, column: int, role: int) -> Any:
        if role == BRANCH_ROLE:
            return row.branch
        if role == Qt.ItemDataRole.ToolTipRole:
            return row.facts.problem or "\n".join(f"{name}: {text}" for name, text in details(row))
        return None

    def details(self, row: int) -> tuple[tuple[str, str], ...]:
        """Everything that is known of the checkpoint of a row, line by line."""
        return details(self._rows[row])


def details(row: CheckpointRow) -> tuple[tuple[str, str], ...]:
    """Everything that is known of a checkpoint, by name."""
    facts = row.facts
    lines = [
        (tr("Model"), tr("{model}, {numbers:,} numbers", model=facts.model or "–", numbers=facts.numbers)),
        (tr("Platform"), platform_text(facts)),
        (tr("Lineage"), lineage_text(facts)),
        (tr("Parent"), row.parent or tr("none: it began with nothing")),
        (tr("Metrics"), ", ".join(f"{name} {value:.3f}" for name, value in facts.metrics) or tr("none")),
        (tr("Records"), "–" if facts.records is None else f"{facts.records:,}"),
        (tr("Seed"), "–" if facts.seed is None else str(facts.seed)),
        (
            tr("Features"),
            tr("version {feature_version}", feature_version=facts.feature_version)
            + ("" if facts.fits else tr(", which this version cannot use")),
        ),
        (
            tr("File"),
            tr("{path} ({size_bytes} KB)", path=facts.path, size_bytes=quantities.digits(facts.size_bytes / 1000)),
        ),
        (tr("Digest"), facts.digest[:16] or "–"),
    ]
    return tuple(lines)


def platform_text(facts: CheckpointFacts) -> str:
    """The platform it learned from last, with the beginning of its fingerprint."""
    platform = facts.platform
    return f"{platform.name} ({platform.fingerprint[:_SHORT]})" if platform else "–"


def lineage_text(facts: CheckpointFacts) -> str:
    """All platforms it has learned from, oldest first."""
    return " → ".join(facts.lineage) or "–"


def start_model(facts: CheckpointFacts) -> str:
    """The cost model that a run starts from this checkpoint with."""
    return KNOWLEDGE_MODEL if facts.model == LEARNED_MODEL else facts.model


def _family(shown: Sequence[CheckpointFacts], names: dict[str, str]) -> Iterator[CheckpointRow]:
    """Parents before their children, each generation in the listing's order."""
    digests = {one.digest for one in shown if one.digest}
    children: dict[str, list[CheckpointFacts]] = {}
    roots = []
    for one in shown:
        if one.parent and one.parent in digests and one.parent != one.digest:
            children.setdefault(one.parent, []).append(one)
        else:
            roots.append(one)
    told: set[str] = set()
    waiting: list[tuple[CheckpointFacts, tuple[bool, ...]]] = [(one, ()) for one in reversed(roots)]
    while waiting:
        one, passing = waiting.pop()
        away = tr("{parent}, not in this workspace", parent=one.parent[:_SHORT]) if one.parent else ""
        # A copy of a checkpoint has the same digest: children stand once.
        below = children.get(one.digest, []) if one.digest and one.digest not in told else []
        told.add(one.digest)
        yield CheckpointRow(
            facts=one,
            depth=len(passing),
            passing=passing,
            has_children=bool(below),
            parent=names.get(one.parent or "", away),
        )
        waiting += [(child, (*passing, child is not below[-1])) for child in reversed(below)]
