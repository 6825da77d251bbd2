"""Devices to tune on: this machine, and each that is remembered of the network, with what the last look showed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum
from typing import Any

from PySide6.QtCore import QModelIndex, QObject, Qt, Signal

from app.models import quantities
from app.models.row_table import Column, RowTableModel
from app.translation import later, tr
from tcl_core.devices import DeviceLook, DeviceState

MARK_ROLE = int(Qt.ItemDataRole.UserRole) + 2
"""A row's `Mark`."""


class DeviceColumn(IntEnum):
    """Columns of the device table."""

    DEVICE = 0
    STATE = 1
    ANSWER = 2
    CPU = 3
    CORES = 4
    MEMORY = 5
    FREE = 6
    WAITING = 7


class Mark(StrEnum):
    """How a device stands, as far as the window knows; the first four are those of a `DeviceState`."""

    FREE = "free"
    BUSY = "busy"
    ABSENT = "absent"
    UNFIT = "unfit"
    LOOKING = "looking"
    UNSEEN = "unseen"


_MARKS = {
    Mark.FREE: later("free"),
    Mark.BUSY: later("busy"),
    Mark.ABSENT: later("absent"),
    Mark.UNFIT: later("unfit"),
    Mark.LOOKING: later("looking …"),
    Mark.UNSEEN: later("unknown"),
}


@dataclass(frozen=True, kw_only=True)
class DeviceRow:
    """One device.

    Attributes:
        address: as `DeviceAddress.text`; "" for this machine.
        look: what the last look showed; None before the first.
        looking: whether a look is out.
    """

    address: str
    look: DeviceLook | None = None
    looking: bool = False

    @property
    def mark(self) -> Mark:
        if self.looking:
            return Mark.LOOKING
        return Mark(self.look.state.value) if self.look else Mark.UNSEEN

    @property
    def name(self) -> str:
        """What a person calls it."""
        return self.address or tr("This machine")


def _of_look(get: Callable[[DeviceLook], float | None]) -> Callable[[DeviceRow], float | None]:
    """A number of the last look; None where it is not known."""
    return lambda row: get(row.look) if row.look else None


def _numbers(
    title: str, hint: str, get: Callable[[DeviceLook], float | None], text: Callable[[float], str] = "{:,}".format
) -> Column[DeviceRow]:
    value = _of_look(get)

    def cell(row: DeviceRow) -> str:
        number = value(row)
        return "–" if number is None else text(number)

    return Column(title, hint, cell, numeric=True)


def _free(row: DeviceRow) -> str:
    look = row.look
    if look is None or look.free is None:
        return "–"
    return tr("{free} of {known}", free=look.free, known=look.known)


_COLUMNS: tuple[Column[DeviceRow], ...] = (
    Column(
        later("Device"),
        later("Where it is: HOST:PORT of a device server, or HOST:PORT/KEY of a tracker and the key its devices have"),
        lambda row: row.name,
    ),
    Column(
        later("State"),
        later(
            "Free: it would answer now; busy: it works for somebody; absent: nobody answers; unfit: no device server"
        ),
        lambda row: tr(_MARKS[row.mark]),
    ),
    _numbers(
        later("Answer (ms)"),
        later("Milliseconds until it answered"),
        lambda look: look.answer_s,
        lambda seconds: quantities.digits(seconds * 1e3),
    ),
    Column(later("Processor"), later("What it computes with"), lambda row: (row.look.cpu if row.look else "") or "–"),
    _numbers(later("Cores"), later("Cores that a run may use there"), lambda look: look.cores or None),
    _numbers(
        later("GiB"),
        later("Memory that a run may use there, in GiB"),
        lambda look: look.memory_bytes or None,
        lambda count: quantities.digits(count / 2**30),
    ),
    Column(
        later("Free"),
        later("Free devices of the tracker's key, of all that it knows; a run times a candidate on each at once"),
        _free,
        numeric=True,
    ),
    _numbers(later("Waiting"), later("Runs that wait for a device of the tracker's key"), lambda look: look.waiting),
)


