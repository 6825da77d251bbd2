"""Which network and which run of a workspace a person means."""

from __future__ import annotations

from pathlib import Path

from tcl_core.domain import Network
from tcl_core.errors import UserError
from tcl_core.store.run_table import RunRow
from tcl_core.store.workspace import Workspace


def choose_network(workspace: Workspace, name: str | None) -> Network:
    """The network of that name or digest; for None the one whose name is the only one.

    Of several of one name (of other shapes, or of another file) it is the one tuned last. A name that none has any more
    is looked for among the files that runs were of: the same network in a file of another name has that name since.

    Raises:
        UserError: none, or several names and none given.
    """
    networks = workspace.networks()
    if not networks:
        raise UserError("workspace", "This workspace holds no network yet; run tune first.")
    names = sorted({network.name for network in networks})
    held = ", ".join(names)
    if name is None and len(names) > 1:
        raise UserError("workspace", f"This workspace holds several networks ({held}); choose one with --network.")
    runs = workspace.runs()
    found = {network.digest: network for network in networks if name in {None, network.name, network.digest}}
    if not found:
        of_its_file = {run.network_digest for run in runs if _file_name(run) == name}
        found = {network.digest: network for network in networks if network.digest in of_its_file}
    if not found:
        raise UserError("workspace", f"This workspace holds no network named {name}; it holds {held}.")
    tuned = [run.network_digest for run in runs if run.network_digest in found]
    return found[(tuned or list(found))[-1]]


def newest_run(workspace: Workspace, network: Network, platform: str | None = None) -> RunRow:
    """The run of a network that was started last, on the platform of that fingerprint or on any.

    Raises:
        UserError: it was never tuned, or not there.
    """
    runs = [run for run in workspace.runs() if run.network_digest == network.digest]
    if not runs:
        raise UserError("workspace", f"{network.name} was never tuned in this workspace; run tune on it first.")
    there = [run for run in runs if platform in {None, run.platform}]
    if not there:
        raise UserError(
            "workspace",
            f"{network.name} was tuned in this workspace for other targets or thread counts only; run tune for this "
            "one first.",
        )
    return there[-1]  # in the order of their numbers: a clock may have been set back between them


def choose_run(workspace: Workspace, number: int | None, name: str | None) -> RunRow:
    """The run of that number; for None the newest of the network of that name or digest.

    Raises:
        UserError: there is no such run, it is of another network than the one named, or see `choose_network` and
            `newest_run`.
    """
    if number is None:
        return newest_run(workspace, choose_network(workspace, name))
    runs = workspace.runs()
    for run in runs:
        if run.id == number:
            _require_of(workspace, run, name)
            return run
    known = f"it holds runs {runs[0].id} to {runs[-1].id}" if runs else "it holds no run yet"
    raise UserError("workspace", f"This workspace holds no run {number}; {known}.")


def require_file(network: str, path: str | None) -> None:
    """See that the ONNX file of a tuned network is still there; None, the sample's, always is.

    Raises:
        UserError: it is gone.
    """
    if path is not None and not Path(path).exists():
        raise UserError(
            "network",
            f"The file of {network}, '{path}', is gone; put it back, or tune it from where it lies now: its records "
            "are kept.",
        )


def _require_of(workspace: Workspace, run: RunRow, name: str | None) -> None:
    network = next(each for each in workspace.networks() if each.digest == run.network_digest)
    if name not in {None, network.name, network.digest, _file_name(run)}:
        raise UserError("workspace", f"Run {run.id} is of {network.name}, not of {name}; name one of the two alone.")


def _file_name(run: RunRow) -> str | None:
    """What the network of a run was called then, None for the sample: a network has the name of its file."""
    return None if run.config.network is None else Path(run.config.network).stem
