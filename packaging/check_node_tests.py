"""Hold the import against the onnx package's tests of single nodes: ``python packaging/check_node_tests.py``.

Run from the checkout, for new versions of TVM, onnx and onnxruntime: each network of one node is imported, built
untuned and run, and its results are held against onnxruntime's, or the test's own where onnxruntime does not run it.
Twenty minutes for all.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper
from onnx.backend.test.case.node import collect_testcases

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tcl_core.config import LibraryConfig, NetworkConfig  # noqa: E402
from tcl_core.domain import Platform  # noqa: E402
from tcl_core.errors import UserError  # noqa: E402
from tcl_core.hardware.target import resolve_platform  # noqa: E402
from tcl_core.library.build import build_tuned  # noqa: E402
from tcl_core.library.compare import check_outputs  # noqa: E402
from tcl_core.library.contenders import arrays, onnxruntime_contender, tvm_contender  # noqa: E402
from tcl_core.tuner.opening import open_network  # noqa: E402

AGREES, DIFFERS, REFUSED, FAILED, LEFT_OUT = "agrees", "differs", "refused", "failed", "left out"
_LIMIT_S = 60.0
_OLDEST_IR = 4
"""From this IR version on a constant is no input as well."""
_KINDS_LEFT_OUT = ("_expanded", "_training")
"""Definitions spelled out, which only functions read, and nodes of training."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """What came of one test, in words where it does not agree."""

    outcome: str
    why: str = ""


def cases(only: str) -> list[Any]:
    """The package's tests whose name holds `only`, as `onnx.backend.test.case.test_case.TestCase`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = collect_testcases(None)
    return [case for case in found if only in case.name and not any(kind in case.name for kind in _KINDS_LEFT_OUT)]


def check(case: Any, platform: Platform, *, constants: bool) -> Found:
    """Import, build and run one network here.

    Args:
        constants: all inputs but the first become constants, as exporters write axes, sizes and scales.
    """
    given, expected = case.data_sets[0]
    if not all(isinstance(each, np.ndarray | np.generic) and each.dtype != object for each in (*given, *expected)):
        return Found(outcome=LEFT_OUT)
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    inputs = {value.name: np.asarray(each) for value, each in zip(model.graph.input, given, strict=True)}
    if constants:
        _make_constant(model, inputs)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "network.onnx"
        onnx.save(model, path)
        try:
            found, names = _run(path, platform, inputs)
        except UserError as refusal:
            return Found(outcome=REFUSED, why=str(refusal).replace(str(path), path.name))
        reference = _reference(path, inputs) or [np.asarray(each) for each in expected]
    config = LibraryConfig()
    checks = check_outputs(names, found, reference, config.rtol, config.atol)
    beyond = [f"{each.name}: {each.beyond} of {each.elements}" for each in checks if each.beyond]
    pairs = zip(found, reference, strict=False)
    types = [f"{ours.dtype} for {theirs.dtype}" for ours, theirs in pairs if ours.dtype != theirs.dtype]
    return Found(outcome=DIFFERS, why=", ".join(beyond + types)) if beyond or types else Found(outcome=AGREES)


def _make_constant(model: Any, inputs: dict[str, Any]) -> None:
    model.ir_version = max(model.ir_version, _OLDEST_IR)
    for value in list(model.graph.input)[1:]:
        model.graph.initializer.append(onnx.numpy_helper.from_array(inputs.pop(value.name), value.name))
        model.graph.input.remove(value)


def _run(path: Path, platform: Platform, inputs: Mapping[str, Any]) -> tuple[list[Any], list[str]]:
    opened = open_network(str(path), platform.target_json, platform.threads, NetworkConfig())
    built = build_tuned(opened.imported.module, platform.target_json, {}, opened.tasks)
    network = opened.imported.network
    run = tvm_contender(built.executable, platform.kind, [each.name for each in network.inputs], inputs)
    return arrays(run()), [each.name for each in network.outputs]


def _reference(path: Path, inputs: Mapping[str, Any]) -> list[Any] | None:
    """None where onnxruntime has no kernel for it."""
    try:
        return arrays(onnxruntime_contender(str(path), 1, inputs)())
    except Exception:  # noqa: BLE001  # onnxruntime's exceptions have no common base
        return None


def checked(tests: Sequence[Any], platform: Platform, *, constants: bool) -> Iterator[tuple[str, Found]]:
    """Each test in a process of its own: one that ends its process, or never does, is one that failed."""
    context = multiprocessing.get_context("fork")
    for case in tests:
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_answer, args=(sender, case, platform, constants))
        process.start()
        sender.close()
        try:
            found = receiver.recv() if receiver.poll(_LIMIT_S) else Found(outcome=FAILED, why="took too long")
        except EOFError:
            found = Found(outcome=FAILED, why="ended its process")
        process.kill()
        process.join()
        yield case.name, found


def _answer(sender: Connection, case: Any, platform: Platform, constants: bool) -> None:
    try:
        sender.send(check(case, platform, constants=constants))
    except Exception as error:  # noqa: BLE001  # whatever it is, it is what is looked for
        sender.send(Found(outcome=FAILED, why=f"{type(error).__name__}: {error}"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse, check, tell; 0 where nothing differs or fails, else 1."""
    parser = argparse.ArgumentParser(description="Hold the import against the onnx package's tests of single nodes.")
    parser.add_argument("--only", default="", metavar="TEXT", help="tests whose name holds this")
    parser.add_argument("--constants", action="store_true", help="make all inputs but the first constants")
    parser.add_argument("--refused", action="store_true", help="name what is refused, too")
    parsed = parser.parse_args(arguments)
    told = {DIFFERS, FAILED, *([REFUSED] if parsed.refused else [])}
    counts: Counter[str] = Counter()
    platform = resolve_platform("cpu", 1, measure=False)
    for name, found in checked(cases(parsed.only), platform, constants=parsed.constants):
        counts[found.outcome] += 1
        if found.outcome in told:
            sys.stdout.write(f"{name} {found.outcome}: {found.why}\n")
            sys.stdout.flush()
    sys.stdout.write(", ".join(f"{outcome}: {count}" for outcome, count in sorted(counts.items())) + "\n")
    return 1 if counts[DIFFERS] or counts[FAILED] else 0


if __name__ == "__main__":
    raise SystemExit(main())
