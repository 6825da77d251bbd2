"""Which network and which run of a workspace a person means."""

from __future__ import annotations

from tcl_core.domain import Network
from tcl_core.errors import UserError
from tcl_core.store.run_table import RunRow
from tcl_core.store.workspace import Workspace


def choose_network(workspace: Workspace, name: str | None) -> Network:
    """The network of that name; the only one there is for None.

    Raises:
        UserError: none, or several and none named.
    """
    networks = workspace.networks()
    if not networks:
        raise UserError("workspace", "This workspace holds no network yet; run tune first.")
    names = ", ".join(sorted({network.name for network in networks}))
    if name is None and len(networks) > 1:
        raise UserError("workspace", f"This workspace holds several networks ({names}); choose one with --network.")
    found = [network for network in networks if name is None or network.name == name]
    if not found:
        raise UserError("workspace", f"This workspace holds no network named {name}; it holds {names}.")
    return found[-1]


def newest_run(workspace: Workspace, network: Network) -> RunRow:
    """The run of a network that was started last.

    Raises:
        UserError: it was never tuned.
    """
    runs = [run for run in workspace.runs() if run.network_digest == network.digest]
    if not runs:
        raise UserError("workspace", f"{network.name} was never tuned in this workspace; run tune on it first.")
    return max(runs, key=lambda run: run.started_at)


def choose_run(workspace: Workspace, number: int | None, name: str | None) -> RunRow:
    """The run of that number; for None the newest of the network of that name.

    Raises:
        UserError: there is no such run, or see `choose_network` and `newest_run`.
    """
    if number is None:
        return newest_run(workspace, choose_network(workspace, name))
    runs = workspace.runs()
    for run in runs:
        if run.id == number:
            return run
    known = f"it holds runs {runs[0].id} to {runs[-1].id}" if runs else "it holds no run yet"
    raise UserError("workspace", f"This workspace holds no run {number}; {known}.")
