"""The loop tree of one record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import QModelIndex, QObject, Qt
from PySide6.QtGui import QFont, QStandardItem, QStandardItemModel

from app.models.row_table import RIGHT
from app.models.schedule_diff import Mark
from app.translation import later, tr
from tcl_core.schedule_events import Place, PlaceKind, Step

PLACE_ROLE = int(Qt.ItemDataRole.UserRole) + 5
"""Index of the row's place."""

_NESTED = "↳"
_TITLES = (later("Loop or block"), later("Extent"), later("Runs"))


def kind_words(place: Place) -> str:
    """How a loop runs: "parallel", or the thread axis it is bound to; "block" for a block."""
    return place.axis if place.kind is PlaceKind.BOUND else place.kind.value


def _iterations(extent: int) -> str:
    return tr(", 1 iteration") if extent == 1 else tr(", {extent:,} iterations", extent=extent)


def place_hint(place: Place, steps: Sequence[Step]) -> str:
    """Everything about a place, line by line."""
    lines = [f"{place.name}: {kind_words(place)}" + (_iterations(place.extent) if place.extent else "")]
    lines += [tr("reads {text}", text=text) for text in place.reads] + [
        tr("writes {text}", text=text) for text in place.writes
    ]
    lines += place.notes
    if place.made_by >= 0:
        lines.append(
            tr(
                "made by step {made_by}: {name} {arguments}",
                made_by=place.made_by + 1,
                name=steps[place.made_by].name,
                arguments=steps[place.made_by].arguments,
            )
        )
    return "\n".join(lines)


class LoopTreeModel(QStandardItemModel):
    """One row a loop or block. What is alone inside the row above stands below it, with an arrow, on the same level.

    Only where there are several things inside a loop does the tree branch: a nest of twenty loops stays readable.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._items: list[QStandardItem] = []
        self.set_places((), (), {})

    def set_places(self, places: Sequence[Place], steps: Sequence[Step], marks: Mapping[int, Mark]) -> None:
        """Show another tree; marked places differ from the record it is compared with."""
        self.clear()
        self.setHorizontalHeaderLabels([tr(title) for title in _TITLES])
        self.setHeaderData(1, Qt.Orientation.Horizontal, RIGHT, Qt.ItemDataRole.TextAlignmentRole)
        self._items = []
        children = Counter(place.parent for place in places)
        for number, place in enumerate(places):
            mark = marks.get(number, Mark.NONE)
            alone = place.parent >= 0 and children[place.parent] == 1
            title = " ".join(filter(None, (_NESTED if alone else "", mark.value, place.name)))
            row = _row(place, number, title)
            hint = place_hint(place, steps)
            for item in row:
                item.setToolTip(hint)
            above = self._items[place.parent] if place.parent >= 0 else None
            parent = above.parent() if above is not None and alone else above
            (parent or self.invisibleRootItem()).appendRow(row)
            self._items.append(row[0])

    def index_of(self, place: int) -> QModelIndex:
        """Where a place is."""
        return self._items[place].index()

    def place_of(self, index: QModelIndex) -> int:
        """Which place a row is; -1 for none."""
        value: Any = index.siblingAtColumn(0).data(PLACE_ROLE) if index.isValid() else None
        return -1 if value is None else int(value)

    def as_text(self) -> str:
        """The tree as indented lines."""

        def lines(parent: QModelIndex, depth: int) -> list[str]:
            found = []
            for row in range(self.rowCount(parent)):
                index = self.index(row, 0, parent)
                cells = [str(index.siblingAtColumn(column).data() or "") for column in range(len(_TITLES))]
                found.append("  " * depth + "\t".join(cells))
                found += lines(index, depth + 1)
            return found

        return "\n".join(lines(QModelIndex(), 0))


def _row(place: Place, number: int, title: str) -> list[QStandardItem]:
    name, extent = QStandardItem(title), QStandardItem(f"{place.extent:,}" if place.extent else "")
    kind = QStandardItem(kind_words(place))
    extent.setTextAlignment(RIGHT)
    name.setData(number, PLACE_ROLE)
    if place.kind is PlaceKind.BLOCK:
        bold = QFont()
        bold.setBold(True)
        name.setFont(bold)
    for item in (name, extent, kind):
        item.setEditable(False)
    return [name, extent, kind]
