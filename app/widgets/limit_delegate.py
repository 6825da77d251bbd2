"""A table cell that is edited as a number of trials; an empty one is no limit."""

from __future__ import annotations

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QValidator
from PySide6.QtWidgets import QSpinBox, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.models.task_columns import NO_LIMIT
from app.translation import tr

_MOST = 10_000_000
_STEP = 16


class TrialsBox(QSpinBox):
    """A whole number of trials; 0 and an empty field are no limit.

    Attributes:
        filled: it shows the cell's value; what it says from then on is the person's.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.filled = False
        self.setRange(0, _MOST)
        self.setSingleStep(_STEP)
        self.setSpecialValueText(tr(NO_LIMIT))
        self.setFrame(False)
        self.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.setAccessibleName(tr("Most trials of the task in the next run"))

    def validate(self, text: str, position: int) -> tuple[QValidator.State, str, int]:
        """Qt's hook: an emptied field is a value, too."""
        if not text.strip():
            return QValidator.State.Acceptable, text, position
        return super().validate(text, position)

    def valueFromText(self, text: str) -> int:  # noqa: N802  Qt's name
        return super().valueFromText(text) if text.strip() else 0


class LimitDelegate(QStyledItemDelegate):
    """Edits `EditRole` of a cell, an int from 0."""

    def createEditor(  # noqa: N802  Qt's name
        self, parent: QWidget, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QWidget:
        return TrialsBox(parent)

    def setEditorData(self, editor: QWidget, index: QModelIndex | QPersistentModelIndex) -> None:  # noqa: N802
        assert isinstance(editor, TrialsBox)
        if editor.filled:  # Qt asks again whenever the row changes: during a run, while a person types
            return
        editor.filled = True
        editor.setValue(int(index.data(Qt.ItemDataRole.EditRole)))
        editor.selectAll()

    def setModelData(  # noqa: N802  Qt's name
        self, editor: QWidget, model: QAbstractItemModel, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        assert isinstance(editor, TrialsBox)
        editor.interpretText()
        model.setData(index, editor.value(), Qt.ItemDataRole.EditRole)

    def finish(self, editor: TrialsBox) -> None:
        """Take what was typed, as if Return had been pressed."""
        self.commitData.emit(editor)
        self.closeEditor.emit(editor)
