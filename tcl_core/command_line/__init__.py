"""The command line: the same run without a window. `main` is what ``main.py SUBCOMMAND`` calls."""

from tcl_core.command_line.main import main

__all__ = ["main"]
