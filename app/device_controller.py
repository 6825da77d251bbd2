"""Decides what an intent on devices over the network, or an event about them, does to the models; beside `controller`.

Addresses are remembered between starts, what was seen at them is not. Lives in the window's thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from PySide6.QtCore import QObject, Signal, Slot

from app.controller import Controller
from app.jobs.engine_thread import EngineLoss, EngineThread
from app.models.announcement import Announcement, Mood, WayOn
from app.models.device_table import DeviceRow
from app.models.studio import StudioModels
from app.settings import Settings
from app.translation import tr
from tcl_core.device_events import DeviceSeen
from tcl_core.devices import DeviceLook, DeviceState, LookAtDevice, parse_address, split_target
from tcl_core.errors import UserError
from tcl_core.events import Crashed, Event, NetworkOpened, RunStarted


@dataclass(frozen=True, kw_only=True)
class _Removed:
    """What an undo needs: the device, and the row it was in."""

    number: int
    row: DeviceRow


def this_machine() -> DeviceLook:
    """Look at the machine that the studio runs on. Takes milliseconds."""
    from tcl_core.hardware.detect import detect

    found = detect()
    return DeviceLook(
        address="",
        state=DeviceState.FREE,
        cpu=found.cpu,
        architecture=found.architecture,
        cores=found.cores,
        memory_bytes=found.memory_bytes,
    )


class DeviceController(QObject):
    """Wires the device table, the settings and the engine thread.

    Signals:
        announced: an `Announcement` to show across the window.
        refused: why what was written is no address, one sentence.
        added: the address of a device that a person added, or that was there already.
    """

    announced = Signal(object)
    refused = Signal(str)
    added = Signal(str)

    def __init__(
        self,
        models: StudioModels,
        engine: EngineThread,
        settings: Settings,
        controller: Controller,
        *,
        look_here: Callable[[], DeviceLook] = this_machine,
    ) -> None:
        super().__init__(controller)
        self._devices, self._engine, self._settings, self._controller = models.devices, engine, settings, controller
        self._look_here: Callable[[], DeviceLook] | None = look_here
        self._removed: _Removed | None = None
        self._run = models.run
        self._devices.set_addresses(settings.devices)
        self._run.changed.connect(self._note_end)
        engine.lost.connect(self.take_loss)

    # Intents

    def add(self, text: str) -> None:
        """Remember the device at what a person wrote, and look at it."""
        try:
            address = parse_address(text).text
        except UserError as error:
            self.refused.emit(str(error))
            return
        self._remember(address)
        self.look_at(address)
        self.added.emit(address)

    def remove(self, address: str) -> None:
        """Forget a device; `restore` takes it back."""
        number = self._devices.row_of(address)
        if not address or number < 0:
            return
        self._removed = _Removed(number=number, row=self._devices.device(number))
        self._devices.remove(number)
        self._save()
        sentence = tr("{address} is no longer remembered.", address=address)
        self.announced.emit(
            Announcement(mood=Mood.NEUTRAL, sentence=sentence, action=WayOn.RESTORE_DEVICE, action_text=tr("Undo"))
        )

    def take_way_on(self, way: WayOn) -> None:
        """Do what an announcement offered."""
        if way is WayOn.RESTORE_DEVICE:
            self.restore()

    def restore(self) -> None:
        """Take back the last removal."""
        removed, self._removed = self._removed, None
        if removed is None or self._devices.row_of(removed.row.address) >= 0:
            return
        number = min(removed.number, self._devices.rowCount())
        self._devices.insert(number, DeviceRow(address=removed.row.address, look=removed.row.look))
        self._save()
        if removed.row.looking:  # its answer may have come, and was for nobody
            self.look_at(removed.row.address)

    def look_at(self, address: str) -> None:
        """See how a device stands; the answer is a `DeviceSeen`. One look at a time is enough."""
        number = self._devices.row_of(address)
        if address and number >= 0 and not self._devices.device(number).looking:
            self._devices.begin_look(address)
            self._engine.send(LookAtDevice(address=address))

    def look_at_all(self) -> None:
        """See how all remembered devices stand."""
        for address in self._devices.addresses:
            self.look_at(address)

    def look_at_unseen(self) -> None:
        """Whoever brings the panel to the front sees how devices stand that nobody has looked at yet."""
        if self._look_here is not None:
            here = self._devices.device(0).look
            self._devices.take_look(replace(self._look_here(), state=here.state if here else DeviceState.FREE))
            self._look_here = None
        for address in self._devices.unseen:
            self.look_at(address)

    # Engine

    @Slot(tuple)
    def take_events(self, batch: tuple[Event, ...]) -> None:
        """Apply a batch of events."""
        for event in batch:
            match event:
                case DeviceSeen():
                    self._devices.take_look(event.look)
                case NetworkOpened() | RunStarted():
                    self._remember_target(self._controller.listed_target)
                    self._note_run(self._controller.listed_target)
                case Crashed():  # perhaps in a look, and then there is no answer
                    self._devices.end_looks()

    @Slot(object)
    def take_loss(self, _loss: EngineLoss) -> None:
        """The engine is gone, and with it what it looked at."""
        self._devices.end_looks()

    # Parts

    def _remember_target(self, target: str) -> None:
        """What was tuned on by a target that was written by hand is offered from now on."""
        try:
            address = split_target(target)[1]
        except UserError:  # the engine took it for something else
            return
        if address is not None and self._remember(address.text):
            self.look_at(address.text)

    def _note_run(self, target: str) -> None:
        """A run without a device measures here."""
        try:
            here = split_target(target)[1] is None
        except UserError:  # the engine took it for something else
            here = True
        if here and self._run.busy:
            self._show_here(DeviceState.BUSY)

    def _note_end(self) -> None:
        if not self._run.busy:
            self._show_here(DeviceState.FREE)

    def _show_here(self, state: DeviceState) -> None:
        here = self._devices.device(0).look
        if here is not None and here.state is not state:
            self._devices.take_look(replace(here, state=state))

    def _remember(self, address: str) -> bool:
        """Whether it was not remembered before."""
        if self._devices.row_of(address) >= 0:
            return False
        self._devices.insert(self._devices.rowCount(), DeviceRow(address=address))
        self._save()
        return True

    def _save(self) -> None:
        self._settings.devices = self._devices.addresses
