"""Which checkpoint a run starts from, decided and checked before anything is measured."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

from tcl_core.checkpoints.file import CheckpointFile, describe
from tcl_core.config import COLD, KNOWLEDGE_MODEL, LEARNED_MODEL
from tcl_core.cost_model.base import CostModel
from tcl_core.cost_model.checkpoint import read_checkpoint
from tcl_core.domain import Platform
from tcl_core.errors import UserError
from tcl_core.features.vocabulary import LAYOUT
from tcl_core.passing_folders import passing_folder
from tcl_core.store import Workspace

_SHIPPED = {"llvm": "cpu", "cuda": "cuda"}


@dataclass(frozen=True, kw_only=True)
class Start:
    """Where a cost model starts.

    Attributes:
        path: the checkpoint; None for a cold start.
        learned: whether it is a learned checkpoint, of which that starts the model which answers for the platform.
        reason: who chose it: "asked", "default" (a person, for all runs on the platform), "workspace" (the model of
            earlier runs goes on), or "shipped".
    """

    path: Path | None
    learned: bool = False
    reason: str = "asked"

    @property
    def own(self) -> bool:
        """Whether the workspace's own model goes on, which has learned from the workspace's records already."""
        return self.reason == "workspace"

    @property
    def text(self) -> str:
        """As ``--checkpoint`` takes it: with this the run starts the same way again."""
        return COLD if self.path is None else str(self.path)


def choose_start(workspace: Workspace, platform: Platform, model: str, asked: str | None) -> Start:
    """The checkpoint that a run with this cost model starts from.

    Args:
        asked: a file, `COLD`, or None for the platform's default, else the workspace's own model of this platform,
            else the one that ships for this processor or this kind of platform, else a cold start.

    Raises:
        UserError: the checkpoint asked for, or the workspace's own, is not there, damaged, of another cost model or of
            another feature vocabulary.
    """
    if asked == COLD:
        return Start(path=None)
    own = workspace.checkpoint_path(platform.fingerprint, model)
    if asked is not None:
        start = check_asked(Path(asked), model)
        return replace(start, reason="workspace") if start.path == own.resolve() else start
    default = _default(workspace, platform)
    if default is not None and leads(default.path, own) and holds(default, model):
        return replace(check_asked(default.path, model), reason="default")
    if own.exists():
        read_checkpoint(own, model, LAYOUT)
        return Start(path=own, reason="workspace")
    return _shipped(shipped_path(platform), model)


def _default(workspace: Workspace, platform: Platform) -> CheckpointFile | None:
    """What a person made the start of all runs on the platform.

    Raises:
        UserError: it cannot be read.
    """
    path = workspace.defaults().get(platform.fingerprint)
    if path is None:
        return None
    try:
        return describe(path)
    except UserError as error:
        raise UserError(
            error.stage,
            f"The default that runs on {platform.name} start from cannot be used; choose another with main.py "
            f"checkpoints default, or none: {error}",
        ) from error


def leads(default: Path, own: Path) -> bool:
    """Whether runs start from a default: the workspace's own model goes on once it has begun with it, or is it.

    Raises:
        UserError: either of them cannot be read.
    """
    if not own.exists():
        return True
    origin = describe(own).origin
    return default.resolve() != own.resolve() and (origin is None or origin.parent != describe(default).digest)


def holds(file: CheckpointFile, model: str) -> bool:
    """Whether a run with this cost model can start from a checkpoint; from a learned one with one of its rankers."""
    return file.model == model or (file.model == LEARNED_MODEL and model == KNOWLEDGE_MODEL)


def load_start(model: CostModel, start: Start, platform: Platform) -> None:
    """Give a model the knowledge that `start` names; of a learned checkpoint one of its rankers: the active column on
    the platform it learned last, if that ranks better there, else the knowledge base.

    Raises:
        UserError: see `CostModel.load`.
    """
    if start.path is None:
        return
    if not start.learned:
        model.load(start.path)
        return
    from tcl_core.learning.checkpoints import export_ranker, load_learner

    with passing_folder("ranker") as folder:
        ranker = Path(folder) / "ranker.safetensors"
        export_ranker(ranker, load_learner(start.path, LAYOUT), platform.fingerprint)
        model.load(ranker)


def shipped_folder() -> Path:
    """Where checkpoints ship, in a checkout as in an installed package."""
    return Path(str(resources.files("resources"))) / "checkpoints"


def shipped_path(platform: Platform) -> Path:
    """The checkpoint that ships for a platform, be it there or not: the one that is named after its processor as LLVM
    calls it ("cpu-znver4"), or else the one for all of its kind.
    """
    kind, processor = _SHIPPED[platform.kind], json.loads(platform.target_json).get("mcpu")
    own = shipped_folder() / f"{kind}-{processor}.safetensors"
    return own if own.exists() else shipped_folder() / f"{kind}.safetensors"


def shipped_paths() -> tuple[Path, ...]:
    """Those that do ship: of each kind the one for all, then those for single processors."""
    folder = shipped_folder()
    return tuple(
        path
        for kind in _SHIPPED.values()
        for path in (folder / f"{kind}.safetensors", *sorted(folder.glob(f"{kind}-*.safetensors")))
        if path.exists()
    )


def check_asked(path: Path, model: str) -> Start:
    """The checkpoint that somebody named, checked for a cost model of this name.

    Raises:
        UserError: not there, damaged, of another cost model or of another feature vocabulary.
    """
    found = describe(path)
    if not holds(found, model):
        raise UserError(
            "checkpoint",
            f"The checkpoint {path} holds the cost model '{found.model}', not '{model}'; name another, or choose "
            f"--cost-model {KNOWLEDGE_MODEL if found.model == LEARNED_MODEL else found.model}.",
        )
    read_checkpoint(path, found.model, LAYOUT)  # refuses another feature vocabulary
    return Start(path=path.resolve(), learned=found.model == LEARNED_MODEL)


def _shipped(path: Path, model: str) -> Start:
    """What ships, where it is for this cost model and vocabulary; else a cold start, as if nothing shipped."""
    found = describe(path) if path.exists() else None
    if found is None or not found.fits or not holds(found, model):
        return Start(path=None)
    return Start(path=path, learned=found.model == LEARNED_MODEL, reason="shipped")
