"""``verify``: whether a tuned network computes what onnxruntime computes, and on request who is faster."""

from __future__ import annotations

import argparse

from tcl_core.command_line.export import library_config, obey
from tcl_core.command_line.output import Output
from tcl_core.errors import Unmatched
from tcl_core.library_events import TimeLibrary, VerifyLibrary

_STOPPING = "Stopping; nothing is written."


def run(arguments: argparse.Namespace, output: Output) -> None:
    """Build and check; time too with ``--times``. Nothing is written.

    Raises:
        Unmatched: the results differ from onnxruntime's, or could not be held against them.
        Interrupted: by Ctrl+C.
    """
    kind: type[TimeLibrary] | type[VerifyLibrary] = TimeLibrary if arguments.times else VerifyLibrary
    command = kind(workspace=arguments.workspace, network=arguments.network, config=library_config(arguments))
    if not obey(command, output, _STOPPING).matches:
        raise Unmatched
