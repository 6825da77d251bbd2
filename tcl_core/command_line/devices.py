"""``devices``: whether machines over the network can be tuned for, how busy they are, and what they are."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from rich.table import Table

from tcl_core.command_line.output import Output
from tcl_core.devices import DeviceLook


def run(arguments: argparse.Namespace, output: Output) -> None:
    """Look at each; the exit status stays 0, since a look was asked for and taken."""
    from tcl_core.device_looks import look_at

    looks = [look_at(address) for address in arguments.addresses]
    _show(looks, output)
    output.emit({"devices": [{**asdict(look), "versions": dict(look.versions)} for look in looks]})


def _show(looks: list[DeviceLook], output: Output) -> None:
    table = Table(box=None, pad_edge=False)
    for heading in ("device", "state", "answers in", "free", "waiting", "processor", "cores", "apache-tvm"):
        table.add_column(heading, overflow="fold")
    for look in looks:
        table.add_row(
            look.address,
            look.state.value,
            "-" if look.answer_s is None else f"{look.answer_s * 1e3:.1f} ms",
            "-" if look.free is None else f"{look.free} of {look.known}",
            "-" if look.waiting is None else str(look.waiting),
            look.cpu or "-",
            str(look.cores or "-"),
            dict(look.versions).get("apache-tvm", "-"),
        )
    output.result.print(table)
    for look in looks:
        if look.sentence:
            output.result.print(look.sentence, soft_wrap=True)
