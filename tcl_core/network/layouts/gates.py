"""Gates of channels, as of squeeze and excitation, apart from the pictures that they are multiplied by.

TVM fuses the product that makes a gate with the multiplication of the picture: one kernel of a short product and of a
picture, which no sketch tiles as either. 672 channels of 14 x 14 pixels took 1.3 s to compile, and those of 32 at 112 x
112 130 us, of which 60 are for reading and writing them.
"""

from __future__ import annotations

import math
from typing import Any

from tvm import relax, topi
from tvm.relax.expr_functor import PyExprMutator, mutator

from tcl_core.network.relax_graph.constants import static_shape
from tcl_core.network.relax_graph.rewriting import MOVES, TAKES_WHAT_FOLLOWS, bindings, op_name, readers_of, rewritten

_MULTIPLICATION = "relax.multiply"
_SOFTMAX = "relax.nn.softmax"
"""TVM makes shares and all that they are multiplied by in one kernel, too: 8 s until the space of 256 shares of 64
channels was open."""


def take_gates_apart(module: Any) -> Any:
    """The relax module with such multiplications in a pattern that is not fused with the product before."""
    return rewritten(module, _Gates(module))


@mutator
class _Gates(PyExprMutator):  # type: ignore[misc]  # tvm has no types
    """What is read elsewhere, too, lies in memory anyhow: nothing that could be fused with it is given away."""

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self._module, self._readers, self._values = module, readers_of(module), dict(bindings(module))

    def visit_call_(self, op: Any) -> Any:
        call = super().visit_call_(op)
        if op_name(op) != _MULTIPLICATION or not self._is_gated(*op.args):
            return call
        return self.builder_.call_te(topi.multiply, *call.args, primfunc_name_hint="gated", primfunc_attrs=MOVES)

    def _is_gated(self, first: Any, second: Any) -> bool:
        picture, gate = sorted((first, second), key=_size, reverse=True)
        if not all(isinstance(each, relax.Var) for each in (picture, gate)):
            return False
        lies_in_memory = len(self._readers[picture]) > 1 or self._is_moved(self._values.get(picture))
        summed_up = op_name(self._values.get(gate)) == _SOFTMAX
        return 0 < _size(gate) < _size(picture) and (lies_in_memory or summed_up)

    def _is_moved(self, value: Any) -> bool:
        """Whether a kernel of ours makes it that takes nothing that follows: a change of layout."""
        if op_name(value) != "relax.call_tir":
            return False
        attributes = dict(self._module[value.args[0]].attrs)
        return not TAKES_WHAT_FOLLOWS.items() <= attributes.items()


def _size(value: Any) -> int:
    """Elements; 0 where they are not known."""
    return math.prod(static_shape(value) or (0,))
