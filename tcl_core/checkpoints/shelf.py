"""The checkpoints of a workspace and those that ship: listed, found by name, exported, imported, removed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tcl_core.checkpoints.file import CheckpointFile, describe, require_importable, stamp
from tcl_core.checkpoints.origin import Origin
from tcl_core.checkpoints.start import leads, shipped_path, shipped_paths
from tcl_core.config import COST_MODELS, KNOWLEDGE_MODEL, LEARNED_MODEL
from tcl_core.cost_model.checkpoint import write_whole
from tcl_core.destinations import check_folder
from tcl_core.domain import CheckpointKind, Platform
from tcl_core.errors import UserError
from tcl_core.store import Workspace

SHIPPED = "shipped"
SUFFIX = ".safetensors"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One checkpoint.

    Attributes:
        id: its number in the workspace; None for a run's own model, and for what ships.
        name: the file's stem.
        kind: a `CheckpointKind`, or `SHIPPED`.
        platform: whose records it learned from last, where that is known.
        starts: fingerprints of the workspace's platforms whose runs start from it when nothing else is asked for.
        chosen: fingerprints of the platforms that a person made it the default of.
        file: what it says of itself; None when it cannot be read, and `problem` says why.
    """

    id: int | None
    name: str
    path: Path
    kind: str
    platform: Platform | None
    starts: tuple[str, ...]
    file: CheckpointFile | None
    problem: str = ""
    chosen: tuple[str, ...] = ()

    @property
    def origin(self) -> Origin | None:
        return self.file.origin if self.file else None

    @property
    def on_disk(self) -> bool:
        """Whether its file is there, as far as that can be seen: a folder may be closed to us."""
        try:
            self.path.stat()
        except OSError:
            return False
        return True


def entries(workspace: Workspace | None) -> tuple[Entry, ...]:
    """The workspace's checkpoints, oldest first, its runs' own models, defaults that lie elsewhere, then what ships."""
    ships = list(_shipped(workspace))
    if workspace is None:
        return tuple(ships)
    noted = list(_noted(workspace))
    return tuple(_with_defaults(workspace, [*noted, *_elsewhere(workspace, (*noted, *ships)), *ships]))


def find(workspace: Workspace | None, name: str) -> Entry:
    """The checkpoint that a number or name of `entries` means; otherwise the file of that path.

    Raises:
        UserError: there is none, or several go by that name.
    """
    return _find(entries(workspace), workspace, name)


def _find(known: tuple[Entry, ...], workspace: Workspace | None, name: str) -> Entry:
    found = [one for one in known if one.id is not None and name == str(one.id)]  # each has its own
    found = found or [one for one in known if name == one.name]
    if len(found) > 1:
        numbers = ", ".join(str(one.id) for one in found if one.id is not None)
        raise UserError("checkpoint", f"Several checkpoints are called {name}; choose one by its number ({numbers}).")
    if found:
        return found[0]
    path = Path(name)
    if path.is_file():
        listed = next((one for one in known if one.path.resolve() == path.resolve()), None)
        if listed is not None:
            return listed
        return _loose(path)
    there = ", ".join(one.name for one in known) or "nothing"
    if workspace is None:
        raise UserError(
            "checkpoint",
            f"There is no checkpoint {name} among those that ship ({there}), and no such file; one of a workspace is "
            "named by its file, or together with its --workspace.",
        )
    raise UserError(
        "checkpoint",
        f"There is no checkpoint {name} in the workspace {workspace.path}, which holds {there}, and no such file.",
    )


def ancestors(workspace: Workspace | None, entry: Entry) -> tuple[tuple[Entry, ...], str]:
    """The checkpoints that one descends from, oldest first, and the digest of the first that is not there ("" if none).

    Of several copies of one checkpoint the first listed stands for all.
    """
    by_digest: dict[str, Entry] = {}
    for one in entries(workspace):
        if one.file is not None:
            by_digest.setdefault(one.file.digest, one)
    found: list[Entry] = []
    missing = entry.origin.parent if entry.origin else None
    while missing in by_digest:
        parent = by_digest.pop(missing)  # each once: a file that names itself ends here
        found.append(parent)
        missing = parent.origin.parent if parent.origin else None
    told = {one.file.digest for one in found if one.file}
    return tuple(reversed(found)), "" if missing is None or missing in told else missing


def export_checkpoint(workspace: Workspace | None, name: str, out: Path) -> CheckpointFile:
    """Copy a checkpoint with its lineage to `out`, a new file, or a folder for one of the checkpoint's name.

    Raises:
        UserError: no such checkpoint, it is damaged, `out` exists or cannot be written.
    """
    entry = _readable(find(workspace, name))
    target = out / f"{entry.name}{SUFFIX}" if out.is_dir() else out
    if target.exists():
        raise UserError("checkpoint", f"{target} exists already; name another file, or remove it first.")
    check_folder(target.parent, "checkpoint")
    stamp(entry.path, _origin(entry), target)
    return describe(target)


