"""A layout of parts side by side that go on in a further line where they have no room, as words do."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget


class FlowLayout(QLayout):
    """Its least width is that of the widest part, and its height follows from the width it is given."""

    def __init__(self, parent: QWidget, spacing: int) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self.setContentsMargins(0, 0, 0, 0)
        self.setSpacing(spacing)

    def addItem(self, item: QLayoutItem) -> None:  # noqa: N802  Qt's name
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:  # noqa: N802  None ends Qt's loops
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:  # noqa: N802  as above
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:  # noqa: N802  Qt's name
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:  # noqa: N802  Qt's name
        return True

    def heightForWidth(self, width: int) -> int:  # noqa: N802  Qt's name
        return max((place.bottom() + 1 for place in self._places(width)), default=0)

    def sizeHint(self) -> QSize:  # noqa: N802  Qt's name
        sizes = [item.sizeHint() for item in self._items]
        gaps = self.spacing() * max(0, len(sizes) - 1)
        return QSize(sum(size.width() for size in sizes) + gaps, max((size.height() for size in sizes), default=0))

    def minimumSize(self) -> QSize:  # noqa: N802  Qt's name
        sizes = [item.minimumSize() for item in self._items]
        return QSize(*(max((side(size) for size in sizes), default=0) for side in (QSize.width, QSize.height)))

    def setGeometry(self, rect: QRect) -> None:  # noqa: N802  Qt's name
        super().setGeometry(rect)
        for item, place in zip(self._items, self._places(rect.width()), strict=True):
            item.setGeometry(place.translated(rect.topLeft()))

    def _places(self, width: int) -> list[QRect]:
        """Where the parts stand in so many pixels, those of a line at the same middle; the origin is the corner."""
        lines: list[list[QSize]] = []
        used = 0
        for size in (item.sizeHint() for item in self._items):
            if not lines or used + size.width() > width:
                lines.append([])
                used = 0
            lines[-1].append(size)
            used += size.width() + self.spacing()
        places, top = [], 0
        for line in lines:
            height, left = max(size.height() for size in line), 0
            for size in line:
                places.append(QRect(QPoint(left, top + (height - size.height()) // 2), size))
                left += size.width() + self.spacing()
            top += height + self.spacing()
        return places
