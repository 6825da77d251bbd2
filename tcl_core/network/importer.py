"""A loaded network -> a fused relax module and its tasks."""

from __future__ import annotations

import contextlib
import io
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.target import Target

from tcl_core.config import NetworkConfig
from tcl_core.domain import ImportIssue, ImportReport, Network, Task
from tcl_core.errors import NodesRefused, UserError
from tcl_core.network import operators
from tcl_core.network.frontend import Frontend
from tcl_core.network.frontier import proposing_ends
from tcl_core.network.kernels.adaptive_pools import pool_unequal_windows
from tcl_core.network.kernels.fast_math import fast_math
from tcl_core.network.kernels.samples import sample_by_points
from tcl_core.network.layouts.attention import widen_attention
from tcl_core.network.layouts.blocked import block_convolutions
from tcl_core.network.layouts.columns import lengthen_columns
from tcl_core.network.layouts.gates import take_gates_apart
from tcl_core.network.layouts.panels import lay_out_weights
from tcl_core.network.layouts.parts import move_parts
from tcl_core.network.layouts.tokens import lengthen_rows
from tcl_core.network.load import LoadedNetwork
from tcl_core.network.onnx_graph.nodes import CONTRIBUTED, OWN, opset_of
from tcl_core.network.onnx_graph.shapes import names
from tcl_core.network.quantization.long_norms import normalise_in_parts
from tcl_core.network.quantization.quantized import is_quantized, round_by_operator, spell_out_quantization
from tcl_core.network.relax_graph.constants import fold_constants
from tcl_core.network.relax_graph.growth import end_before_growth
from tcl_core.network.relax_graph.joints import end_at_joints
from tcl_core.network.rewrites.halves import in_single_precision
from tcl_core.network.rewrites.simplify import simplify
from tcl_core.network.schedule_rules import fit_for_schedules
from tcl_core.network.tasks import extract_tasks
from tcl_core.onnx_names import names_as_identifiers

_FLOAT_BITS = 32
_LEGALISED = tvm.transform.Sequential(
    [relax.transform.LegalizeOps(), relax.transform.AnnotateTIROpPattern(), relax.transform.FoldConstant()]
)
_FUSED = tvm.transform.Sequential([relax.transform.FuseOps(), relax.transform.FuseTIR()])
"""Relax's pipeline "zero" (TVM 0.27) in two."""
_IN_SINGLE = ImportIssue(
    node="",
    operator="",
    problem="its half floats are computed in float32, as a processor does best",
    mend="inputs and outputs stay as they are, weights take twice the room",
)


@dataclass(frozen=True, kw_only=True)
class ImportedNetwork:
    """A network as TVM has it. Belongs to the process that made it.

    Attributes:
        module: fused relax `IRModule`, weights inside as constants.
        simplified: makes anew the `onnx.ModelProto` that `module` was made from; the one before, where that has
            operators of ours. It is not kept: it holds all weights once more.
        single: the loaded `onnx.ModelProto` in single precision, where `module` is and that is not (`halves`).
        fold: a relax module with what is computed of its constants alone as constants (`relax_graph.constants`).
    """

    network: Network
    module: Any
    simplified: Callable[[], Any]
    tasks: tuple[Task, ...]
    report: ImportReport
    single: Any = None
    fold: Callable[[Any], Any] = fold_constants


