"""What the operators of our own domain become in relax (`nodes`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tvm import relax

from tcl_core.network.onnx_graph.nodes import ADAPTIVE_POOL, DEVIATION_NORM, GROUP_NORM, LAYER_NORM, RMS_NORM
from tcl_core.network.recurrence.recurrence_kernel import GROUP, Cell, recurrence_kernel
from tcl_core.network.relax_graph.norms import DeviationNorm


def recurrence(builder: Any, inputs: Any, attrs: Mapping[str, Any], *, polynomials: bool) -> Any:
    """The states of all steps, of an LSTM its last memory, too: see `recurrence_kernel`."""
    inputs = [builder.normalize(each) for each in inputs]
    rows, _ = (int(each) for each in inputs[0].ty.shape.values)
    cell = Cell(
        kind=attrs["cell"].decode(),
        steps=attrs["steps"],
        batch=rows // attrs["steps"],
        hidden=attrs["hidden"],
        backwards=bool(attrs["backwards"]),
        activations=tuple(each.decode() for each in attrs["activations"]),
        reset_after=bool(attrs["reset_after"]),
        polynomials=polynomials,
    )
    kernel = builder.add_func(recurrence_kernel(cell), cell.kind.lower())
    results = [relax.TensorType((cell.steps, cell.batch, cell.groups, GROUP), "float32")]
    if cell.kind == "LSTM":
        results.append(relax.TensorType((cell.batch, cell.groups, GROUP), "float32"))
    return builder.emit(relax.call_tir(kernel, inputs, results if len(results) > 1 else results[0]))


def _layer_norm(_builder: Any, value: Any, scale: Any, bias: Any, attrs: Mapping[str, Any]) -> Any:
    return relax.op.nn.layer_norm(value, scale, bias, axes=[-1], epsilon=attrs["epsilon"])


def _rms_norm(_builder: Any, value: Any, scale: Any, attrs: Mapping[str, Any]) -> Any:
    return relax.op.nn.rms_norm(value, scale, axes=[-1], epsilon=attrs["epsilon"])


def _deviation_norm(builder: Any, value: Any, scale: Any, bias: Any, attrs: Mapping[str, Any]) -> Any:
    norm = DeviationNorm(
        centred=bool(attrs["centred"]),
        about_mean=bool(attrs["about_mean"]),
        **{name: attrs[name] for name in ("factor", "epsilon", "outside", "least")},
    )
    return builder.call_te(
        norm, value, scale, bias, primfunc_name_hint="deviation_norm", primfunc_attrs=norm.attributes
    )


def _group_norm(_builder: Any, value: Any, scale: Any, bias: Any, attrs: Mapping[str, Any]) -> Any:
    axes = list(range(2, value.ty.ndim))
    return relax.op.nn.group_norm(
        value, scale, bias, num_groups=attrs["groups"], channel_axis=1, axes=axes, epsilon=attrs["epsilon"]
    )


def _adaptive_pool(_builder: Any, picture: Any, attrs: Mapping[str, Any]) -> Any:
    return relax.op.nn.adaptive_avg_pool2d(picture, tuple(attrs["size"]))


OPERATORS: dict[str, Callable[..., Any]] = {
    LAYER_NORM: _layer_norm,
    RMS_NORM: _rms_norm,
    DEVIATION_NORM: _deviation_norm,
    GROUP_NORM: _group_norm,
    ADAPTIVE_POOL: _adaptive_pool,
}
"""By name: the builder, the node's inputs, and its attributes."""
