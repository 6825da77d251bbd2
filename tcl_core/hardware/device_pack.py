"""The device server as one file, for machines on which the studio is not installed."""

from __future__ import annotations

import io
import os
import tempfile
import zipapp
from pathlib import Path

import tcl_core
from tcl_core.destinations import in_place_of

MODULES = (
    *("__init__", "child_processes", "devices", "errors", "tvm_threads"),
    *(
        "hardware/__init__",
        "hardware/cgroup",
        "hardware/detect",
        "hardware/device_options",
        "hardware/device_server",
        "hardware/peaks",
    ),
)
"""What the server imports of the studio, without endings."""


def pack(out: Path) -> None:
    """Write it whole or not at all; `python3 OUT --port 9090` runs it where apache-tvm and psutil are installed.

    Raises:
        OSError: it cannot be written.
    """
    source = Path(tcl_core.__file__).parent
    with tempfile.TemporaryDirectory(prefix="tcl-pack-") as folder:
        for module in MODULES:
            copy = Path(folder) / "tcl_core" / f"{module}.py"
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes((source / f"{module}.py").read_bytes())
        packed = io.BytesIO()
        server = "tcl_core.hardware.device_server:run"
        zipapp.create_archive(folder, packed, interpreter="/usr/bin/env python3", main=server)
    os.stat(f"{out.parent}/.")  # noqa: PTH116 - `Path` drops the dot, which asks for a folder; none is made here
    with in_place_of(out) as whole:
        whole.write_bytes(packed.getvalue())
        whole.chmod(0o755)
