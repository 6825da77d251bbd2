"""TVM's passes from a scheduled function to LLVM, and behind them one that keeps LLVM 22.1.0 from a mistake of its own.

LLVM's loop vectoriser takes ``i % 8`` for a number of three bits that counts up, where that never wraps; and where a
sum of more bits beside it does not wrap, it takes that for a proof that the three bits do not, either. So a loop over
``y[n, i, j] = x[n, i % 8, j % 4]``, a `Tile`, reads ``x[n, i, j % 4]`` instead: wrong numbers, or another's memory. It
is LLVM's issue 191382 (`SCEVWrapPredicate::implies`), mended behind 22.1.0 by its pull request 191498. Whether a loop
is vectorised that way is a matter of what LLVM thinks of its costs: a `Tile` by (1, 1, 2, 2) for Zen 4 and 5, one by
(1, 1, 4, 2) for Intel's processors, too.

Here LLVM is not told what the remainder's mask is, in loops that it may vectorise: those without vectors of ours. This
can go when TVM brings an LLVM that has the mend.
"""

from __future__ import annotations

from typing import Any, Final

import tvm
import tvm_ffi
from tvm import tirx
from tvm.tirx.compilation_pipeline import get_tir_pipeline, register_tir_pipeline

LLVM_PIPELINE: Final = "tcl_studio"
"""What TVM is asked for wherever a kernel is compiled: ``tvm.compile(module, target, tir_pipeline=LLVM_PIPELINE)``."""
_TVMS = "s_tir"
_INDICES = {"int32", "int64"}


def _pipeline() -> Any:
    passes, of_host, of_device = get_tir_pipeline(_TVMS)
    return passes, lambda: tvm.ir.transform.Sequential([_hide_masks, of_host()]), of_device


@tirx.transform.prim_func_pass(opt_level=0)  # type: ignore[untyped-decorator]  # tvm has no types
def _hide_masks(function: Any, _module: Any, _context: Any) -> Any:
    return tvm_ffi.structural_mutate(function, (tirx.For, _in_loop))


def _in_loop(loop: Any, mutator: Any) -> Any:
    if _has_vectors(loop):
        return mutator.default_mutate(loop)  # LLVM vectorises no loop over vectors, but maybe one within
    return tvm_ffi.structural_map(loop, (tirx.FloorMod, _with_hidden_mask))


def _has_vectors(loop: Any) -> bool:
    """Whether something in it is read or written that lies side by side."""
    found = []

    def note(ramp: Any, _visitor: Any) -> None:
        if isinstance(ramp.stride, tirx.IntImm) and ramp.stride.value == 1:
            found.append(ramp)

    tvm_ffi.structural_visit(loop, (tirx.Ramp, note))
    return bool(found)


def _with_hidden_mask(remainder: Any) -> Any:
    """A remainder by a power of two; any other stays, as LLVM makes no number of few bits of it."""
    divisor = int(remainder.b.value) if isinstance(remainder.b, tirx.IntImm) else 0
    dtype = str(remainder.ty.dtype)
    if divisor < 2 or divisor & (divisor - 1) or dtype not in _INDICES:
        return remainder
    return tirx.bitwise_and(remainder.a, _hidden(divisor - 1).astype(dtype))


def _hidden(number: int) -> Any:
    """Of a float behind a fence LLVM does not ask the value; the fence is no instruction, and moves out of loops."""
    bits = tirx.reinterpret("float32", tirx.const(number, "int32"))
    return tirx.reinterpret("int32", tirx.call_llvm_pure_intrin("float32", "llvm.arithmetic.fence", bits))


register_tir_pipeline(LLVM_PIPELINE, _pipeline)
