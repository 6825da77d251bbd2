"""A file -> a checked ONNX model with static shapes. Bad input ends here, in one sentence."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import onnx.checker
import onnx.helper
import onnx.shape_inference
from google.protobuf.message import DecodeError

from tcl_core.config import NetworkConfig
from tcl_core.domain import Network, TensorSpec
from tcl_core.errors import NodesRefused, UserError, first_line
from tcl_core.network.cuts import cut
from tcl_core.network.forms.simpler_nodes import FORMS, in_default_domain, spell_out_nodes
from tcl_core.network.frontier import proposing_ends
from tcl_core.network.onnx_graph import shapes
from tcl_core.network.onnx_graph.bodies import put_in_order
from tcl_core.network.onnx_graph.external_data import external_files, load_external
from tcl_core.network.onnx_graph.functions import forget_hidden, write_defaults
from tcl_core.network.onnx_graph.nodes import CONTRIBUTED, STANDARD, has_branches, label, opset_of
from tcl_core.network.onnx_graph.skeleton import shapes_anew, take_shapes, with_shapes, without_weights
from tcl_core.network.onnx_graph.spellings import spell_in_one_way
from tcl_core.network.onnx_graph.values import fix_values
from tcl_core.network.rewrites.folding import fold_constants
from tcl_core.network.rewrites.old_axes import count_axes_from_front
from tcl_core.network.rewrites.pools import without_windows_in_padding
from tcl_core.network.rewrites.rounded_scales import resize_by_sizes
from tcl_core.network.unrolling.conditions import take_branches
from tcl_core.network.unrolling.control_flow import decides, has_loops, write_out_control_flow
from tcl_core.network.unrolling.sequences import leave_out_sizes_of_one
from tcl_core.onnx_branches import all_nodes, branches
from tcl_core.onnx_weights import LIMIT_BYTES, bytes_without_weights

OPSETS = (7, 26)
"""Opsets of the default domain that onnxruntime 1.31 promises to run; outside them there is nothing to compare with."""

_NATIVE = {"FLOAT", "DOUBLE", "FLOAT16", "BOOL"} | {
    f"{sign}INT{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)
}
"""Element types that NumPy itself has; of no other ones onnxruntime takes or gives arrays in Python."""

_INITIALIZERS_APART = 4
"""The IR version from which on an initializer need not be an input."""

_FEW = 8
"""Numbers of an input that a person may fix."""

_MOST_NAMED = 8
"""Nodes in one message."""

_IR_VERSION_FIELD = 0x08
"""First byte of an ONNX file: protobuf field 1 (`ir_version`), a varint. Exporters write it first."""


@dataclass(frozen=True, kw_only=True)
class LoadedNetwork:
    """A checked network.

    Attributes:
        model: `onnx.ModelProto`: weights inside, static inputs, a name on every node.
        given: the same before its control flow was written out, which results are held against; `model` itself where
            there was none.
        left_out: nodes of the file that lie outside of what the user let it be (`cuts`).
    """

    network: Network
    model: Any
    given: Any
    left_out: int = 0


def load_network(path: Path, config: NetworkConfig) -> LoadedNetwork:
    """Read, check and pin down one network.

    Raises:
        UserError: missing, not ONNX, truncated, external data missing, unsupported version, a dimension left open or
            of size zero, ``--shape`` that does not fit.
    """
    content = _read(path)
    model = _parse(path, content)
    del content
    _check_versions(path, model)
    digest = _digest(path, model, config)
    load_external(path, model)
    spell_in_one_way(path, model)
    forget_hidden(model, FORMS)
    if bytes_without_weights(model) > LIMIT_BYTES:
        raise UserError(
            "network",
            f"'{path}' holds more than 2 GB beside its initializers, the most that ONNX keeps in one message; export "
            "its constants as initializers.",
        )
    put_in_order(model.graph)
    left_out = cut(model, config.begin_at, config.end_at)
    shapes.open_unknown(model)
    shapes.fix_shapes(model, config.shapes)
    shapes.require_static_inputs(model)
    shapes.require_countable_inputs(model)
    fix_values(model, config.values)
    model = take_branches(model)
    _require_native_types(model)
    _drop_constant_inputs(model)
    _name_nodes(model.graph)
    count_axes_from_front(model)
    without_windows_in_padding(model)
    model = resize_by_sizes(model)
    leave_out_sizes_of_one(model)
    given = model
    with proposing_ends(given):
        model, outputs = _decided(path, model, config)
    network = Network(
        name=path.stem,
        path=str(path),
        digest=digest,
        inputs=tuple(_spec(value) for value in model.graph.input),
        outputs=outputs,
        shapes=config.shapes,
        values=config.values,
        begin_at=config.begin_at,
        end_at=config.end_at,
    )
    return LoadedNetwork(network=network, model=model, given=given, left_out=left_out)


def _decided(path: Path, model: Any, config: NetworkConfig) -> tuple[Any, tuple[TensorSpec, ...]]:
    """The model with the shapes of all values and without loops and sequences; and what it gives out."""
    _infer(path, model, config)
    loops = has_loops(model)
    outputs = [] if loops else _outputs(model)
    if loops or (decides(model) and not _are_static(outputs)):
        model = _without_control_flow(model)
        without_windows_in_padding(model)
        model = resize_by_sizes(model)
        _infer(path, model, config)
        outputs = _outputs(model)
    return model, _static(outputs, model)


def _without_control_flow(model: Any) -> Any:
    """As `write_out_control_flow`; a refusal names what else a run decides, too: no network can end behind it."""
    try:
        return write_out_control_flow(model)
    except NodesRefused as error:
        raise NodesRefused(str(error), (*error.nodes, *_open_nodes(model))) from error


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise UserError("network", f"There is no file '{path}'; check the path.") from None
    except IsADirectoryError:
        raise UserError("network", f"'{path}' is a folder; name the .onnx file inside it.") from None
    except OSError as error:
        raise UserError("network", f"'{path}' cannot be read ({error.strerror}); check its permissions.") from error


def _parse(path: Path, content: bytes) -> Any:
    if not content:
        raise UserError("network", f"'{path}' is empty; copy or export it again.")
    model = onnx.ModelProto()
    not_onnx = UserError("network", f"'{path}' is not an ONNX model; open a file exported as .onnx.")
    try:
        model.ParseFromString(content)
    except DecodeError as error:
        if len(content) > 1 and content[0] == _IR_VERSION_FIELD and content[1] <= onnx.IR_VERSION:
            raise UserError(
                "network", f"'{path}' is truncated or damaged after {len(content):,} bytes; copy or export it again."
            ) from error
        raise not_onnx from error
    if not model.HasField("graph") or not model.ir_version:
        raise not_onnx
    if not model.graph.node:
        raise UserError("network", f"'{path}' holds no operators; export the network again.")
    return model


def _check_versions(path: Path, model: Any) -> None:
    if model.ir_version < 3 or model.ir_version > onnx.IR_VERSION:
        raise UserError(
            "network",
            f"'{path}' has IR version {model.ir_version}, but only 3 to {onnx.IR_VERSION} can be read; "
            "export it again with another version of the exporter.",
        )
    opsets = {entry.domain: entry.version for entry in model.opset_import}
    opset = next((version for domain, version in opsets.items() if domain in STANDARD), None)
    if opset is None and opsets:
        raise UserError(
            "network",
            f"'{path}' has operators of {' and '.join(sorted(opsets))} alone, which TVM does not import; open a "
            "network of ONNX's own.",
        )
    if opset is None:
        raise UserError("network", f"'{path}' names no opset, so it is probably cut short; copy or export it again.")
    if not OPSETS[0] <= opset <= OPSETS[1]:
        raise UserError(
            "network",
            f"'{path}' uses opset {opset}, but only {OPSETS[0]} to {OPSETS[1]} can be read; export it with opset 18.",
        )


def _digest(path: Path, model: Any, config: NetworkConfig) -> str:
    digest = hashlib.sha256()
    for file in (path, *external_files(path, model)):
        with file.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    digest.update(repr(sorted(config.shapes)).encode())
    if config.values:
        digest.update(repr(sorted(config.values)).encode())
    if config.begin_at or config.end_at:
        digest.update(repr((config.begin_at, config.end_at)).encode())
    return digest.hexdigest()


def _require_native_types(model: Any) -> None:
    """Refuse ends of types in which no result can be checked."""
    for value in (*model.graph.input, *model.graph.output):
        kind = onnx.TensorProto.DataType.Name(value.type.tensor_type.elem_type)
        if value.type.HasField("tensor_type") and kind not in _NATIVE | {"UNDEFINED"}:
            raise UserError(
                "network",
                f"'{value.name}' is of type {kind.lower()}, in which no result can be checked; export the network with "
                "inputs and outputs of float32.",
            )


def _drop_constant_inputs(model: Any) -> None:
    """Make initializers that are also inputs constant: a caller could override them, and then nothing folds."""
    kept = shapes.data_inputs(model)
    if not kept:
        raise UserError("network", "The network has no inputs; export it with at least one.")
    if len(kept) < len(model.graph.input):
        names = {value.name for value in kept}
        for index in reversed(range(len(model.graph.input))):
            if model.graph.input[index].name not in names:
                del model.graph.input[index]
    # Below IR version 4 every initializer has to be an input, those that a rewrite adds later, too.
    model.ir_version = max(model.ir_version, _INITIALIZERS_APART)


def _name_nodes(graph: Any, *, inside: bool = False) -> None:
    """Names are optional in ONNX, but every message names a node; onnxruntime refuses two of one name in a graph."""
    taken: set[str] = set()
    for index, node in enumerate(graph.node):
        name = node.name or (f"{node.op_type.lower()}{index}" if inside else f"{node.op_type}_{index}")
        while name in taken:
            name = f"{name}_{index}"
        taken.add(name)
        node.name = name
        for body in branches(node):
            _name_nodes(body, inside=True)


def _infer(path: Path, model: Any, config: NetworkConfig) -> None:
    """Check the model and write the shapes of all its values into it."""
    light = without_weights(model)
    _require_operators(model)
    try:
        onnx.checker.check_model(_checkable(light))
    except onnx.checker.ValidationError as error:
        raise UserError("network", f"'{path}' is not valid ONNX ({first_line(error)}); export it again.") from error
    nodes = model.graph.node
    standard = all(each.domain in STANDARD and not in_default_domain(each, opset_of(model)) for each in nodes)
    # Strict inference stops at the first operator without a schema, so contributed ones go without.
    strict = standard and not model.functions and bool(config.shapes)
    try:
        take_shapes(model, shapes_anew(light, strict_mode=strict, data_prop=True))
    except onnx.shape_inference.InferenceError as error:
        if not config.shapes:
            raise UserError(
                "network", f"The shapes in '{path}' contradict each other ({first_line(error)}); export it again."
            ) from error
        flags = " ".join(f"--shape {name}={','.join(map(str, dims))}" for name, dims in config.shapes)
        raise UserError(
            "network", f"{flags} does not fit the network ({first_line(error)}); give sizes it was made for."
        ) from error


def _checkable(light: Any) -> Any:
    """For the checker, which knows no operators that onnxruntime alone has in the default domain."""
    checked = shapes.checkable(light)
    apart = [node for node in checked.graph.node if in_default_domain(node, opset_of(light))]
    for node in apart:
        node.domain = CONTRIBUTED
    if apart and CONTRIBUTED not in {entry.domain for entry in checked.opset_import}:
        checked.opset_import.append(onnx.helper.make_opsetid(CONTRIBUTED, 1))
    return checked


def _require_operators(model: Any) -> None:
    """Refuse names that the default domain does not have: the checker lets experimental ones pass, whatever the opset.

    A function of the network's own may have any name.
    """
    opset, own = opset_of(model), {each.name for each in model.functions if each.domain in STANDARD}
    named = [node for node in model.graph.node if node.domain in STANDARD and node.op_type not in own]
    strange = [node for node in named if not _is_operator(node, opset)]
    for node in strange[:1]:
        lacking, mend = f"opset {opset}", "export the network with another opset"
        if not onnx.defs.has(node.op_type):
            lacking, mend = "ONNX", "its converter left it as it was: write that part in other operators"
        raise NodesRefused(
            f"Node '{node.name}' uses operator {node.op_type}, which {lacking} does not have; {mend}.",
            tuple(each.name for each in strange),
        )


def _is_operator(node: Any, opset: int) -> bool:
    name = node.op_type
    known = onnx.defs.has(name, opset, "") and not onnx.defs.get_schema(name, opset, "").deprecated
    return known or in_default_domain(node, opset)


def _spec(value: Any) -> TensorSpec:
    dims = shapes.dimensions(value) or ()
    dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    return TensorSpec(name=value.name, dtype=str(dtype), shape=tuple(int(dim) for dim in dims if isinstance(dim, int)))


def _outputs(model: Any) -> list[Any]:
    """With their shapes; constant folding settles what plain inference leaves open."""
    values = list(model.graph.output)
    if _are_static(values) or (folded := fold_constants(model).model) is None:
        return values
    values = list(folded.graph.output)
    if _are_static(values):
        return values
    plain = write_defaults(spell_out_nodes(without_weights(folded)))
    return list(with_shapes(plain, data_prop=True).graph.output)


def _static(values: Iterable[Any], model: Any) -> tuple[TensorSpec, ...]:
    """The outputs of a model; where one has no static shape, that is refused."""
    for value in values:
        if not value.type.HasField("tensor_type"):
            raise NodesRefused(
                f"Output '{value.name}' is not a numeric tensor; export the network without its text or sequence "
                "parts (of scikit-learn's without ZipMap: zipmap=False).",
                _open_nodes(model),
            )
        if not shapes.is_static(value):
            _require_known(model)
            producer = next((node for node in model.graph.node if value.name in node.output), None)
            where = f"node '{producer.name}' ({producer.op_type})" if producer else "the graph"
            raise NodesRefused(
                f"Output '{value.name}' of {where} has a shape that depends on data "
                f"({shapes.text(shapes.dimensions(value))}); {_mend_of_open(model)}.",
                _open_nodes(model),
            )
        if 0 in (shapes.dimensions(value) or ()):
            raise UserError(
                "network",
                f"Output '{value.name}' has a zero-size dimension ({shapes.text(shapes.dimensions(value))}); "
                "give the inputs sizes that leave something to compute (--shape).",
            )
    return tuple(_spec(value) for value in values)


def _open_nodes(model: Any) -> tuple[str, ...]:
    """Nodes whose results have sizes that depend on data, once constants are folded."""
    folded = fold_constants(model).model or model
    graph = with_shapes(write_defaults(spell_out_nodes(without_weights(folded))), data_prop=True).graph
    sizes = shapes.known_sizes(graph)
    unknown = {name for node in graph.node for name in node.output if -1 in sizes.get(name, (-1,))}
    return tuple(node.name for node in model.graph.node if not unknown.isdisjoint(node.output))


def _mend_of_open(model: Any) -> str:
    """What can be done about a shape that depends on data."""
    if any(node.op_type == "NonMaxSuppression" for node in all_nodes(model.graph)):
        return "export the network up to all of its boxes and scores, and choose among them behind it"
    few = any(math.prod(_spec(value).shape) <= _FEW for value in model.graph.input)
    fix = "fix the input that decides it (--value), or " if few and has_branches(model.graph.node) else ""
    return f"{fix}export the network without that part"


def _require_known(model: Any) -> None:
    """Refuse operators of other domains: of what they give nobody knows the shape."""
    within = {function.domain for function in model.functions} | STANDARD | {CONTRIBUTED}
    foreign = [node for node in spell_out_nodes(without_weights(model)).graph.node if node.domain not in within]
    if foreign:
        named = ", ".join(f"'{node.name}' ({label(node)})" for node in foreign[:_MOST_NAMED])
        more = f" and {len(foreign) - _MOST_NAMED} more" if len(foreign) > _MOST_NAMED else ""
        raise NodesRefused(
            f"{'Node' if len(foreign) == 1 else 'Nodes'} {named}{more} cannot be imported by TVM; export the network "
            "without such operators.",
            tuple(node.name for node in foreign),
        )


def _are_static(values: Iterable[Any]) -> bool:
    return all(map(shapes.is_static, values))
