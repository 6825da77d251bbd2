"""Opening: an ONNX file and a target text become a network with tasks on a platform."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from tcl_core.config import NetworkConfig
from tcl_core.devices import join_target, split_target
from tcl_core.domain import Platform, Task
from tcl_core.errors import UserError
from tcl_core.events import NetworkOpened
from tcl_core.hardware.target import resolve_platform
from tcl_core.network.drawing.graph import network_graph
from tcl_core.network.importer import ImportedNetwork, import_network
from tcl_core.network.load import LoadedNetwork, load_network
from tcl_core.network.sample import sample_path
from tcl_core.passing_folders import tidy_up_after_the_dead
from tcl_core.store import Workspace


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A network on a platform, with the objects the library is built from."""

    loaded: LoadedNetwork
    imported: ImportedNetwork
    platform: Platform

    @property
    def tasks(self) -> tuple[Task, ...]:
        return self.imported.tasks

    def event(self) -> NetworkOpened:
        """What a watcher is told."""
        network = self.imported.network
        inputs, outputs = (tuple(tensor.name for tensor in tensors) for tensors in (network.inputs, network.outputs))
        return NetworkOpened(
            network=network,
            platform=self.platform,
            tasks=self.tasks,
            report=self.imported.report,
            graph=network_graph(self.imported.module, {task.key for task in self.tasks}, inputs, outputs),
        )


def open_network(path: str | None, target: str, threads: int | None, config: NetworkConfig) -> Opened:
    """Load, check and import a network; None is the bundled sample.

    Raises:
        UserError: whatever is wrong with the file, its shapes or the target, in one sentence.
    """
    loaded = read_network(path, config)
    return open_on(loaded, resolve_platform(target, threads), config)


def read_network(path: str | None, config: NetworkConfig) -> LoadedNetwork:
    """Load and check a network, without a platform and without TVM; None is the bundled sample.

    Raises:
        UserError: whatever is wrong with the file or its shapes, in one sentence.
    """
    return load_network(sample_path() if path is None else Path(path), config)


def open_on(loaded: LoadedNetwork, platform: Platform, config: NetworkConfig) -> Opened:
    """Import a network for a platform.

    Raises:
        UserError: the network has what TVM does not import, in one sentence.
    """
    tidy_up_after_the_dead()
    imported = import_network(loaded, platform.target_json, config, platform.features.vector_bits)
    return Opened(loaded=loaded, imported=imported, platform=platform)


def require_runnable(platform: Platform, command: str) -> None:
    """Refuse to measure what cannot run here.

    Args:
        command: what the person asked for, as a verb.

    Raises:
        UserError: this machine cannot run code for the platform.
    """
    if not platform.runnable:
        raise UserError(
            "target",
            f"This machine cannot run code for {platform.name}, so nothing can be measured; "
            f"{command} on a machine that has it, or choose --target cpu.",
        )


def as_reached(platform: Platform, target: str) -> Platform:
    """A platform that a workspace remembers, runnable where it can be run from here now.

    The folder may have been copied to another machine, and a device over the network may be off.

    Args:
        target: text of the ``--target`` that it was tuned with, which may name a device.
    """
    absent = replace(platform, runnable=False, device="")
    if not platform.runnable:
        return absent
    try:
        _, address = split_target(target)
        text = join_target(platform.target_json, address.text if address else "")
        found = resolve_platform(text, platform.threads, measure=False)
    except UserError:  # fewer cores than it was measured with, a GPU's target that is unknown here, or no answer
        return absent
    return replace(platform, device=found.device) if found.fingerprint == platform.fingerprint else absent


def enter_workspace(workspace: Workspace, opened: Opened) -> Opened:
    """Put network and platform into a workspace; returns the network with the tasks as the workspace holds them.

    Equal tasks of two networks share a key, but not the names of their blocks, which traces refer to. The workspace
    keeps the first module of a key, and every trace under that key is applied to it.
    """
    workspace.add_platform(opened.platform)
    workspace.add_network(opened.imported.network, opened.tasks, opened.platform.fingerprint)
    return with_stored_tasks(workspace, opened)


def with_stored_tasks(workspace: Workspace, opened: Opened) -> Opened:
    """The same for a workspace that is only read."""
    stored = {task.key: task for task in workspace.all_tasks([task.key for task in opened.tasks])}
    tasks = tuple(
        replace(stored[task.key], name=task.name, weight=task.weight) if task.key in stored else task
        for task in opened.tasks
    )
    return replace(opened, imported=replace(opened.imported, tasks=tasks))