def import_checkpoint(workspace: Workspace, path: Path) -> Entry:
    """Check a checkpoint and take a copy of it into the workspace, with the platform it comes from.

    Raises:
        UserError: not a checkpoint, damaged, of another feature vocabulary, without lineage, or there already.
    """
    file, origin = require_importable(path)
    for known in entries(workspace):
        if known.file and known.file.digest == file.digest and known.kind != SHIPPED:
            raise UserError("checkpoint", f"The workspace {workspace.path} has this checkpoint as {known.name}.")
    copy = new_path(workspace, _foreign_stem(workspace, path.stem, origin.platform))
    stamp(path, origin, copy)
    return _entry(note(workspace, describe(copy)), copy, origin.kind)


def remove_checkpoint(workspace: Workspace, name: str) -> Entry:
    """Forget a checkpoint and delete its file where that lies in the workspace; a file elsewhere stays.

    Raises:
        UserError: no such checkpoint in this workspace, whatever else lies there, or its file cannot be deleted.
    """
    known = entries(workspace)
    entry = _find(known, workspace, name)
    inside = entry.path.resolve().is_relative_to(workspace.path.resolve())
    if entry.kind == SHIPPED or entry not in known:
        raise UserError(
            "checkpoint",
            f"The checkpoint {entry.name} is not one of the workspace {workspace.path} and stays; "
            "`tune --checkpoint none` starts without any.",
        )
    if inside:
        _delete(entry.path)
    if entry.id is not None:
        workspace.remove_checkpoint(entry.id)
    for platform, path in workspace.defaults().items():
        if path.resolve() == entry.path.resolve():
            workspace.set_default(platform, None)
    return entry


def restore_checkpoint(
    workspace: Workspace, copy: Path, place: Path, *, noted: bool, chosen: tuple[str, ...] = ()
) -> Entry:
    """Take a removed checkpoint back as it was, whichever feature vocabulary it is of. Done twice, it is there once.

    Args:
        copy: its file from before the removal.
        place: where its file lay; a noted one goes beside it where there is another file by now.
        noted: whether it had a number; a run's own model has none.
        chosen: fingerprints of the platforms that it was the default of.

    Raises:
        UserError: damaged, it cannot be written, or a run has saved another model where its own one lay.
    """
    describe(copy)
    content = copy.read_bytes()
    if place.exists() and place.read_bytes() != content:
        if not noted:
            raise UserError("checkpoint", f"A run has saved another model as {place} since; remove that one first.")
        place = new_path(workspace, place.stem)
    if not place.exists():
        write_whole(place, content)
    file = describe(place)
    # Only a later version's origin cannot be read; its file is then listed by where it lies.
    origin = file.origin if noted else None
    number = note(workspace, file) if origin else None
    for fingerprint in chosen:
        workspace.set_default(fingerprint, place)
    return _entry(number, place, origin.kind if origin else CheckpointKind.RUN)


def set_default(workspace: Workspace, name: str, fingerprint: str | None = None) -> tuple[Entry, Platform]:
    """Make a checkpoint the one that runs on a platform start from when nothing else is asked for.

    Args:
        fingerprint: of the platform; None for the one that the checkpoint learned from last.

    Raises:
        UserError: no such checkpoint or platform, it is damaged, of another feature vocabulary or kind of hardware.
    """
    entry = _readable(find(workspace, name))
    if entry.file is None or not entry.file.fits:
        raise UserError(
            "checkpoint", f"{entry.name} was made for another feature vocabulary, so that no run can start from it."
        )
    wanted = fingerprint or (entry.platform.fingerprint if entry.platform else "")
    platform = next((one for one in workspace.platforms() if one.fingerprint == wanted), None)
    if platform is None:
        raise UserError(
            "checkpoint",
            f"The workspace {workspace.path} has no platform {wanted or '(none was named)'}; tune or collect on it "
            "first, or name one of its platforms.",
        )
    if entry.platform is not None and entry.platform.kind != platform.kind:
        raise UserError(
            "checkpoint",
            f"{entry.name} has learned {entry.platform.kind} platforms and {platform.name} is {platform.kind}; CPUs "
            "and GPUs keep knowledge of their own.",
        )
    workspace.set_default(platform.fingerprint, entry.path)
    return entry, platform


def note(workspace: Workspace, file: CheckpointFile) -> int:
    """Note a checkpoint that has an origin in the workspace, its platform included; gives its number."""
    origin = file.origin
    if origin is None:
        raise ValueError(f"{file.path} has no origin")
    if origin.platform.fingerprint not in {platform.fingerprint for platform in workspace.platforms()}:
        workspace.add_platform(origin.platform)
    for row in workspace.checkpoints():
        if row.path.resolve() == file.path.resolve():  # what it described has been written over
            workspace.remove_checkpoint(row.id)
    return workspace.add_checkpoint(
        origin.platform.fingerprint,
        file.model,
        file.path,
        records_used=origin.records,
        metrics=dict(origin.metrics),
        kind=origin.kind,
        parent=origin.parent,
        data_hash=origin.data_hash or None,
        feature_version=file.layout.version,
    )