# Networks hold infinities, masks and what a quantiser made of them: what is computed of them is theirs to say.
@np.errstate(all="ignore")
def import_network(
    loaded: LoadedNetwork, target_json: str, config: NetworkConfig, vector_bits: int = 0
) -> ImportedNetwork:
    """Simplify, import and fuse a network, and extract its tasks.

    Args:
        vector_bits: of the target's registers; convolutions are not blocked where it is 0.

    Raises:
        UserError: an operator that cannot be imported or compiled; all unsupported nodes are named.
    """
    started = time.perf_counter()
    counts = operators.count_operators(loaded.model)
    target = Target(json.loads(target_json))
    on_cpu = str(target.kind.name) == "llvm"
    model = in_single_precision(loaded.model) if on_cpu else loaded.model
    lanes = vector_bits // _FLOAT_BITS
    with proposing_ends(loaded.given):
        candidates, issues = _candidates(model, on_cpu=on_cpu)
        module, at, problems = _first_that_imports(candidates, polynomials=config.fast_math, lanes=lanes)
    single = None if model is loaded.model else model
    issues += problems if single is None else (_IN_SINGLE, *problems)
    if loaded.left_out:
        issues = (_left_out(loaded), *issues)
    ours = any(node.domain in {OWN, CONTRIBUTED} for node in candidates[at].graph.node)
    candidates.clear()
    fused, noticed = _fuse(module, target, config, lanes)
    tasks, dynamic = extract_tasks(fused, target)
    if not tasks:
        lacking, mend = "", "open a network that computes something"
        if dynamic:
            lacking, mend = ": the sizes of all that it computes depend on data", "export it without such sizes"
        raise UserError("network", f"'{loaded.network.path}' holds nothing to tune{lacking}; {mend}.")
    report = ImportReport(operators=counts, issues=issues + noticed + dynamic, seconds=time.perf_counter() - started)
    return ImportedNetwork(
        network=loaded.network,
        module=fused,
        simplified=partial(operators.spell_out, model) if ours else partial(_candidate, model, at, on_cpu=on_cpu),
        tasks=tasks,
        report=report,
        single=single,
    )


def _left_out(loaded: LoadedNetwork) -> ImportIssue:
    counted = "a node of the file is" if loaded.left_out == 1 else f"{loaded.left_out} nodes of the file are"
    ends = (("begins", loaded.network.begin_at), ("ends", loaded.network.end_at))
    where = " and ".join(f"{verb} at {names(tensors)}" for verb, tensors in ends if tensors)
    return ImportIssue(
        node="",
        operator="",
        problem=f"{counted} left out, as it {where}",
        mend="compute that part outside of the library",
    )


def _candidate(model: Any, at: int, *, on_cpu: bool) -> Any:
    candidates, _ = _candidates(model, on_cpu=on_cpu)
    return candidates[at]


def _candidates(model: Any, *, on_cpu: bool) -> tuple[list[Any], tuple[ImportIssue, ...]]:
    """Models to try in turn: simplified, then as it is.

    Raises:
        UserError: neither form is free of unsupported operators.
    """
    inlined = operators.spell_out(model, on_cpu=on_cpu)
    simplified = simplify(inlined, on_cpu=on_cpu)
    if simplified.model is None:
        issue = ImportIssue(
            node="",
            operator="",
            problem=f"onnxruntime could not simplify the network ({simplified.problem})",
            mend="it was imported as it is and may run slower",
        )
        _require_supported(inlined)
        return [inlined], (issue,)
    _require_supported(simplified.model)
    if simplified.empty:
        raise UserError(
            "network",
            f"Node '{simplified.empty[0]}' computes a tensor with a zero-size dimension; "
            "give the inputs sizes that leave something to compute (--shape).",
        )
    return [simplified.model, inlined], ()


def _require_supported(model: Any) -> None:
    issues = operators.unsupported_issues(model)
    if not issues:
        return
    named = ", ".join(f"'{issue.node}' ({issue.operator})" for issue in issues[:8])
    more = f" and {len(issues) - 8} more" if len(issues) > 8 else ""
    subject = "Node" if len(issues) == 1 else "Nodes"
    nodes = tuple(issue.node for issue in issues)
    raise NodesRefused(f"{subject} {named}{more} cannot be imported by TVM; {_mend_of(issues)}.", nodes)


