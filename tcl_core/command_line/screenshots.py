"""``screenshots``: pictures of every panel from a real run. The core knows no Qt: the window is another process."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from tcl_core.command_line.output import Output
from tcl_core.command_line.paths import absolute
from tcl_core.destinations import check_folder
from tcl_core.errors import UserError


def run(arguments: argparse.Namespace, output: Output) -> None:
    """Start the window's own script and say what it has written.

    Raises:
        UserError: nothing can be written to the folder, or the run gave no pictures.
    """
    out = Path(absolute(arguments.out))
    check_folder(out, "window")
    out.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "app.screenshots", str(out), str(arguments.minutes)]
    pictures = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as window:
        assert window.stdout is not None
        for line in window.stdout:
            pictures.append(line.strip())
            output.status.print(pictures[-1], soft_wrap=True)
    if window.returncode:
        raise UserError("window", f"The pictures could not be taken: {len(pictures)} lie in {out}.")
    if not output.json:
        output.result.print(f"{len(pictures)} pictures in {out}", soft_wrap=True)
    output.emit({"out": str(out), "pictures": pictures})
