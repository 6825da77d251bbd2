"""Where work element by element ends a kernel, because within it would be written out too often.

A kernel writes out what it computes on the way at each place where that is read. A chain that reads each of its values
twice through a polynomial, ``tanh(x[:-1] / 2 - x[1:])``, grows forty-fold with each step: of three it took 5 s until
the space was open, of four minutes. So a kernel ends with the value that is read most often.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator

from tcl_core.network.relax_graph.rewriting import APART, ENDS, bindings, op_name, rewritten

_CALL = "relax.call_tir"
_PATTERN = "op_pattern"
_TAKEN_IN, _TAKES_IN = 2, 3
"""Of TVM's patterns those up to "injective" are written out in who reads them, which are those up to a reduction."""
_MOST = 1 << 12
"""Reads of what comes from outside that one kernel may be written out to. Of 360 networks tried all but those made for
this and one, whose cells are written out by hand (9,599), have 220 at most. Where it is 6,859 a candidate takes 1.4 s
to compile, with an end at 4,096 those of its two kernels 0.04."""
_PARTS = ("a", "b", "args", "value", "condition", "true_value", "false_value", "body", "block", "seq", "indices")
_BRANCHES = ("then_case", "else_case", "init")


def end_before_growth(module: Any) -> Any:
    """The legalised relax module, its kernels' patterns known, with kernels that end there."""
    ended = _too_often(module)
    return rewritten(module, _Ended(module, ended)) if ended else module


def _too_often(module: Any) -> set[Any]:
    """Variables that a kernel has to end with."""
    reads: dict[str, list[int]] = {}
    sizes: dict[Any, int] = {}
    whole: dict[Any, Any] = {}
    ended: set[Any] = set()
    for variable, value in bindings(module):
        if isinstance(value, relax.TupleGetItem):
            sizes[variable] = sizes.get(value.tuple_value, 1)
            whole[variable] = value.tuple_value
        if op_name(value) != _CALL or not isinstance(value.args[1], relax.Tuple):
            continue
        function, arguments = module[value.args[0]], list(value.args[1].fields)
        pattern = int((function.attrs or {}).get(_PATTERN, APART[_PATTERN]))
        if pattern > _TAKES_IN:
            continue
        name = str(value.args[0].name_hint)
        if name not in reads:
            reads[name] = reads_of(function, len(arguments))
        read: Counter[Any] = Counter()
        for argument, times in zip(arguments, reads[name], strict=True):
            read[argument] += times
        for worst in _ends(read, sizes):
            sizes[worst] = 1
            ended.add(whole.get(worst, worst))
        if pattern <= _TAKEN_IN:
            sizes[variable] = sum(times * sizes.get(argument, 1) for argument, times in read.items())
    return ended


def _ends(read: Mapping[Any, int], sizes: Mapping[Any, int]) -> list[Any]:
    """The arguments, largest share first, that a kernel must not write out for it to stay within bounds."""
    total = sum(times * sizes.get(argument, 1) for argument, times in read.items())
    saved = {argument: times * (sizes.get(argument, 1) - 1) for argument, times in read.items()}
    ends = []
    for argument in sorted(saved, key=saved.__getitem__, reverse=True):
        if total <= _MOST or not saved[argument]:
            break
        ends.append(argument)
        total -= saved[argument]
    return ends


def reads_of(function: Any, inputs: int) -> list[int]:
    """How often a kernel reads each of its first parameters for one result, what it computes on the way written out."""
    params = list(function.params)
    written: dict[Any, Counter[Any]] = {param: Counter({param: 1}) for param in params[:inputs]}
    for buffer, loads in _stores(function.body):
        total = written.setdefault(buffer, Counter())
        for source, times in loads.items():
            if not source.same_as(buffer):
                for param, each in written.get(source, Counter()).items():
                    total[param] += times * each
    results: Counter[Any] = sum((written.get(result, Counter()) for result in params[inputs:]), Counter())
    return [results[param] for param in params[:inputs]]


def _stores(node: Any) -> Iterator[tuple[Any, Counter[Any]]]:
    """Each store of a statement in order: where to, and how often it reads what."""
    if type(node).__name__ == "BufferStore":
        yield node.buffer, Counter(_loads(node.value))
        return
    for part in _parts(node, (*_PARTS, *_BRANCHES)):
        yield from _stores(part)


def _loads(node: Any) -> Iterator[Any]:
    if type(node).__name__ == "TensorLoad":
        yield node.source
    for part in _parts(node, _PARTS):
        yield from _loads(part)


def _parts(node: Any, names: Sequence[str]) -> Iterator[Any]:
    for name in names:
        part = getattr(node, name, None)
        if isinstance(part, Sequence) and not isinstance(part, str):
            yield from part
        elif hasattr(part, "same_as"):
            yield part


@mutator
class _Ended(PyExprMutator):  # type: ignore[misc]  # tvm has no types
    """Lets some variables' kernels end with them."""

    def __init__(self, module: Any, ended: set[Any]) -> None:
        super().__init__(module)
        self._module, self._ended = module, ended

    def visit_var_binding_(self, binding: Any) -> None:
        if binding.var in self._ended and op_name(binding.value) == _CALL:
            call = binding.value
            function = self._module[call.args[0]].with_attr(_PATTERN, ENDS[_PATTERN])
            kernel = self.builder_.add_func(function, f"{call.args[0].name_hint}_ended")
            binding = relax.VarBinding(binding.var, relax.call_tir(kernel, call.args[1], call.ty_args[0]))
        super().visit_var_binding_(binding)