def _mend_of(issues: tuple[ImportIssue, ...]) -> str:
    """What can be done about all of them."""
    if any(issue.operator.rpartition("::")[2].startswith("QLinear") for issue in issues):
        return "quantise it with pairs of QuantizeLinear and DequantizeLinear (QDQ)"
    return issues[0].mend if len({issue.mend for issue in issues}) == 1 else operators.WITHOUT


def _first_that_imports(
    candidates: list[Any], *, polynomials: bool, lanes: int
) -> tuple[Any, int, tuple[ImportIssue, ...]]:
    """Its relax module, its place, and why those before it do not."""
    issues: list[ImportIssue] = []
    for at, model in enumerate(candidates):
        module, issue = _import(model, polynomials=polynomials, lanes=lanes)
        if issue is None:
            return module, at, tuple(issues)
        issues.append(issue)
    first = issues[0]
    raise NodesRefused(
        f"Node '{first.node}' ({first.operator}) cannot be imported by TVM: {first.problem}; {first.mend}.",
        (first.node,),
    )


def _import(model: Any, *, polynomials: bool, lanes: int) -> tuple[Any, ImportIssue | None]:
    opset = opset_of(model)
    importer = Frontend(polynomials=polynomials, lanes=lanes)
    # The frontend prints the inputs of a failing node and warns of every renamed input.
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(), names_as_identifiers():
        warnings.simplefilter("ignore")
        try:
            return importer.from_onnx(model.graph, opset), None
        except Exception as error:  # noqa: BLE001  # whatever a converter trips over: assertions, KeyError, TVM's own
            if importer.at_operator:
                importer.bb._end_block()  # TVM warns of one that is left open
            return None, ImportIssue(
                node=importer.at_node,
                operator=importer.at_operator,
                problem=_one_line(error),
                mend="export the network without this form of the operator",
            )


def _fuse(module: Any, target: Any, config: NetworkConfig, lanes: int) -> tuple[Any, tuple[ImportIssue, ...]]:
    """No network is refused for a step that only makes it quicker."""
    issues: tuple[ImportIssue, ...] = ()
    if config.blocked and lanes:
        try:
            return _lowered(module, target, config, lanes), ()
        except Exception as error:  # noqa: BLE001  # any of TVM's passes may trip over a layout
            issue = ImportIssue(
                node="",
                operator="",
                problem=f"TVM could not lower the network with blocked convolutions ({_one_line(error)})",
                mend="it was imported with plain ones and may run slower",
            )
            issues = (issue,)
    try:
        return _lowered(module, target, config, 0), issues
    except Exception as error:
        # TVM reports an operator that it can type but not lower for these types as any of its exceptions.
        raise UserError(
            "network",
            f"TVM cannot lower the network ({_one_line(error)}); export it without that form of the operator, in "
            "float32 and with static shapes.",
        ) from error


def _lowered(module: Any, target: Any, config: NetworkConfig, lanes: int) -> Any:
    quantized = is_quantized(module)
    # Winograd's way rounds, and what is made a whole number behind it could come out one off.
    winograd = config.winograd and not quantized
    module = spell_out_quantization(fold_constants(module))
    with target, tvm.transform.PassContext(opt_level=3):
        if lanes:
            if quantized:
                module = normalise_in_parts(module)
            # Before `fast_math`, which leaves no operator that a layout could be moved through.
            module = block_convolutions(sample_by_points(module), lanes, winograd=winograd, exact=quantized)
            module = lengthen_rows(lengthen_columns(module, lanes))
            module = lay_out_weights(widen_attention(module, lanes), lanes)
            module = move_parts(take_gates_apart(end_at_joints(module)))
        if quantized:
            module = round_by_operator(module)
        if config.fast_math:
            module = fast_math(module, lanes)
        module = end_before_growth(_LEGALISED(pool_unequal_windows(module)))
        return fit_for_schedules(_FUSED(module), target)


def _one_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[-1] if lines and lines[0].startswith("Traceback") else next(iter(lines), "")
    return text[:200].rstrip(".") or type(error).__name__
