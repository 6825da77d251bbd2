"""A learner in one file: knowledge base, active column and Fisher information, with its lineage. No optimiser.

The file is a `cost_model.checkpoint` of the model "ckd": checksummed, written atomically, refused in one sentence when
it is damaged or of another feature vocabulary, and no code is run from it. The anchor of online EWC is not stored
apart: after a platform was learned it is where the knowledge base stands.

A run does not start from this file but from one of its networks (`ContinualLearner.ranker_for`), which `export_ranker`
writes as a checkpoint of the cost model "mamba". Nothing here imports torch until a learner is saved or loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tcl_core.batches import FeatureLayout
from tcl_core.config import LEARNED_MODEL, CostModelConfig, LearnerConfig
from tcl_core.cost_model.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from tcl_core.domain import Platform
from tcl_core.errors import UserError
from tcl_core.learning.facts import LearnerFacts, WrongFact, learner_facts

if TYPE_CHECKING:
    from torch import nn

    from tcl_core.learning.continual import ContinualLearner

_KNOWLEDGE, _ACTIVE, _FISHER = "knowledge.", "active.", "fisher."


@dataclass(frozen=True, kw_only=True)
class LearnedOrigin:
    """Where the last platform's knowledge comes from.

    Attributes:
        data_digest: of the records that were read, see `dataset.Dataset.digest`.
        parent: digest of the checkpoint that was gone on from; None where it began with nothing.
        metrics: by name, as reported when it was learned.
    """

    platform: Platform
    data_digest: str
    parent: str | None = None
    metrics: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, kw_only=True)
class LearnedCheckpoint(LearnerFacts):
    """What a learner's checkpoint says of itself.

    Attributes:
        digest: SHA-256 (hex) over its content; what a child names as its parent.
        libraries: versions that wrote it.
    """

    path: Path
    digest: str
    layout: FeatureLayout
    libraries: Mapping[str, str]
    size_bytes: int


def save_learner(path: Path, learner: ContinualLearner, origin: LearnedOrigin) -> LearnedCheckpoint:
    """Write the learner; its last platform takes name, target and data digest of the origin into its lineage.

    Raises:
        UserError: the file cannot be written; an old one survives.
        ValueError: the learner has learned nothing, or another platform last.
    """
    from tcl_core.cost_model.weights import as_arrays

    known = learner.knowledge
    if not known.platforms or known.platforms[-1].fingerprint != origin.platform.fingerprint:
        raise ValueError(f"the learner did not learn {origin.platform.fingerprint} last")
    platform = origin.platform
    last = replace(
        known.platforms[-1],
        name=platform.name,
        data_digest=origin.data_digest,
        target_json=platform.target_json,
        vector_bits=platform.features.vector_bits,
    )
    known = replace(known, platforms=(*known.platforms[:-1], last))
    learner.restore(known, learner.column, learner.deployed, learner.leading)
    facts = {
        "learner": asdict(learner.config),
        "model": asdict(learner.cost_model.model),
        "seed": learner.seed,
        "deployed": learner.deployed,
        "leading": learner.leading,
        "platforms": [asdict(platform) for platform in known.platforms],
        "parent": origin.parent,
        "metrics": dict(origin.metrics),
    }
    tensors = {
        **_prefixed(_KNOWLEDGE, as_arrays(known.ranker)),
        **_prefixed(_ACTIVE, as_arrays(learner.column)),
        **_prefixed(_FISHER, {name: fisher.cpu().numpy() for name, fisher in known.ewc.fisher.items()}),
    }
    write_checkpoint(path, Checkpoint(model=LEARNED_MODEL, layout=learner.layout, facts=facts, tensors=tensors))
    return describe(path)


def describe(path: Path) -> LearnedCheckpoint:
    """Read and check a learner's whole checkpoint, of whatever feature vocabulary, without making the learner.

    Raises:
        UserError: not there, not a learner's checkpoint, truncated or tampered with.
    """
    return _described(path, read_checkpoint(path, LEARNED_MODEL))


def _described(path: Path, checkpoint: Checkpoint) -> LearnedCheckpoint:
    try:
        facts = learner_facts(checkpoint.facts, checkpoint.layout.platform)
    except WrongFact as error:
        raise UserError("checkpoint", f"The checkpoint {path} says that its {error}; name another.") from error
    except (KeyError, TypeError) as error:
        raise UserError(
            "checkpoint", f"The checkpoint {path} is of another version of the learner; learn it again."
        ) from error
    return LearnedCheckpoint(
        **vars(facts),
        path=path,
        digest=checkpoint.digest,
        layout=checkpoint.layout,
        libraries=checkpoint.libraries,
        size_bytes=path.stat().st_size,
    )


def load_learner(
    path: Path,
    layout: FeatureLayout,
    *,
    config: LearnerConfig | None = None,
    cost_model: CostModelConfig | None = None,
) -> ContinualLearner:
    """The learner as it was saved; what it learns next is what it would have learned without a stop.

    Args:
        config: how to learn from now on; None for as it was. The adapters keep their width.
        cost_model: device and scan; the model's settings are those of the file.

    Raises:
        UserError: not there, not a learner's checkpoint for `layout`, truncated or tampered with.
    """
    from tcl_core.learning.continual import ContinualLearner
    from tcl_core.learning.ewc import OnlineEwc
    from tcl_core.learning.knowledge_base import KnowledgeBase

    checkpoint = read_checkpoint(path, LEARNED_MODEL, layout)
    facts = _described(path, checkpoint)
    if _least_numbers(facts) > sum(tensor.size for tensor in checkpoint.tensors.values()):
        raise _wrong_weights(path)
    config = replace(config or facts.config, adapter=facts.config.adapter)
    model = replace(cost_model or CostModelConfig(), model=facts.model)
    learner = ContinualLearner(config, model, layout, facts.seed)
    ranker, column = learner.knowledge.ranker, learner.column
    _fill(path, checkpoint.tensors, {_KNOWLEDGE: ranker, _ACTIVE: column})
    loose = OnlineEwc.loose(ranker)
    fisher = {name: zeros.new_tensor(checkpoint.tensors[_FISHER + name]) for name, zeros in loose.fisher.items()}
    known = KnowledgeBase(ranker=ranker, ewc=replace(loose, fisher=fisher), platforms=facts.platforms)
    learner.restore(known, column, facts.deployed, facts.leading)
    return learner


def export_ranker(path: Path, learner: ContinualLearner, platform: str) -> None:
    """Write what a run on a platform starts from as a checkpoint of the cost model "mamba".

    Raises:
        UserError: the file cannot be written; an old one survives.
        ValueError: nothing was learned yet.
    """
    from tcl_core.cost_model.mamba_model import MambaModel
    from tcl_core.cost_model.weights import as_arrays

    known = learner.knowledge
    if not known.useful:
        raise ValueError("a learner that has learned nothing has no knowledge to export")
    facts: dict[str, Any] = {"model": asdict(learner.cost_model.model), "fits": len(known.platforms)}
    tensors = as_arrays(learner.ranker_for(platform))
    write_checkpoint(path, Checkpoint(model=MambaModel.name, layout=learner.layout, facts=facts, tensors=tensors))


def _prefixed(prefix: str, tensors: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {prefix + name: tensor for name, tensor in tensors.items()}


def _least_numbers(facts: LearnedCheckpoint) -> int:
    """Numbers that a learner with these sizes has at the least: one that the file cannot fill is never made, because
    it might not fit in memory.
    """
    model = facts.model
    block = model.expand * (2 * model.width + model.state + model.convolution) + facts.config.adapter
    return model.width * (model.layers * block + model.heads)


def _wrong_weights(path: Path) -> UserError:
    return UserError("checkpoint", f"The checkpoint {path} lacks weights or holds wrong ones; name another.")


def _fill(path: Path, tensors: Mapping[str, NDArray[Any]], networks: Mapping[str, nn.Module]) -> None:
    """Put the file's tensors into the networks, all or none; Fisher information is checked and left to the caller."""
    import torch

    states = {prefix: network.state_dict() for prefix, network in networks.items()}
    expected = {prefix + name: tuple(each.shape) for prefix, state in states.items() for name, each in state.items()}
    knowledge = networks[_KNOWLEDGE].named_parameters()
    expected |= {_FISHER + name: tuple(parameter.shape) for name, parameter in knowledge}
    found = {name: tensor.shape for name, tensor in tensors.items()}
    if found != expected or not all(np.isfinite(tensor).all() for tensor in tensors.values()):
        raise _wrong_weights(path)
    for prefix, network in networks.items():
        network.load_state_dict({name: torch.tensor(tensors[prefix + name]) for name in states[prefix]})
