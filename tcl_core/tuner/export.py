"""From records to a tuned library: the best record of every task, built, checked, timed and exported."""

from __future__ import annotations

from pathlib import Path

from tcl_core.config import LibraryConfig
from tcl_core.domain import LibraryReport, Network
from tcl_core.errors import UserError
from tcl_core.events import CancelToken
from tcl_core.library.linker import find_linker
from tcl_core.library.make import make_library
from tcl_core.store import Workspace
from tcl_core.tuner.opening import Opened, open_network, with_stored_tasks


def build_library(
    workspace: Workspace, opened: Opened, config: LibraryConfig, cancel: CancelToken, out: Path | None = None
) -> LibraryReport:
    """Build the library of an opened network from the workspace's best records.

    Args:
        out: the bundle's folder. None for one of the network's name in the workspace's ``exports``, or for no export
            where no linker is found: what was tuned is checked and timed all the same.
    """
    platform = opened.platform
    if out is None and find_linker() is not None:
        out = workspace.export_directory(opened.imported.network.name)
    records = workspace.best_records(platform.fingerprint, [task.key for task in opened.tasks])
    return make_library(
        loaded_model=opened.loaded.model,
        imported=opened.imported,
        platform=platform,
        records=records,
        out=out,
        config=config,
        cancel=cancel,
    )


def export_network(
    workspace: Workspace, name: str | None, out: Path, config: LibraryConfig, cancel: CancelToken
) -> LibraryReport:
    """Export a network that was tuned in a workspace into a folder.

    Raises:
        UserError: no such network, more than one and none named, the ONNX file changed or is gone, no records.
    """
    network = _choose(workspace.networks(), name)
    run = max(
        (run for run in workspace.runs() if run.network_digest == network.digest),
        key=lambda run: run.started_at,
        default=None,
    )
    if run is None:
        raise UserError("workspace", f"{network.name} was never tuned in this workspace; run tune on it first.")
    opened = open_network(run.config.network, run.config.target, run.config.threads, run.config.network_config)
    if opened.imported.network.digest != network.digest:
        raise UserError(
            "network", f"{network.path} changed since it was tuned; restore it, or tune the changed network."
        )
    return build_library(workspace, with_stored_tasks(workspace, opened), config, cancel, out)


def _choose(networks: tuple[Network, ...], name: str | None) -> Network:
    if not networks:
        raise UserError("workspace", "This workspace holds no network yet; run tune first.")
    if name is None and len(networks) > 1:
        names = ", ".join(sorted({network.name for network in networks}))
        raise UserError("workspace", f"This workspace holds several networks ({names}); choose one with --network.")
    found = [network for network in networks if name is None or network.name == name]
    if not found:
        names = ", ".join(sorted({network.name for network in networks}))
        raise UserError("workspace", f"This workspace holds no network named {name}; it holds {names}.")
    return found[-1]
