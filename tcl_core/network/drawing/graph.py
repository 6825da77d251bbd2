"""A fused relax module -> `graphs.NetworkGraph`: the calls of its main function, what feeds them, where to draw them.

After fusion the main function is what runs: each call is one kernel launch of one task. That is the graph a person
tunes, where ONNX's nodes are cut and joined differently.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import tvm_ffi
from tvm import relax

from tcl_core.graphs import GraphNode, NetworkGraph, NodeKind
from tcl_core.network.drawing.layout import folded_layout, full_layout
from tcl_core.network.drawing.repeats import find_repeats
from tcl_core.network.relax_graph.rewriting import op_name
from tcl_core.network.tasks import task_key


def network_graph(
    module: Any, tasks: Collection[str], inputs: tuple[str, ...], outputs: tuple[str, ...]
) -> NetworkGraph:
    """The graph of a fused module.

    Args:
        module: fused `IRModule` whose entry is "main".
        tasks: keys of the network's tasks; a call of anything else gets none.
        inputs, outputs: names of the network's, in order.
    """
    reader = _Reader(module, tasks)
    reader.read(inputs, outputs)
    nodes, edges = tuple(reader.nodes), tuple(sorted(reader.edges))
    repeats = find_repeats(nodes, edges)
    full = full_layout(len(nodes), edges)
    folded = folded_layout(len(nodes), edges, repeats) if repeats else full
    return NetworkGraph(nodes=nodes, edges=edges, repeats=repeats, full=full, folded=folded)


class _Reader:
    """Walks the main function once. `nodes` and `edges` grow in the order in which calls run."""

    def __init__(self, module: Any, tasks: Collection[str]) -> None:
        self.nodes: list[GraphNode] = []
        self.edges: set[tuple[int, int]] = set()
        self._module, self._tasks = module, tasks
        self._normalize = tvm_ffi.get_global_func("tvm.s_tir.meta_schedule.normalize_mod")
        self._keys: dict[str, str] = {}
        # Of each variable: the nodes its value comes from, by field where it is a tuple.
        self._made_by: dict[Any, tuple[frozenset[int], ...]] = {}

    def read(self, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> None:
        main = self._module["main"]
        for name, parameter in zip(inputs, main.params, strict=True):
            shape, dtype = _tensor(parameter.ty)
            node = GraphNode(kind=NodeKind.INPUT, name=name, shape=shape, dtype=dtype)
            self._made_by[parameter] = (frozenset((self._add(node, frozenset()),)),)
        for block in main.body.blocks:
            for binding in block.bindings:
                self._bind(binding)
        self._end(main.body.body, outputs)

    def _bind(self, binding: Any) -> None:
        value = binding.value
        if op_name(value) == "relax.memory.view":
            self._made_by[binding.var] = self._fields(value.args[0])  # nothing runs
        elif isinstance(value, relax.Call):
            fields = max(1, len(getattr(binding.var.ty, "fields", ())))
            shape, dtype = _tensor(binding.var.ty)
            name, key = self._callee(value)
            node = GraphNode(kind=NodeKind.CALL, name=name, task_key=key, shape=shape, dtype=dtype)
            sources = frozenset[int]().union(*(self._sources(argument) for argument in value.args))
            self._made_by[binding.var] = (frozenset((self._add(node, sources),)),) * fields
        else:
            self._made_by[binding.var] = self._fields(value)

    def _callee(self, call: Any) -> tuple[str, str]:
        """Name of what a call runs, and the key of its task or ""."""
        if getattr(call.op, "name", "") != "relax.call_tir":
            named = call.args[0] if len(call.args) and isinstance(call.args[0], relax.ExternFunc) else call.op
            return str(getattr(named, "global_symbol", getattr(named, "name", named))), ""
        function = call.args[0]
        name = str(function.name_hint)
        if name not in self._keys:
            # As the task extractor does it: equal functions of different names are one task.
            key = task_key(self._normalize(self._module[function]))
            self._keys[name] = key if key in self._tasks else ""
        return name, self._keys[name]

    def _end(self, result: Any, names: tuple[str, ...]) -> None:
        fields = self._fields(result)
        infos = list(getattr(result.ty, "fields", ())) or [result.ty]
        for number, sources in enumerate(fields):
            shape, dtype = _tensor(infos[min(number, len(infos) - 1)])
            name = names[number] if number < len(names) else f"output {number}"
            self._add(GraphNode(kind=NodeKind.OUTPUT, name=name, shape=shape, dtype=dtype), sources)

    def _fields(self, value: Any) -> tuple[frozenset[int], ...]:
        """The nodes that an expression's value comes from, by field of a tuple."""
        if isinstance(value, relax.Tuple):
            return tuple(self._sources(field) for field in value.fields)
        if isinstance(value, relax.TupleGetItem):
            whole = self._fields(value.tuple_value)
            return (whole[int(value.index)],) if int(value.index) < len(whole) else (frozenset[int]().union(*whole),)
        return self._made_by.get(value, (frozenset(),)) if isinstance(value, relax.Var) else (frozenset(),)

    def _sources(self, value: Any) -> frozenset[int]:
        return frozenset[int]().union(*self._fields(value))

    def _add(self, node: GraphNode, sources: frozenset[int]) -> int:
        index = len(self.nodes)
        self.nodes.append(node)
        self.edges.update((source, index) for source in sources)
        return index


def _tensor(info: Any) -> tuple[tuple[int, ...], str]:
    """Static shape and dtype of a tensor, of a tuple's first tensor; empty where TVM does not know them."""
    fields = getattr(info, "fields", None)
    if fields is not None:
        return _tensor(fields[0]) if len(fields) else ((), "")
    extents = getattr(getattr(info, "shape", None), "values", None) or ()
    static = tuple(int(extent) for extent in extents if hasattr(extent, "value") or isinstance(extent, int))
    return (static if len(static) == len(extents) else ()), str(getattr(info, "dtype", ""))