class DeviceTableModel(RowTableModel[DeviceRow]):
    """The studio's own machine on top, then the remembered devices in the order in which they came.

    Signals:
        changed: a device came or went, or more is known of one.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(_COLUMNS, parent)
        here = DeviceLook(address="", state=DeviceState.FREE)
        self._rows = [DeviceRow(address="", look=here)]

    @property
    def addresses(self) -> tuple[str, ...]:
        """Of the remembered devices."""
        return tuple(row.address for row in self._rows[1:])

    @property
    def unseen(self) -> tuple[str, ...]:
        """Addresses at which nobody has looked yet."""
        return tuple(row.address for row in self._rows if row.mark is Mark.UNSEEN)

    def device(self, row: int) -> DeviceRow:
        """The device of a row."""
        return self._rows[row]

    def row_of(self, address: str) -> int:
        """The row of a device; -1 where it is not remembered."""
        return next((number for number, row in enumerate(self._rows) if row.address == address), -1)

    def set_addresses(self, addresses: Sequence[str]) -> None:
        """Remember these, and nothing of what was seen."""
        self.set_rows([self._rows[0], *(DeviceRow(address=address) for address in addresses)])
        self.changed.emit()

    def insert(self, number: int, row: DeviceRow) -> None:
        """Remember a device, in this row of the table."""
        self.beginInsertRows(QModelIndex(), number, number)
        self._rows.insert(number, row)
        self.endInsertRows()
        self.changed.emit()

    def remove(self, number: int) -> None:
        """Forget the device of a row."""
        self.beginRemoveRows(QModelIndex(), number, number)
        del self._rows[number]
        self.endRemoveRows()
        self.changed.emit()

    def begin_look(self, address: str) -> None:
        """A look is out; what the one before showed stays until it is back."""
        number = self.row_of(address)
        self._change(number, replace(self._rows[number], looking=True))

    def take_look(self, look: DeviceLook) -> None:
        """A look is back; of a device that was removed meanwhile it says nothing."""
        number = self.row_of(look.address)
        if number >= 0:
            self._change(number, DeviceRow(address=look.address, look=look))

    def end_looks(self) -> None:
        """Whatever look is out does not come back."""
        for number, row in enumerate(self._rows):
            if row.looking:
                self._change(number, replace(row, looking=False))

    def _change(self, number: int, row: DeviceRow) -> None:
        self._rows[number] = row
        self.dataChanged.emit(self.index(number, 0), self.index(number, len(self._columns) - 1))
        self.changed.emit()

    def row_data(self, row: DeviceRow, column: int, role: int) -> Any:
        if role == MARK_ROLE:
            return row.mark
        if role == Qt.ItemDataRole.ToolTipRole:
            return row.name if column == DeviceColumn.DEVICE else sentence(row)
        return None


def sentence(row: DeviceRow) -> str:
    """How a device stands and, where something is wrong, what to do."""
    if not row.address:
        return tr("Runs are measured here unless their target names a device behind an @.")
    if row.mark is Mark.LOOKING:
        return tr("Looking: it has some seconds to answer.")
    if row.look is None:
        return tr("Nobody has looked at it since the studio was started.")
    return row.look.sentence or tr("A run on it can begin now.")


def machine(row: DeviceRow) -> str:
    """What a device is, as in "AMD EPYC, 2 cores"; "" where nobody knows yet."""
    look = row.look
    if look is None:
        return ""
    cores = {0: "", 1: tr("1 core")}.get(look.cores, tr("{count:,} cores", count=look.cores))
    return ", ".join(filter(None, (look.cpu or look.architecture, cores)))


def details(row: DeviceRow) -> str:
    """Processor, architecture and versions of the packages on a device, one line; "" where they are not known."""
    look = row.look
    if look is None:
        return ""
    versions = ", ".join(f"{package} {version}" for package, version in look.versions)
    return " · ".join(filter(None, (look.cpu, look.architecture, versions)))
