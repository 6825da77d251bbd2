"""The table of devices: what each state says, and what becomes of looks."""

from __future__ import annotations

from dataclasses import replace

import device_samples
import pytest
from PySide6.QtCore import Qt

from app.models import device_table
from app.models.device_table import MARK_ROLE, DeviceColumn, DeviceRow, DeviceTableModel, Mark


@pytest.fixture
def table(qapp: object) -> DeviceTableModel:
    made = DeviceTableModel()
    made.set_addresses([*device_samples.LOOKS])
    return made


def cells(table: DeviceTableModel, address: str) -> list[str]:
    number = table.row_of(address)
    return [table.index(number, column).data() for column in DeviceColumn]


def mark(table: DeviceTableModel, address: str) -> Mark:
    return Mark(table.index(table.row_of(address), DeviceColumn.STATE).data(MARK_ROLE))


def test_this_machine_is_there_from_the_beginning(qapp: object) -> None:
    table = DeviceTableModel()
    assert table.addresses == () and table.rowCount() == 1
    assert cells(table, "") == ["This machine", "free", "–", "–", "–", "–", "–", "–"]
    table.take_look(device_samples.HERE)
    assert cells(table, "") == ["This machine", "free", "–", "AMD EPYC", "2", "8.00", "–", "–"]
    assert "Runs are measured here" in device_table.sentence(table.device(0))


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("pi.local:9090", ["free", "12.0", "Cortex-A72", "4", "4.00", "–", "–"]),
        ("desk:9190/pi4", ["busy", "103", "–", "–", "–", "0 of 1", "2"]),
        ("192.168.178.43:9090", ["absent", "–", "–", "–", "–", "–", "–"]),
        ("board.lab.example.org:22", ["unfit", "2.10", "–", "–", "–", "–", "–"]),
        ("[fe80::1]:9190/epyc", ["free", "0.420", "AMD EPYC 9B45 128-Core Processor", "1", "1,511", "11 of 12", "0"]),
    ],
)
def test_what_a_look_shows(table: DeviceTableModel, address: str, found: list[str]) -> None:
    look = device_samples.LOOKS[address]
    assert cells(table, address) == [address, "unknown", "–", "–", "–", "–", "–", "–"]
    table.begin_look(address)
    assert cells(table, address)[1] == "looking …"
    table.take_look(look)
    assert cells(table, address) == [address, *found]
    number = table.row_of(address)
    told = look.sentence or "A run on it can begin now."
    assert device_table.sentence(table.device(number)) == told
    assert table.index(number, DeviceColumn.STATE).data(Qt.ItemDataRole.ToolTipRole) == told
    assert table.index(number, DeviceColumn.DEVICE).data(Qt.ItemDataRole.ToolTipRole) == address


def test_each_state_has_a_mark_of_its_own(table: DeviceTableModel) -> None:
    for look in device_samples.LOOKS.values():
        table.take_look(look)
    assert [mark(table, address) for address in table.addresses] == ["free", "busy", "absent", "unfit", "free"]


def test_what_was_seen_before_stays_until_the_next_look_is_back(table: DeviceTableModel) -> None:
    table.take_look(device_samples.FREE)
    table.begin_look("pi.local:9090")
    assert cells(table, "pi.local:9090")[1:4] == ["looking …", "12.0", "Cortex-A72"]
    assert device_table.sentence(table.device(1)).startswith("Looking")
    table.end_looks()
    assert cells(table, "pi.local:9090")[1] == "free"
    table.begin_look("desk:9190/pi4")
    table.end_looks()
    assert cells(table, "desk:9190/pi4")[1] == "unknown"
    assert "desk:9190/pi4" in table.unseen and "pi.local:9090" not in table.unseen


def test_a_look_at_a_device_that_is_gone_changes_nothing(table: DeviceTableModel) -> None:
    table.remove(table.row_of("pi.local:9090"))
    told: list[None] = []
    table.changed.connect(lambda: told.append(None))
    table.take_look(device_samples.FREE)
    assert table.rowCount() == 5 and not told


def test_what_a_device_is() -> None:
    def row(**changes: object) -> DeviceRow:
        return DeviceRow(address="a:1", look=replace(device_samples.FREE, **changes))

    assert device_table.machine(DeviceRow(address="a:1")) == device_table.details(DeviceRow(address="a:1")) == ""
    assert device_table.machine(row()) == "Cortex-A72, 4 cores"
    assert device_table.machine(row(cores=1)) == "Cortex-A72, 1 core"
    assert device_table.machine(row(cpu="", cores=0)) == "aarch64"
    assert device_table.details(row()) == "Cortex-A72 · aarch64 · apache-tvm 0.27.0.post1, numpy 2.3.1"
