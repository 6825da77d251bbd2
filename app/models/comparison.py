"""Two checkpoints side by side: how they are related, and what differs in what they say of themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QFont

from app.models import quantities
from app.models.checkpoint_table import lineage_text, platform_text
from app.models.evaluation import METRICS, EvaluationState
from app.models.plot_tables import PlotTable
from app.models.row_table import Column, RowTableModel
from app.translation import later, tr
from tcl_core.checkpoint_events import CheckpointFacts

_SAME = later("same")
_NONE = "–"


@dataclass(frozen=True, kw_only=True)
class ComparedFact:
    """One line. `verdict`: "same", the difference second minus first of two numbers, or what is different in a word."""

    name: str
    first: str
    second: str
    verdict: str


_COLUMNS: tuple[Column[ComparedFact], ...] = (
    Column("", later("What is compared"), lambda row: row.name),
    Column(later("First"), later("The first checkpoint"), lambda row: row.first),
    Column(later("Second"), later("The second checkpoint"), lambda row: row.second),
    Column(later("Difference"), later("Second minus first, of numbers"), lambda row: row.verdict),
)


class ComparisonTable(RowTableModel[ComparedFact]):
    """Lines that differ are bold, besides saying so."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(_COLUMNS, parent)

    def row_data(self, row: ComparedFact, column: int, role: int) -> Any:
        if role == Qt.ItemDataRole.FontRole and row.verdict != tr(_SAME):
            font = QFont()
            font.setBold(True)
            return font
        if role == Qt.ItemDataRole.ToolTipRole:
            return (row.name, row.first, row.second, row.verdict)[column]
        return None

    def as_table(self) -> PlotTable:
        """The lines, to save them."""
        return PlotTable(
            name="comparison",
            header=("fact", "first", "second", "difference"),
            rows=tuple((row.name, row.first, row.second, row.verdict) for row in self._rows),
        )


def compared(
    first: CheckpointFacts, second: CheckpointFacts, evaluation: EvaluationState, names: Mapping[str, str]
) -> tuple[ComparedFact, ...]:
    """Every fact of both; figures of the last evaluation follow by platform, of those both were ranked on.

    Args:
        names: of checkpoints by digest.
    """

    def parent(facts: CheckpointFacts) -> str:
        return names.get(facts.parent, facts.parent[:8]) if facts.parent else tr("none")

    plain = (
        (tr("Name"), first.name, second.name),
        (tr("Kind"), first.kind, second.kind),
        (tr("Cost model"), first.model or _NONE, second.model or _NONE),
        (tr("Platform"), platform_text(first), platform_text(second)),
        (tr("Lineage"), lineage_text(first), lineage_text(second)),
        (tr("Parent"), parent(first), parent(second)),
        (tr("Data"), first.data_hash[:16] or _NONE, second.data_hash[:16] or _NONE),
        (
            tr("Features"),
            tr("version {feature_version}", feature_version=first.feature_version),
            tr("version {feature_version}", feature_version=second.feature_version),
        ),
        (tr("Seed"), *(_NONE if facts.seed is None else str(facts.seed) for facts in (first, second))),
        (tr("Content"), first.digest[:16] or _NONE, second.digest[:16] or _NONE),
    )
    lines = [ComparedFact(name=name, first=a, second=b, verdict=_words(a, b)) for name, a, b in plain]
    counts = (
        (tr("Records"), first.records, second.records),
        (tr("Numbers"), first.numbers, second.numbers),
        (tr("Bytes"), first.size_bytes, second.size_bytes),
    )
    lines += [_count(name, a, b) for name, a, b in counts]
    return (*lines, *_saved_metrics(first, second), *_evaluated(first, second, evaluation))


def relation(first: CheckpointFacts, second: CheckpointFacts, every: Sequence[CheckpointFacts]) -> str:
    """How two checkpoints are related, one sentence."""
    if first.path == second.path:
        return tr("Both sides show the same checkpoint: choose another on one of them.")
    if first.digest and first.digest == second.digest:
        return tr("Both hold the same: one is a copy of the other.")
    up, down = _line(first, every), _line(second, every)
    for young, old, line in ((second, first, down), (first, second, up)):
        if old.digest and old.digest in line:
            steps = line.index(old.digest) + 1
            return tr("{name} went on from {name_2}", name=young.name, name_2=old.name) + (
                "." if steps == 1 else tr(", {steps} checkpoints later.", steps=steps)
            )
    common = next((digest for digest in up if digest in down), "")
    if common:
        name = next((one.name for one in every if one.digest == common), common[:8])
        return tr("Both went on from {name}.", name=name)
    return tr("They have no ancestor in common that is known here.")


def comparable(first: CheckpointFacts, second: CheckpointFacts) -> str:
    """Why the saved metrics must not be compared; "" when they may be."""
    if first.data_hash and first.data_hash == second.data_hash:
        return ""
    return tr("Their saved metrics come from different records. Evaluate both, to rank the same records with either.")


def _line(facts: CheckpointFacts, every: Sequence[CheckpointFacts]) -> list[str]:
    """Digests of the ancestors, nearest first, as far as they are known."""
    parents = {one.digest: one.parent for one in every if one.digest}
    found: list[str] = []
    digest = facts.parent
    while digest and digest not in found:
        found.append(digest)
        digest = parents.get(digest)
    return found


def _words(first: str, second: str) -> str:
    return tr(_SAME) if first == second else tr("differs")


def _count(name: str, first: int | None, second: int | None) -> ComparedFact:
    texts = [_NONE if value is None else f"{value:,}" for value in (first, second)]
    verdict = _words(*texts)
    if first is not None and second is not None and first != second:
        ratio = f" ({quantities.digits(second / first)}×)" if first and second else ""
        verdict = f"{second - first:+,}{ratio}"
    return ComparedFact(name=name, first=texts[0], second=texts[1], verdict=verdict)


def _figure(name: str, first: float | None, second: float | None) -> ComparedFact:
    texts = [_NONE if value is None else f"{value:.3f}" for value in (first, second)]
    verdict = _words(*texts)
    if first is not None and second is not None and texts[0] != texts[1]:
        verdict = f"{second - first:+.3f}"
    return ComparedFact(name=name, first=texts[0], second=texts[1], verdict=verdict)


def _saved_metrics(first: CheckpointFacts, second: CheckpointFacts) -> Iterator[ComparedFact]:
    one, other = dict(first.metrics), dict(second.metrics)
    for name in dict.fromkeys((*one, *other)):
        title = tr(METRICS.get(name, name.replace("_", " ")))
        yield _figure(
            tr("{upper}{title}, when saved", upper=title[0].upper(), title=title[1:]), one.get(name), other.get(name)
        )


def _evaluated(first: CheckpointFacts, second: CheckpointFacts, evaluation: EvaluationState) -> Iterator[ComparedFact]:
    if evaluation.result is None:
        return
    for column in evaluation.result.platforms:
        for name, title in METRICS.items():
            values = [evaluation.metric(facts.path, name).get(column.platform.fingerprint) for facts in (first, second)]
            if None not in values:
                yield _figure(
                    tr("{upper}{title} on {name}", upper=title[0].upper(), title=title[1:], name=column.platform.name),
                    values[0],
                    values[1],
                )