def new_path(workspace: Workspace, stem: str) -> Path:
    """A file of the workspace that does not exist yet: `stem` itself, or with the first number that is free."""
    folder = workspace.path / "checkpoints"
    path, number = folder / f"{stem}{SUFFIX}", 2
    while path.exists():
        path, number = folder / f"{stem}-{number}{SUFFIX}", number + 1
    return path


def _foreign_stem(workspace: Workspace, stem: str, origin: Platform) -> str:
    """A name that no run here writes its own model under, over what was taken in."""
    platforms = {origin.fingerprint, *(platform.fingerprint for platform in workspace.platforms())}
    own = {workspace.checkpoint_path(one, model).stem for one in platforms for model in COST_MODELS}
    return f"{stem}-imported" if stem in own else stem


def _noted(workspace: Workspace) -> Iterator[Entry]:
    platforms = {platform.fingerprint: platform for platform in workspace.platforms()}
    rows = workspace.checkpoints()
    for row in rows:
        yield replace(_entry(row.id, row.path, row.kind), platform=platforms.get(row.platform))
    noted = {row.path.resolve() for row in rows}
    for path in sorted((workspace.path / "checkpoints").glob(f"*{SUFFIX}")):
        if path.resolve() not in noted:
            entry = _loose(path)
            owner = _owner(workspace, entry, platforms)
            starts = (owner.fingerprint,) if owner else ()
            yield replace(entry, platform=owner or entry.platform, starts=starts)


def _elsewhere(workspace: Workspace, known: Sequence[Entry]) -> Iterator[Entry]:
    """Defaults that are files outside the workspace, also where they are gone: runs start from them, or are refused."""
    listed = {one.path.resolve() for one in known}
    for path in dict.fromkeys(workspace.defaults().values()):
        if path.resolve() not in listed:
            yield _loose(path)


def _loose(path: Path) -> Entry:
    """A file that the workspace has not noted."""
    entry = _entry(None, path, CheckpointKind.RUN)
    return replace(entry, kind=str(entry.origin.kind)) if entry.origin else entry


def _with_defaults(workspace: Workspace, found: list[Entry]) -> Iterator[Entry]:
    """The entries with what persons made the default in place of what would be it otherwise."""
    places = {fingerprint: path.resolve() for fingerprint, path in workspace.defaults().items()}
    chosen = {
        one.path.resolve(): tuple(key for key, path in places.items() if path == one.path.resolve()) for one in found
    }
    leading = {key for one in found for key in chosen[one.path.resolve()] if one.file and _leads(workspace, key, one)}
    for entry in found:
        here = chosen[entry.path.resolve()]
        kept = (key for key in entry.starts if key not in leading)
        yield replace(entry, chosen=here, starts=(*kept, *(key for key in here if key in leading)))


def _leads(workspace: Workspace, fingerprint: str, entry: Entry) -> bool:
    """Whether runs on a platform start from an entry that is its default, rather than from what came of it."""
    assert entry.file is not None
    model = KNOWLEDGE_MODEL if entry.file.model == LEARNED_MODEL else entry.file.model
    try:
        return leads(entry.path, workspace.checkpoint_path(fingerprint, model))
    except UserError:  # the workspace's own model is damaged, and its own entry says so
        return True


def _owner(workspace: Workspace, entry: Entry, platforms: dict[str, Platform]) -> Platform | None:
    """Whose runs keep their model in this file."""
    if entry.file is None:
        return None
    own = {workspace.checkpoint_path(key, entry.file.model).name: one for key, one in platforms.items()}
    return own.get(entry.path.name)


def _shipped(workspace: Workspace | None) -> Iterator[Entry]:
    for path in shipped_paths():
        entry = _entry(None, path, SHIPPED)
        starts = tuple(
            platform.fingerprint
            for platform in (workspace.platforms() if workspace else ())
            if entry.file is not None
            and entry.file.fits
            and workspace is not None
            and path == shipped_path(platform)
            and not workspace.checkpoint_path(platform.fingerprint, "mamba").exists()
        )
        yield replace(entry, platform=entry.origin.platform if entry.origin else None, starts=starts)


def _entry(number: int | None, path: Path, kind: str) -> Entry:
    try:
        file, problem = describe(path), ""
    except UserError as error:
        file, problem = None, str(error)
    platform = file.origin.platform if file and file.origin else None
    return Entry(
        id=number, name=path.stem, path=path, kind=str(kind), platform=platform, starts=(), file=file, problem=problem
    )


def _readable(entry: Entry) -> Entry:
    if entry.file is None:
        raise UserError("checkpoint", entry.problem)
    return entry


def _origin(entry: Entry) -> Origin:
    """The lineage an exported file carries; a run's own model gets one."""
    if entry.origin is not None:
        return entry.origin
    if entry.platform is None:
        raise UserError(
            "checkpoint",
            f"The checkpoint {entry.path} does not say which platform it comes from; name it together with its "
            "workspace (--workspace).",
        )
    return Origin(kind=CheckpointKind.RUN, platform=entry.platform, lineage=(entry.platform.name,))


def _delete(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(
            "checkpoint",
            f"The checkpoint {path} cannot be deleted ({error.strerror}); make its folder writable and try again.",
        ) from error
