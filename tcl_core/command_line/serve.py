"""``serve``: let another machine tune for this one; or pack what does, for a machine without the studio."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

from tcl_core.command_line.output import Output
from tcl_core.errors import UserError
from tcl_core.hardware import device_server
from tcl_core.hardware.device_pack import pack
from tcl_core.versions import installed_versions


def run(arguments: argparse.Namespace, output: Output) -> None:
    """Serve until Ctrl+C; with `--pack` write the file instead."""
    if arguments.pack is not None:
        path = Path(arguments.pack)
        try:
            pack(path)
        except OSError as error:
            raise UserError(
                "device", f"{path} cannot be written ({error.strerror}); name another file with --pack."
            ) from error
        versions = dict(installed_versions())
        packages = " ".join(f"{name}=={versions[name]}" for name in ("apache-tvm", "apache-tvm-ffi"))
        output.result.print(
            f"Copy {path} to the device. There: python3 -m pip install {packages} psutil, then python3 {path.name} "
            f"--port {arguments.port}",
            soft_wrap=True,
        )
        output.emit({"path": str(path)})
        return
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        device_server.serve(arguments)
    except (OSError, ValueError, OverflowError, RuntimeError) as error:
        why = str(error.strerror if isinstance(error, OSError) and error.strerror else error).partition(" (while")[0]
        raise UserError(
            "device",
            f"This machine cannot be served at {arguments.host}:{arguments.port} ({why}); see `main.py serve --help`.",
        ) from error
