"""Candidates of platforms learned before: what the networks that teach would be made of there (METHOD, "CKD").

A knowledge base is rehearsed on these. They come from the networks' files, imported for each earlier target, and from
chance; no record of an earlier platform is read, and none has to exist any more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

import numpy as np

from tcl_core.batches import TokenBatch
from tcl_core.config import NetworkConfig, config_of
from tcl_core.domain import Network, Task
from tcl_core.errors import UserError
from tcl_core.evaluation.groups import drawn_candidates
from tcl_core.events import CancelToken
from tcl_core.learning.lineage import LearnedPlatform
from tcl_core.network.importer import import_network
from tcl_core.network.load import LoadedNetwork, load_network
from tcl_core.space.design_space import DesignSpace

Phase = Callable[[str], None]


def drawn_elsewhere(
    networks: Sequence[Network],
    held_out: Collection[str],
    platforms: Sequence[LearnedPlatform],
    count: int,
    generator: np.random.Generator,
    phase: Phase,
    cancel: CancelToken,
) -> Iterator[TokenBatch]:
    """So many random candidates of each sketch of each task, by platform of which the target is known.

    Args:
        held_out: keys of tasks that are left out.
        phase: is told what is at work, and which networks are left out because their files are gone, are others now, or
            cannot be imported for a target.

    Raises:
        Interrupted: `cancel` was stopped.
    """
    known = [platform for platform in platforms if platform.target_json]
    done = {(platform.fingerprint, key) for platform in known for key in held_out}
    for network in networks if known else ():
        loaded = _loaded(network, phase)
        if loaded is None:
            continue
        for platform in known:
            cancel.checkpoint()
            phase(f"drawing candidates of {network.name} for {platform.name}")
            for task in _tasks(loaded, platform, phase):
                if (platform.fingerprint, task.key) not in done:
                    cancel.checkpoint()
                    done.add((platform.fingerprint, task.key))
                    yield from _of(task, platform, count, generator)


def _loaded(network: Network, phase: Phase) -> LoadedNetwork | None:
    try:
        loaded = load_network(Path(network.path), config_of(network))
    except UserError as error:
        phase(f"{network.name} is left out of the rehearsal: {error}")
        return None
    if loaded.network.digest != network.digest:
        phase(f"{network.name} is left out of the rehearsal: {network.path} is another network now")
        return None
    return loaded


def _tasks(loaded: LoadedNetwork, platform: LearnedPlatform, phase: Phase) -> tuple[Task, ...]:
    try:
        return import_network(loaded, platform.target_json, NetworkConfig(), platform.vector_bits).tasks
    except UserError as error:
        phase(f"{loaded.network.name} is left out of the rehearsal for {platform.name}: {error}")
        return ()


def _of(task: Task, platform: LearnedPlatform, count: int, generator: np.random.Generator) -> Iterator[TokenBatch]:
    token = np.array(platform.token, np.float32)
    for sketch in DesignSpace(task, platform.target_json).sketches:
        batch = drawn_candidates(sketch, task, token, count, generator)
        if len(batch):
            yield batch
