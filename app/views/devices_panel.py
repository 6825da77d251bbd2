"""Devices to tune on: this machine and those over the network, how they stand, and what can be done with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.icons import icon
from app.models import device_table
from app.models.device_table import MARK_ROLE, DeviceColumn, DeviceRow, DeviceTableModel
from app.models.run_state import RunState
from app.text_scale import text_scale
from app.tokens import Tokens
from app.translation import later, tr
from app.widgets.copy_table import CopyTable
from app.widgets.mark_delegate import MarkDelegate
from app.widgets.parts import EmptyState, label

_WIDTHS: Mapping[int, int] = {
    DeviceColumn.STATE: 106,
    DeviceColumn.ANSWER: 92,
    DeviceColumn.CPU: 250,
    DeviceColumn.CORES: 54,
    DeviceColumn.MEMORY: 54,
    DeviceColumn.FREE: 46,
    DeviceColumn.WAITING: 66,
}
_LEAST_DEVICE, _LEAST_CPU = 170, 90
_LEAST_TABLE = 118
"""Height in pixels: this machine and two more."""
_LEAST_ADDRESS = 110
"""Width in pixels: an address and its port can be read."""
_ADDRESS_HINT = later("HOST:PORT of a device server, or HOST:PORT/KEY of a tracker and the key its devices have")
_HINT = later("On the other machine start `main.py serve`, then write its address above, as in pi.local:9090.")
_TUNE = later("The next run is on the selected device: it stands behind the target's @")
_RUN_IS_ON = later("A run is on: the next one's device can be chosen once it is over")


class DevicesPanel(QWidget):
    """Signals: intents.

    add_requested, with what a person wrote; remove_requested, look_requested and tune_requested, with the address of
    the selected device, "" for this machine; look_at_all_requested.
    """

    add_requested = Signal(str)
    remove_requested = Signal(str)
    look_requested = Signal(str)
    look_at_all_requested = Signal()
    tune_requested = Signal(str)

    def __init__(self, devices: DeviceTableModel, run: RunState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._devices, self._run = devices, run
        self.address = QLineEdit()
        self.address.setPlaceholderText(tr("pi.local:9090 or desk:9190/pi4"))
        self.address.setToolTip(tr(_ADDRESS_HINT))
        self.address.setAccessibleName(tr("Address of a device"))
        self.address.setClearButtonEnabled(True)
        self.address.setMinimumWidth(round(_LEAST_ADDRESS * text_scale(self.font())))
        self.add_button = _button(tr("Add"), tr("Remember the device at this address, and look at it"))
        self.tune_button = _button(tr("Tune on it"), tr(_TUNE))
        self.look_button = _button(tr("Look again"), tr("See whether the selected device answers, and how busy it is"))
        self.look_at_all_button = _button(tr("Look at all"), tr("See how all devices over the network stand"))
        self.remove_button = _button("", tr("Remove: forget the selected device (Del)"))
        self._refusal = label("", "warn", wrap=True)
        self._refusal.setAccessibleName(tr("Why this is no address"))
        self._refusal.hide()
        self.table = CopyTable(tr("Devices to tune on"))
        self._marks = MarkDelegate(MARK_ROLE, self)
        self._name = label("", "section")
        self._sentence, self._details = label("", wrap=True), label("", "muted", wrap=True)
        for part in (self._sentence, self._details):
            part.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._empty = EmptyState("devices", tr("No devices over the network yet"), tr(_HINT))
        self._card = QFrame()
        self._lay_out()
        self._connect()
        self.table.selectRow(0)
        self._refresh()

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        top.setSpacing(6)
        top.addWidget(self.address, 1)
        for button in (self.add_button, self.tune_button, self.look_button, self.look_at_all_button):
            top.addWidget(button)
        top.addWidget(self.remove_button)
        table = self.table
        table.setModel(self._devices)
        table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        table.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # addresses differ at their ends
        table.setItemDelegateForColumn(DeviceColumn.STATE, self._marks)
        table.set_widths(_WIDTHS)
        table.give_room(DeviceColumn.DEVICE, _LEAST_DEVICE, (DeviceColumn.CPU, _LEAST_CPU))
        table.stay_low(_LEAST_TABLE)
        self._card.setObjectName("card")
        told = QVBoxLayout(self._card)
        told.setContentsMargins(12, 8, 12, 8)
        told.setSpacing(4)
        for part in (self._name, self._sentence, self._details):
            told.addWidget(part)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 6, 8, 8)
        layout.addLayout(top)
        layout.addWidget(self._refusal)
        layout.addWidget(table, 1)
        layout.addWidget(self._card)
        layout.addWidget(self._empty, 1)

    def _connect(self) -> None:
        self.address.returnPressed.connect(self._add)
        self.address.textChanged.connect(self._refusal.hide)
        self.add_button.clicked.connect(self._add)
        self.look_at_all_button.clicked.connect(self.look_at_all_requested)
        self.tune_button.clicked.connect(self._tune)
        self.look_button.clicked.connect(self._look)
        self.remove_button.clicked.connect(self._remove)
        self.table.activated.connect(self._tune)
        self._tune_action = self._action(tr("&Tune on it"), self._tune)
        self._look_action = self._action(tr("&Look again"), self._look)
        self._remove_action = self._action(tr("&Remove"), self._remove)
        self._remove_action.setShortcut(QKeySequence(QKeySequence.StandardKey.Delete))
        self._remove_action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        self.table.selectionModel().selectionChanged.connect(self._refresh)
        self._devices.changed.connect(self._refresh)
        self._run.changed.connect(self._refresh)

    def _action(self, text: str, act: Callable[[], None]) -> QAction:
        action = QAction(text, self.table)
        action.triggered.connect(act)
        self.table.offer(action)
        return action

    @property
    def selected(self) -> DeviceRow | None:
        """The device of the selected row."""
        rows = self.table.selectionModel().selectedRows()
        return self._devices.device(rows[0].row()) if rows else None

    def accept(self, address: str) -> None:
        """What was written is remembered now: show its row, and make room for the next."""
        self.address.clear()
        self._refusal.hide()
        self.table.selectRow(self._devices.row_of(address))

    def refuse(self, sentence: str) -> None:
        """Say why what was written is no address."""
        self._refusal.setText(sentence)
        self._refusal.show()

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self._empty.apply_tokens(tokens)
        self._marks.apply_tokens(tokens)
        for button, name in (
            (self.add_button, "add"),
            (self.tune_button, "start"),
            (self.look_button, "look"),
            (self.look_at_all_button, "restart"),
            (self.remove_button, "remove"),
        ):
            button.setIcon(icon(name, tokens.text, tokens.disabled))

    def _refresh(self) -> None:
        row, remembered = self.selected, bool(self._devices.addresses)
        self._card.setVisible(remembered)
        self._empty.setVisible(not remembered)
        if row is not None:
            facts = device_table.details(row)
            self._name.setText(row.name)
            self._sentence.setText(device_table.sentence(row))
            self._details.setText(facts)
            self._details.setVisible(bool(facts))
        over_network = row is not None and bool(row.address)
        for part in (self.look_button, self._look_action):
            part.setEnabled(row is not None and over_network and not row.looking)
        for part in (self.remove_button, self._remove_action):
            part.setEnabled(over_network)
        for part in (self.tune_button, self._tune_action):
            part.setEnabled(row is not None and not self._run.busy)
        self.tune_button.setToolTip(tr(_RUN_IS_ON) if self._run.busy else tr(_TUNE))
        self.look_at_all_button.setEnabled(remembered)

    def _add(self) -> None:
        if self.address.text().strip():
            self.add_requested.emit(self.address.text())
        else:
            self.address.setFocus()

    def _tune(self) -> None:
        if self.selected is not None and not self._run.busy:
            self.tune_requested.emit(self.selected.address)

    def _look(self) -> None:
        if self.selected is not None:
            self.look_requested.emit(self.selected.address)

    def _remove(self) -> None:
        if self.selected is not None:
            self.remove_requested.emit(self.selected.address)


def _button(text: str, hint: str) -> QPushButton:
    made = QPushButton(text)
    made.setToolTip(hint)
    made.setAccessibleName(text or hint)
    return made
