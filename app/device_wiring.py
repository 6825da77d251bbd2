"""Connects the devices panel, the run form and the device controller."""

from __future__ import annotations

from PySide6.QtCore import QObject

from app.device_controller import DeviceController
from app.main_window import MainWindow
from app.models import device_table
from app.models.studio import StudioModels


class DeviceWiring(QObject):
    """Lives as long as the window."""

    def __init__(self, window: MainWindow, models: StudioModels, devices: DeviceController) -> None:
        super().__init__(window)
        self._window, self._models, self._devices = window, models, devices
        panel = window.devices_panel
        panel.add_requested.connect(devices.add)
        panel.remove_requested.connect(devices.remove)
        panel.look_requested.connect(devices.look_at)
        panel.look_at_all_requested.connect(devices.look_at_all)
        panel.tune_requested.connect(self.tune_on)
        devices.refused.connect(panel.refuse)
        devices.added.connect(panel.accept)
        devices.announced.connect(window.banner.announce)
        window.banner.acted.connect(devices.take_way_on)
        window.docks["devices"].visibilityChanged.connect(self._shown)
        models.devices.changed.connect(self._offer)
        self._offer()

    def tune_on(self, address: str) -> None:
        """The next run is on a device; "" for this machine."""
        self._window.run_panel.form.set_device(address)
        self._window.show_panel("run")

    def _shown(self, visible: bool) -> None:
        if visible:
            self._devices.look_at_unseen()

    def _offer(self) -> None:
        """The form offers what is remembered."""
        model = self._models.devices
        rows = (model.device(model.row_of(address)) for address in model.addresses)
        self._window.run_panel.form.offer_devices([(row.address, device_table.machine(row)) for row in rows])
