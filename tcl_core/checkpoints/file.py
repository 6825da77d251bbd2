"""A checkpoint file as a person sees it: checked as a whole and described, without making its model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from tcl_core.batches import FeatureLayout
from tcl_core.checkpoints.origin import FACT, Origin, from_fact, to_fact
from tcl_core.cost_model.checkpoint import read_checkpoint, unwritable, write_checkpoint
from tcl_core.errors import UserError
from tcl_core.features.vocabulary import LAYOUT


@dataclass(frozen=True, kw_only=True)
class CheckpointFile:
    """What a checkpoint says of itself.

    Attributes:
        digest: SHA-256 (hex) over its content; what a child names as its parent.
        numbers: of all its tensors together.
        origin: None in one that a run keeps for itself, and in one of a later version.
        libraries: versions that wrote it.
    """

    path: Path
    model: str
    layout: FeatureLayout
    digest: str
    size_bytes: int
    numbers: int
    origin: Origin | None
    libraries: Mapping[str, str]

    @property
    def fits(self) -> bool:
        """Whether it was made for the feature vocabulary of this version."""
        return self.layout == LAYOUT


def describe(path: Path) -> CheckpointFile:
    """Read and check a whole checkpoint, whichever model and feature vocabulary it is of.

    Raises:
        UserError: not there, not a checkpoint, truncated or tampered with.
    """
    checkpoint = read_checkpoint(path)
    return CheckpointFile(
        path=path,
        model=checkpoint.model,
        layout=checkpoint.layout,
        digest=checkpoint.digest,
        size_bytes=path.stat().st_size,
        numbers=sum(tensor.size for tensor in checkpoint.tensors.values()),
        origin=from_fact(checkpoint.facts[FACT]) if FACT in checkpoint.facts else None,
        libraries=checkpoint.libraries,
    )


def require_importable(path: Path) -> tuple[CheckpointFile, Origin]:
    """A checkpoint that a workspace can take in, and where it comes from.

    Raises:
        UserError: not a checkpoint, damaged, of another feature vocabulary, or without lineage.
    """
    file = describe(path)
    if not file.fits:
        raise UserError(
            "checkpoint",
            f"The checkpoint {path} was made for feature vocabulary {file.layout.version} and this version uses "
            "another; train it again with this version, or import one that was.",
        )
    if file.origin is None:
        raise UserError(
            "checkpoint",
            f"The checkpoint {path} does not say which platform it comes from; export it from its workspace with "
            "`checkpoints export` and import that file.",
        )
    return file, file.origin


def stamp(path: Path, origin: Origin, out: Path | None = None) -> None:
    """Write the checkpoint at `path` again, to `out` where given, with its origin among its facts. One that says that
    origin already stays as it is, with its digest, in the words of whichever version wrote it.

    Raises:
        UserError: as `describe`, or the file cannot be written; an old one at `out` then survives.
    """
    checkpoint = read_checkpoint(path)
    if from_fact(checkpoint.facts.get(FACT)) != origin:
        checkpoint = replace(checkpoint, facts={**checkpoint.facts, FACT: to_fact(origin)})
    write_checkpoint(out or path, checkpoint)


def save_stamped(save: Callable[[Path], None], origin: Origin, path: Path) -> CheckpointFile:
    """As `write_stamped`, with what it says of itself then."""
    write_stamped(save, origin, path)
    return describe(path)


def write_stamped(save: Callable[[Path], None], origin: Origin, path: Path) -> None:
    """What `save` writes, with its origin, at `path`: an old file there survives until all of the new one is written.

    Raises:
        UserError: the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=path.parent, prefix=".new-") as folder:
            bare = Path(folder) / path.name
            save(bare)
            stamp(bare, origin, path)
    except (OSError, UserError) as error:
        cause = error.__cause__ if isinstance(error, UserError) else error
        if not isinstance(cause, OSError):
            raise
        # Whichever file it was: the one beside it is ours, and is gone.
        raise unwritable(path, cause) from cause
