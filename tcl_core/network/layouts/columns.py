"""Products by weights whose columns fill no vectors (40 channels, 49 tokens, 92 classes) get columns of zeros.

A tile of a product holds vectors of its columns, and a loop is only cut into equal parts: of vectors of 16, 40 leave 8,
49 leave 7, and 17 none. What is done to each column alone goes on with more of them; whatever else reads them gets them
cut off.
"""

from __future__ import annotations

import math
from typing import Any

from tvm import relax, topi
from tvm.relax.expr_functor import mutator

from tcl_core.network.relax_graph.constants import static_shape
from tcl_core.network.relax_graph.lengthening import FINITE, Lengthener, Plan
from tcl_core.network.relax_graph.rewriting import MOVES, op_name, rewritten

_GAIN = 1.4
"""How many times as much of its vectors a product must use. Best of ten candidates, in panels of half vectors and, made
longer, of whole ones (2 threads of a Xeon with AVX-512, us): 784 x 40 x 240 151 and 63, 196 x 120 x 480 157 and 82, 784
x 88 x 352 308 and 164; 196 x 168 x 672 by vectors of 14 238, made longer 267."""
_FEWEST_STEPS = 64
_FEWEST_PRODUCTS = 8 * _FEWEST_STEPS
"""Below, what is cut off costs as much as the product: of the sum, and of a column with all its rows. Networks of two
products, the second given out (2 threads of a Zen 4, as it was and made longer): 16 x 30522 x 768 15.8 and 4.4 ms, 1 x
50257 x 768 4.2 and 3.2, 4 x 5003 x 512 171 and 107 us, 4 x 5000 x 512 188 and 114, 1 x 527 x 2048 193 and 152, 1 x 37 x
512 10.0 and 9.5; 1 x 99 x 256 5.4 and 5.3, 2 x 37 x 64 1.85 and 2.10. One row of weights that fill half vectors waits
for them either way: 1 x 1000 x 1280 76 and 77.
"""
_MATMUL = "relax.matmul"


def lengthen_columns(module: Any, lanes: int) -> Any:
    """The relax module with products of whole vectors of `lanes` columns; arguments and results stay as they are."""
    return relax.transform.DeadCodeElimination()(rewritten(module, _Columns(module, lanes)))


def longer(columns: int, lanes: int) -> int:
    """How many columns there should be instead; as many where vectors divide them about as well."""
    whole = columns + -columns % lanes
    half = lanes // 2
    widest = half if columns % half == 0 else max(each for each in range(1, lanes + 1) if columns % each == 0)
    return whole if columns / whole >= _GAIN * widest / lanes else columns


@mutator
class _Columns(Lengthener):
    """Columns from each product on that would have more of them."""

    def __init__(self, module: Any, lanes: int) -> None:
        super().__init__(module)
        self._lanes = lanes

    def longer(self, extent: int) -> int:
        return longer(extent, self._lanes)

    def planned(self, variable: Any, call: Any) -> Plan | None:
        shape = static_shape(call)
        if shape is None:
            return None
        if op_name(call) == _MATMUL:
            return Plan(arguments=((), (1,)), result=len(shape) - 1) if self._begins(call, shape) else None
        if op_name(call) in FINITE and any(argument in self.axes for argument in call.args):
            return self.beside_constants(call)
        return None

    def cut(self, value: Any, axis: int, shape: tuple[int, ...]) -> Any:
        """With what follows: behind the product, in one kernel, its tiles would not be whole."""
        cut, starts, ends = topi.strided_slice, [0] * len(shape), list(shape)
        return self.builder_.call_te(cut, value, starts, ends, primfunc_name_hint="cut", primfunc_attrs=MOVES)

    def _begins(self, call: Any, shape: tuple[int, ...]) -> bool:
        weights = self.array(call.args[1])
        if weights is None or weights.ndim != 2 or len(shape) < 2 or call.ty.dtype != "float32":  # rows and columns
            return False
        inside, columns = weights.shape
        rows = math.prod(shape[:-1])
        if inside < _FEWEST_STEPS or rows * inside < _FEWEST_PRODUCTS:
            return False
        waits = rows == 1 and columns % (self._lanes // 2) == 0
        return not waits and self.longer(columns) != columns
