"""A device's state is told by words and by an icon, each of its own shape."""

from __future__ import annotations

import device_samples
from PySide6.QtWidgets import QStyleOptionViewItem

from app.models.device_table import MARK_ROLE, DeviceColumn, DeviceTableModel, Mark
from app.tokens import DARK, LIGHT
from app.widgets.mark_delegate import MarkDelegate, picture


def test_no_two_marks_look_alike() -> None:
    for tokens in (LIGHT, DARK):
        assert len({picture(mark, tokens)[0] for mark in Mark}) == len(Mark)


def test_the_icon_stands_before_the_words(qapp: object) -> None:
    table = DeviceTableModel()
    table.set_addresses([device_samples.BUSY.address])
    table.take_look(device_samples.BUSY)
    delegate, option = MarkDelegate(MARK_ROLE), QStyleOptionViewItem()
    delegate.initStyleOption(option, table.index(1, DeviceColumn.STATE))
    assert option.text == "busy" and not option.icon.isNull()
