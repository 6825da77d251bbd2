"""What delegates that paint something of their own share: the role it is under, and the theme's colours."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QStyledItemDelegate

from app.tokens import LIGHT, Tokens


class RoleDelegate(QStyledItemDelegate):
    """Subclasses paint what `role` gives. Belongs to one table."""

    def __init__(self, role: int, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._role = role
        self._tokens = LIGHT

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self._tokens = tokens
