"""From records to a tuned library: the best of every task that still applies, built, checked, timed and exported."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tcl_core.config import LibraryConfig
from tcl_core.device_sessions import DeviceLost
from tcl_core.domain import Platform, Stage
from tcl_core.errors import Interrupted, UserError
from tcl_core.events import CancelToken, Event, LibraryCommand, Notice, PhaseChanged
from tcl_core.hardware.target import resolve_platform
from tcl_core.libraries import LibraryReport
from tcl_core.library.bundle import bundle_is_of
from tcl_core.library.make import make_library
from tcl_core.library_events import ExportLibrary, LibraryDone, LibraryStopped, TimeLibrary, VerifyLibrary
from tcl_core.linker import find_linker, triple_of
from tcl_core.store import RunRow, Workspace
from tcl_core.store.run_choice import choose_network, newest_run, require_file
from tcl_core.tuner.opening import Opened, open_on, read_network, with_stored_tasks

_TRIED = 8
"""Records of a task that are tried in turn: what was imported, or made by another version, may not apply here."""


def usual_folder(workspace: Workspace, opened: Opened) -> Path | None:
    """Where the bundle of a run's end goes; None where no linker is found, and nothing can be exported.

    It takes the place of an earlier one of the same network and platform; what goes by the same name and is of another
    network or platform stays.
    """
    if find_linker(triple_of(opened.platform.target_json)) is None:
        return None
    network = opened.imported.network
    names = (network.name if number == 1 else f"{network.name}-{number}" for number in itertools.count(1))
    folders = map(workspace.export_directory, names)
    return next(out for out in folders if not out.exists() or bundle_is_of(out, network, opened.platform))


def build_library(
    workspace: Workspace,
    opened: Opened,
    config: LibraryConfig,
    cancel: CancelToken,
    out: Path | None,
    *,
    timed: bool = True,
) -> LibraryReport:
    """Build the library of an opened network from the workspace's best records. For the rest see `make_library`."""
    platform = opened.platform
    records = workspace.fastest_records(platform.fingerprint, [task.key for task in opened.tasks], _TRIED)
    return make_library(
        loaded_model=opened.loaded.model,
        given=opened.loaded.given,
        imported=opened.imported,
        platform=platform,
        records=records,
        out=out,
        config=config,
        cancel=cancel,
        timed=timed,
    )


def open_tuned(
    workspace: Workspace, name: str | None, platform: str | None = None, path: str | None = None, *, run_it: bool = True
) -> Opened:
    """Open a network that was tuned in a workspace, as its newest run opened it; see `choose_network`, `newest_run`.

    Args:
        path: where its ONNX file lies now; None for where that run found it.
        run_it: whether a device over the network that it was tuned on must answer.

    Raises:
        UserError: no such network, more than one and none named, the ONNX file changed or is gone, or all its records
            are of other hardware.
    """
    network = choose_network(workspace, name)
    run = newest_run(workspace, network, platform)
    config = run.config
    file = path or config.network
    require_file(network.name, file)
    opened = open_on(
        read_network(file, config.network_config), _platform(workspace, run, run_it), config.network_config
    )
    if opened.imported.network.digest != network.digest:
        raise UserError(
            "network", f"{path or network.path} changed since it was tuned; restore it, or tune the changed network."
        )
    opened = with_stored_tasks(workspace, opened)
    _require_records(workspace, opened, run)
    return opened


def _platform(workspace: Workspace, run: RunRow, run_it: bool) -> Platform:
    """Of a run. A library is built for a device that is off, too; it is just not checked there."""
    try:
        return resolve_platform(run.config.target, run.config.threads)
    except DeviceLost:
        if run_it:
            raise
        known = {platform.fingerprint: platform for platform in workspace.platforms()}
        return replace(known[run.platform], runnable=False)


def _require_records(workspace: Workspace, opened: Opened, run: RunRow) -> None:
    """Refuse what was tuned on other hardware alone: none of its records would apply."""
    here = opened.platform
    if run.platform == here.fingerprint or workspace.best_records(here.fingerprint, [one.key for one in opened.tasks]):
        return
    names = {platform.fingerprint: platform.name for platform in workspace.platforms()}
    raise UserError(
        "library",
        f"{opened.imported.network.name} was tuned on {names[run.platform]}, and here its target is {here.name}, of "
        "which this workspace has no record; build the library there, or tune it here.",
    )


def carry_out(command: LibraryCommand, cancel: CancelToken) -> Iterator[Event]:
    """The events of one command on the library of a workspace's network.

    The workspace is read, beside a run of another process, too. What is exported of a run that ended before its library
    was built is noted with it, where the workspace can be written; a notice says where it cannot.

    Raises:
        UserError: see `open_tuned` and `make_library`; a check of what cannot run here.
    """
    out, timed = None, True
    match command:
        case ExportLibrary():
            out = Path(command.out)
        case VerifyLibrary():
            timed = False
        case TimeLibrary():
            pass
        case _:
            raise TypeError(f"nobody carries out {command!r}")
    yield PhaseChanged(stage=Stage.LIBRARY, detail="reading the network")
    try:
        with Workspace.open(Path(command.workspace), create=False, read_only=True) as workspace:
            with cancel.abandonable():
                opened = open_tuned(workspace, command.network, command.platform, command.path, run_it=out is None)
            if out is None and not opened.platform.runnable:
                raise UserError(
                    "library", f"This machine cannot run code for {opened.platform.name}; check it on one that has it."
                )
            yield PhaseChanged(stage=Stage.LIBRARY, detail=_deed(out, timed))
            report = build_library(workspace, opened, command.config, cancel, out, timed=timed)
            without = None if out is None else _run_without(workspace, opened)
    except Interrupted:
        yield LibraryStopped()
        return
    if without is not None:
        yield from _note(Path(command.workspace), without, report)
    yield LibraryDone(command=command, network=opened.imported.network.name, report=report)


def _run_without(workspace: Workspace, opened: Opened) -> int | None:
    """The network's newest run on this platform, if it ended before its library was built."""
    place = opened.imported.network.digest, opened.platform.fingerprint
    runs = [run for run in workspace.runs() if (run.network_digest, run.platform) == place]
    return runs[-1].id if runs and runs[-1].ended_without else None


def _note(path: Path, run: int, report: LibraryReport) -> Iterator[Notice]:
    """Note an exported library with its run. Where that cannot be done now, the bundle is none the worse for it."""
    try:
        with Workspace.open(path, create=False) as workspace:
            workspace.note_library(run, report)
    except UserError as error:
        yield Notice(sentence=f"Exported, but the report of run {run} will not tell of it: {error}")


def _deed(out: Path | None, timed: bool) -> str:
    if out is not None:
        return "compile, check, time, export"
    return "compile, check, time" if timed else "compile, check"
