"""A device's state: its words, with an icon before them that differs by shape and colour."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex
from PySide6.QtWidgets import QStyleOptionViewItem

from app.icons import icon
from app.models.device_table import Mark
from app.tokens import Tokens
from app.widgets.role_delegate import RoleDelegate


class MarkDelegate(RoleDelegate):
    """Paints the icon of a `Mark`."""

    def initStyleOption(  # noqa: N802  Qt's name
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Qt's hook."""
        super().initStyleOption(option, index)
        mark = index.data(self._role)
        if mark is not None:  # as a plain text: Qt knows no enumeration of Python's
            option.features |= QStyleOptionViewItem.ViewItemFeature.HasDecoration
            option.icon = icon(*picture(Mark(mark), self._tokens))


def picture(mark: Mark, tokens: Tokens) -> tuple[str, str]:
    """Name and colour of a mark's icon."""
    return {
        Mark.FREE: ("check", tokens.good),
        Mark.BUSY: ("times", tokens.warn),
        Mark.ABSENT: ("absent", tokens.bad),
        Mark.UNFIT: ("warning", tokens.bad),
        Mark.LOOKING: ("look", tokens.muted),
        Mark.UNSEEN: ("info", tokens.muted),
    }[mark]
