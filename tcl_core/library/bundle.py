"""The bundle: a folder with the library, its manifest, two runners and a README. Whole, or not there at all."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Set
from importlib import resources
from pathlib import Path
from typing import Any

from tcl_core.destinations import check_folder
from tcl_core.domain import Network, Platform, TensorSpec
from tcl_core.errors import UserError
from tcl_core.libraries import LibraryReport, LibraryTask, finite, output_json
from tcl_core.library.cpp_example import cpp_source, readme
from tcl_core.versions import installed_versions

FORMAT = "tcl-studio bundle"
VERSION = 1
_TEXTS = ("manifest.json", "run.py", "run.cpp", "README.md")
"""What a bundle holds beside its library."""
_PARTIAL, _ASIDE = ".bundle-", ".bundle-old-"
"""How folders beside the bundle begin while it is written; its own name may fill all that a file's name can have."""


def file_stem(name: str) -> str:
    """A network's name as a file name."""
    return re.sub(r"[^\w.-]+", "_", name).strip("._") or "network"


def make_manifest(
    *,
    network: Network,
    platform: Platform,
    report: LibraryReport,
    bounds: Mapping[str, int],
    ones: Set[str],
) -> dict[str, Any]:
    """The manifest of a bundle: what the library is, for what, from what, and how it was checked.

    Args:
        bounds: exclusive upper bounds of the integer inputs that index a table.
        ones: names of the inputs that are ones where a person gives nothing else, see `inputs.ones_among`.
    """
    return {
        "format": FORMAT,
        "version": VERSION,
        "library": f"{file_stem(network.name)}.so",
        "function": "main",
        "device": "cuda" if platform.kind == "cuda" else "cpu",
        "network": {
            "name": network.name,
            "digest": network.digest,
            "fixed": dict(network.values),
            "begins_at": list(network.begin_at),
            "ends_at": list(network.end_at),
        },
        "inputs": [
            _tensor(spec) | {"below": bounds.get(spec.name, 2), "ones": spec.name in ones} for spec in network.inputs
        ],
        "outputs": [_tensor(spec) for spec in network.outputs],
        "target": platform.target_json,
        "platform": {
            "name": platform.name,
            "fingerprint": platform.fingerprint,
            "kind": platform.kind,
            "threads": platform.threads,
        },
        "tasks": [_task(task) for task in report.tasks],
        "check": {
            "reference": "onnxruntime",
            "rtol": report.rtol,
            "atol": report.atol,
            "max_abs_error": finite(report.max_abs_error),
            "matches": report.matches,
            "outputs": [output_json(output) for output in report.outputs],
        },
        "latency_ms": {
            name: None if timing is None else timing.median_ms
            for name, timing in (
                ("untuned", report.untuned),
                ("tuned", report.tuned),
                ("onnxruntime", report.onnxruntime),
            )
        },
        "versions": dict(installed_versions()),
    }


def export_bundle(library: Path, manifest: Mapping[str, Any], out: Path) -> Path:
    """Write a bundle: into a folder beside `out` first, which then takes its name.

    Args:
        library: the linked shared library.
        out: the bundle's folder; one that is empty or holds a bundle is replaced, but for files of a person's own.

    Raises:
        UserError: `out` holds something else, cannot be written, or the disk is full.
    """
    require_replaceable(out)
    place = _place(out)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=_PARTIAL, dir=place.parent))
        try:
            _write(partial, library, manifest)
            _carry_over(place, partial)
            _take_place(partial, place)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    except OSError as error:
        raise _refusal(out, error) from error
    return out


