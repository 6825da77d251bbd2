"""The whole stage: best records in, the tuned library out, checked, timed, and exported."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from tcl_core.config import LibraryConfig
from tcl_core.domain import Failure, Network, Platform, Record, Task
from tcl_core.errors import UserError
from tcl_core.events import CancelToken
from tcl_core.libraries import LibraryReport
from tcl_core.library.build import BuiltLibrary, build_tuned, build_untuned
from tcl_core.library.bundle import export_bundle, make_manifest, require_replaceable
from tcl_core.library.child import CompareRequest, CompareResult, compare, compare_in_child, save_inputs
from tcl_core.library.inputs import index_bounds, make_inputs, ones_among
from tcl_core.library.room import require_room
from tcl_core.linker import Linker, find_linker, require_linker, triple_of
from tcl_core.onnx_weights import save_apart
from tcl_core.passing_folders import passing_folder


class TunableNetwork(Protocol):
    """What the library needs of an imported network.

    Attributes:
        module: fused relax `IRModule`.
        simplified: makes the `onnx.ModelProto` that `module` was made from.
        fold: a relax module with what is computed of its constants alone as constants.
        single: the network in single precision, where `module` is and the network as it was opened is not; or None.
    """

    @property
    def network(self) -> Network: ...
    @property
    def module(self) -> Any: ...
    @property
    def simplified(self) -> Callable[[], Any]: ...
    @property
    def fold(self) -> Callable[[Any], Any]: ...
    @property
    def tasks(self) -> tuple[Task, ...]: ...
    @property
    def single(self) -> Any: ...


def make_library(
    *,
    loaded_model: Any,
    given: Any,
    imported: TunableNetwork,
    platform: Platform,
    records: Mapping[str, Sequence[Record]],
    out: Path | None,
    config: LibraryConfig,
    cancel: CancelToken | None = None,
    timed: bool = True,
) -> LibraryReport:
    """Build the tuned network, check it against onnxruntime, time it beside untuned TVM and onnxruntime, export it.

    Args:
        loaded_model: `onnx.ModelProto` as it was opened and imported: what stock TVM is made of.
        given: the same with its loops, if it had any: what onnxruntime runs.
        records: the best records of each task, fastest first, by task key.
        out: the bundle's folder; None to build, check and time only (that works without a C compiler).
        timed: whether to time it; without, stock TVM is not built either.

    Raises:
        UserError: no C compiler for an export, `out` taken by something else, no room on the disk, or no code for the
            target.
        Interrupted: `cancel` was stopped; nothing is left behind.
    """
    if out is not None:
        require_replaceable(out)
    triple = triple_of(platform.target_json)
    linker = require_linker(triple) if out is not None or platform.device else find_linker(triple)
    if linker:
        require_room(imported.module, Path(tempfile.gettempdir()))
    _checkpoint(cancel)
    built = build_tuned(imported.module, platform.target_json, records, imported.tasks)
    _checkpoint(cancel)
    with passing_folder("library") as name:
        folder = Path(name)
        libraries = {"tuned": built.executable}
        failures: tuple[str, ...] = ()
        if platform.runnable and timed:
            failures = _add_untuned(libraries, loaded_model, imported, platform)
        paths = _link_all(libraries, linker, folder) if linker else {}
        if linker:
            libraries.clear()  # untuned TVM has weights of its own, which lie in a file now
        _checkpoint(cancel)
        result = CompareResult()
        if platform.runnable:
            request = _request(loaded_model, given, imported, platform, paths, folder, config, timed)
            result = compare_in_child(request, cancel) if linker else _compare_here(request, libraries)
        report = _report(result, built, config, failures, platform)
        if out is None:
            return report
        manifest = make_manifest(
            network=imported.network,
            platform=platform,
            report=report,
            bounds=index_bounds(loaded_model),
            ones=ones_among(loaded_model, imported.network.inputs),
        )
        return replace(report, path=str(export_bundle(paths["tuned"], manifest, out)))


def _add_untuned(
    libraries: dict[str, Any], model: Any, imported: TunableNetwork, platform: Platform
) -> tuple[str, ...]:
    """The comparison can do without stock TVM where that cannot build the network at all: then with the reason."""
    try:
        models = [lambda: model, imported.simplified]
        libraries["untuned"] = build_untuned(models, imported.fold, platform.target_json)
    except UserError as error:
        return (str(error),)
    return ()


def _link_all(libraries: Mapping[str, Any], linker: Linker, folder: Path) -> dict[str, Path]:
    paths = {}
    for name, executable in libraries.items():
        paths[name] = folder / f"{name}.so"
        try:
            executable.export_library(str(paths[name]), fcompile=linker)
        except OSError as error:
            raise UserError(
                "library", f"The library cannot be linked in '{folder}' ({error.strerror}); free some space there."
            ) from error
    return paths


def _request(
    model: Any,
    given: Any,
    imported: TunableNetwork,
    platform: Platform,
    paths: Mapping[str, Path],
    folder: Path,
    config: LibraryConfig,
    timed: bool,
) -> CompareRequest:
    network = imported.network
    path = folder / "network.onnx"  # with the network's own name, that of its weights' file might be too long
    save_apart(given, path)
    single = folder / "single.onnx"
    if imported.single is not None:
        save_apart(imported.single, single)
    inputs = make_inputs(model, network.inputs, config.seed)
    return CompareRequest(
        model=str(path),
        single=str(single) if imported.single is not None else None,
        inputs=save_inputs(folder / "inputs.npz", inputs),
        names=tuple(spec.name for spec in network.inputs),
        outputs=tuple(spec.name for spec in network.outputs),
        tuned=str(paths["tuned"]) if "tuned" in paths else None,
        untuned=str(paths["untuned"]) if "untuned" in paths else None,
        kind=platform.kind,
        threads=platform.threads,
        config=config,
        timed=timed,
        device=platform.device,
    )


def _compare_here(request: CompareRequest, libraries: Mapping[str, Any]) -> CompareResult:
    """Without a linker nothing can be handed to another process: this one runs it, with the threads it has."""
    results = [CompareResult()]
    compare(request, results.append, libraries)
    return results[-1]


def _report(
    result: CompareResult, built: BuiltLibrary, config: LibraryConfig, failures: tuple[str, ...], platform: Platform
) -> LibraryReport:
    return LibraryReport(
        path=None,
        tasks=built.tasks,
        rtol=config.rtol,
        atol=config.atol,
        outputs=result.checks,
        failures=(*failures, *map(_sentence, result.failures)),
        untuned=result.timing("untuned"),
        tuned=result.timing("tuned"),
        onnxruntime=result.timing("onnxruntime"),
        contests=result.contests,
        crashed=result.broken,
        kind=platform.kind,
        device=platform.device,
    )


def _sentence(failure: Failure) -> str:
    lines = failure.message.strip().splitlines()
    return f"{failure.cause}: {lines[-1].strip()}" if lines else failure.cause


def _checkpoint(cancel: CancelToken | None) -> None:
    if cancel is not None:
        cancel.checkpoint()
