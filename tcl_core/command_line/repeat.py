"""``tune --repeat``: the configuration of an earlier run, whole."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from tcl_core.command_line.output import Output
from tcl_core.command_line.parser import make_parser
from tcl_core.command_line.paths import absolute
from tcl_core.config import RunConfig
from tcl_core.errors import UserError


def repeated_config(arguments: argparse.Namespace, output: Output) -> RunConfig:
    """The whole configuration of an earlier run of the workspace; says so where what it began from has changed since.

    Raises:
        UserError: no workspace, no such run, its network's file is gone, or other options that the configuration would
            overrule.
    """
    from tcl_core.checkpoints.kept import found_config, is_written_over
    from tcl_core.store import Workspace
    from tcl_core.store.run_choice import choose_run, require_file

    usual = vars(make_parser().parse_args(["tune"]))
    given = [name for name, value in vars(arguments).items() if value != usual[name]]
    others = ", ".join(name for name in given if name not in {"workspace", "repeat", "json"})
    if others or arguments.workspace is None:
        mend = f"leave out {others}" if others else "name its --workspace"
        raise UserError("tune", f"--repeat takes the whole configuration of a run; {mend}.")
    folder = Path(absolute(arguments.workspace))
    with Workspace.open(folder, create=False, read_only=True) as workspace:
        run = choose_run(workspace, arguments.repeat, None)
        config = found_config(workspace, run.config)
        name = next(network.name for network in workspace.networks() if network.digest == run.network_digest)
        require_file(name, config.network)
        if is_written_over(workspace, run):
            output.status.print(
                f"The checkpoint {config.checkpoint}, which run {run.id} began from, has been written over since: this "
                "run starts from what it is now.",
                soft_wrap=True,
            )
    return replace(config, workspace=str(folder))