def require_replaceable(out: Path) -> None:
    """See that a bundle can be written, before anybody waits for its library.

    Raises:
        UserError: `out` exists and is neither an empty folder nor a bundle, a disk is mounted there, or nothing can be
            written beside it.
    """
    if out.exists() and not out.is_dir():
        raise UserError("library", f"'{out}' is a file; name a folder for the bundle.")
    if out.exists() and any(out.iterdir()) and not is_bundle(out):
        raise UserError("library", f"'{out}' holds other files; name a new or empty folder for the bundle.")
    place = _place(out)
    if os.path.ismount(place):  # Windows: `Path.is_mount` came with Python 3.12
        raise UserError(
            "library",
            f"'{out}' is where a disk is mounted, and no bundle can take its place; name a folder inside it.",
        )
    check_folder(place.parent, "library")


def _place(out: Path) -> Path:
    """Where a link leads to: in place of the link itself the old bundle would stay there, and the new one elsewhere."""
    return Path(os.path.realpath(out))


def is_bundle(folder: Path) -> bool:
    """Whether a folder holds a bundle, of whatever version."""
    return _manifest(folder) is not None


def bundle_is_of(folder: Path, network: Network, platform: Platform) -> bool:
    """Whether a folder holds a bundle of this network for this platform."""
    found = _manifest(folder) or {}
    told = [found.get("network"), found.get("platform")]
    wanted = [("digest", network.digest), ("fingerprint", platform.fingerprint)]
    return all(isinstance(one, dict) and one.get(key) == value for one, (key, value) in zip(told, wanted, strict=True))


def _manifest(folder: Path) -> dict[str, Any] | None:
    """What a bundle says of itself; None where there is none."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return manifest if isinstance(manifest, dict) and manifest.get("format") == FORMAT else None


def _write(folder: Path, library: Path, manifest: Mapping[str, Any]) -> None:
    shutil.copyfile(library, folder / manifest["library"])
    runner = resources.files("tcl_core.library").joinpath("runner.py").read_text(encoding="utf-8")
    texts = (json.dumps(manifest, indent=2, allow_nan=False) + "\n", runner, cpp_source(manifest), readme(manifest))
    for name, text in zip(_TEXTS, texts, strict=True):
        (folder / name).write_text(text, encoding="utf-8")
    folder.chmod(0o755)  # mkdtemp makes it private
    for file in folder.iterdir():
        with file.open("rb") as stream:
            os.fsync(stream.fileno())


def _carry_over(old: Path, new: Path) -> None:
    """Copy what a person has put beside an earlier bundle, the example they compiled there among it."""
    own = {*_TEXTS, (_manifest(old) or {}).get("library")}
    for entry in old.iterdir() if old.exists() else ():
        if entry.name in own or (new / entry.name).exists():
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.copytree(entry, new / entry.name, symlinks=True)
        else:
            shutil.copy2(entry, new / entry.name, follow_symlinks=False)


def _take_place(partial: Path, out: Path) -> None:
    """Rename, with what stood there moved aside until the new bundle stands."""
    if not out.exists():
        partial.rename(out)
        return
    aside = Path(tempfile.mkdtemp(prefix=_ASIDE, dir=out.parent)) / out.name
    try:
        out.rename(aside)
        try:
            partial.rename(out)
        except OSError:
            aside.rename(out)
            raise
    finally:
        if out.exists():  # else what stood there is the only one left
            shutil.rmtree(aside.parent, ignore_errors=True)


def _refusal(out: Path, error: OSError) -> UserError:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return UserError("library", f"The disk is full, so the bundle '{out}' was not written; free some space.")
    reason = error.strerror or str(error)
    return UserError("library", f"The bundle '{out}' cannot be written ({reason}); choose another folder.")


def _tensor(spec: TensorSpec) -> dict[str, Any]:
    return {"name": spec.name, "dtype": spec.dtype, "shape": list(spec.shape)}


def _task(task: LibraryTask) -> dict[str, Any]:
    return {
        "name": task.name,
        "key": task.key,
        "weight": task.weight,
        "tuned": not task.fallback,
        "faster_records_that_no_longer_apply": task.passed_over,
        "latency_ms": None if task.latency_s is None else task.latency_s * 1e3,
    }
