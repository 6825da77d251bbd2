"""What a watcher is told of devices over the network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tcl_core.devices import DeviceLook
from tcl_core.events import Event


@dataclass(frozen=True, kw_only=True)
class DeviceSeen(Event):
    """What a look showed, which may take as long as a device is given to answer."""

    urgent: ClassVar[bool] = True
    look: DeviceLook
