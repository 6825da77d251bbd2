"""What is remembered between starts: recent networks, devices, form, scheme, layout; and where workspaces lie."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, fields, replace
from pathlib import Path

import platformdirs
from PySide6.QtCore import QByteArray, QSettings

from app.models.run_request import RunRequest
from app.theme import Scheme
from tcl_core.devices import parse_address
from tcl_core.errors import UserError

APP_NAME = "tcl-studio"
RECENT_LIMIT = 8
_MOST = 2**31 - 1
"""The greatest number that a field of the form holds: Qt would refuse another, and the studio would not start."""


def default_store() -> QSettings:
    """The settings file of this user."""
    path = Path(platformdirs.user_config_dir(APP_NAME)) / "studio.ini"
    return QSettings(str(path), QSettings.Format.IniFormat)


class Settings:
    """Typed access to a `QSettings`; a value that cannot be read counts as never written."""

    def __init__(self, store: QSettings, data_dir: Path | None = None) -> None:
        """`data_dir` holds the default workspaces; None for the user's own."""
        self._store = store
        self._data_dir = data_dir or Path(platformdirs.user_data_dir(APP_NAME))

    def default_workspace(self, network_name: str) -> Path:
        """Where runs of a network are kept unless a person chooses another folder."""
        return self._data_dir / "workspaces" / (network_name or "network")

    @property
    def scheme(self) -> Scheme:
        text = str(self._store.value("scheme", Scheme.SYSTEM.value))
        return Scheme(text) if text in {scheme.value for scheme in Scheme} else Scheme.SYSTEM

    @scheme.setter
    def scheme(self, scheme: Scheme) -> None:
        self._store.setValue("scheme", scheme.value)

    @property
    def recent(self) -> tuple[str, ...]:
        """Paths of networks, newest first."""
        known = self._read_json("recent")
        return tuple(path for path in known if isinstance(path, str)) if isinstance(known, list) else ()

    def add_recent(self, path: str) -> None:
        """Put a network on top of the recent ones."""
        others = [known for known in self.recent if known != path]
        self._store.setValue("recent", json.dumps([path, *others][:RECENT_LIMIT]))

    def forget_recent(self) -> None:
        """Empty the list."""
        self._store.remove("recent")

    @property
    def devices(self) -> tuple[str, ...]:
        """Addresses of devices over the network, in the order in which they came."""
        known = self._read_json("devices")
        return tuple(dict.fromkeys(filter(_is_address, known))) if isinstance(known, list) else ()

    @devices.setter
    def devices(self, addresses: tuple[str, ...]) -> None:
        self._store.setValue("devices", json.dumps(addresses))

    @property
    def request(self) -> RunRequest:
        """The form as it was left, but for what belongs to one network: workspace, checkpoint, terms."""
        kept = self._read_json("request")
        if not isinstance(kept, dict):
            return RunRequest()
        default = asdict(RunRequest())
        known = {field.name for field in fields(RunRequest)} - {"workspace", "checkpoint", "terms"}
        readable = {name: kept[name] for name in known & kept.keys() if _same_kind(kept[name], default[name], name)}
        return replace(RunRequest(), **readable)

    @request.setter
    def request(self, request: RunRequest) -> None:
        self._store.setValue("request", json.dumps(asdict(request)))

    @property
    def tolerance(self) -> tuple[float, float] | None:
        """The tolerance (rtol, atol) of the check against onnxruntime, as it was left."""
        match self._read_json("tolerance"):
            case [float() | int() as rtol, float() | int() as atol] if 0 <= rtol < math.inf and 0 <= atol < math.inf:
                return float(rtol), float(atol)
        return None

    @tolerance.setter
    def tolerance(self, tolerance: tuple[float, float]) -> None:
        self._store.setValue("tolerance", json.dumps(tolerance))

    def layout(self) -> tuple[QByteArray, QByteArray] | None:
        """Geometry and dock state as they were left."""
        geometry, state = self._store.value("geometry"), self._store.value("state")
        if isinstance(geometry, QByteArray) and isinstance(state, QByteArray):
            return geometry, state
        return None

    def save_layout(self, geometry: QByteArray, state: QByteArray) -> None:
        """Remember geometry and dock state."""
        self._store.setValue("geometry", geometry)
        self._store.setValue("state", state)

    def sync(self) -> None:
        """Write everything to disk."""
        self._store.sync()

    def _read_json(self, key: str) -> object:
        try:
            return json.loads(str(self._store.value(key, "null")))
        except json.JSONDecodeError:
            return None


def _same_kind(value: object, default: object, name: str) -> bool:
    if isinstance(value, int | float) and not abs(value) <= _MOST:
        return False
    if name in {"minutes", "trials", "threads"}:
        return value is None or (isinstance(value, int | float) and not isinstance(value, bool) and value > 0)
    return type(value) is type(default)


def _is_address(kept: object) -> bool:
    """As `DeviceAddress.text` writes one."""
    try:
        return isinstance(kept, str) and parse_address(kept).text == kept
    except UserError:
        return False
