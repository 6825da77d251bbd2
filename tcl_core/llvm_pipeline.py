"""TVM's passes from a scheduled function to LLVM, and behind them two of our own.

One keeps LLVM 22.1.0 from a mistake.

LLVM's loop vectoriser takes ``i % 8`` for a number of three bits that counts up, where that never wraps; and where a
sum of more bits beside it does not wrap, it takes that for a proof that the three bits do not, either. So a loop over
``y[n, i, j] = x[n, i % 8, j % 4]``, a `Tile`, reads ``x[n, i, j % 4]`` instead: wrong numbers, or another's memory. It
is LLVM's issue 191382 (`SCEVWrapPredicate::implies`), mended behind 22.1.0 by its pull request 191498. Whether a loop
is vectorised that way is a matter of what LLVM thinks of its costs: a `Tile` by (1, 1, 2, 2) for Zen 4 and 5, one by
(1, 1, 4, 2) for Intel's processors, too.

Here LLVM is not told what the remainder's mask is, in loops that it may vectorise: those without vectors of ours, and
where an access does not divide the same variables, too, which counts up in no straight line whatever LLVM takes the
remainder for. This can go when TVM brings an LLVM that has the mend.

The other spares a kernel that is only timed the two functions that TVM 0.27 adds to every module, called or not
(``CodeGenLLVM::Init``): conversions from and to half floats, for processors without an instruction for it. To optimise
and assemble them takes LLVM 9 ms, of 20 for a kernel of one line and of 97 for a 3x3 convolution (Zen 4). This can go
when TVM adds them where they are called.
"""

from __future__ import annotations

import re
from typing import Any, Final

import tvm
import tvm_ffi
from tvm import tirx
from tvm.tirx.compilation_pipeline import get_tir_pipeline, register_tir_pipeline

LLVM_PIPELINE: Final = "tcl_studio"
"""What TVM is asked for wherever a kernel is compiled: ``tvm.compile(module, target, tir_pipeline=LLVM_PIPELINE)``."""
_QUICK = "tcl_studio_quick"
_TVMS = "s_tir"
_INDICES = {"int32", "int64"}
_MOST = 1 << 30
"""Beyond are no indices: the frontend casts to 32 bits by a remainder of 2 ** 32."""

_NARROW = re.compile(r"float(?!32|64)\d")
_NO_CONVERSIONS = "".join(f"@{name} = hidden constant i8 0\n" for name in ("__truncsfhf2", "__extendhfsf2"))
"""LLVM's linker puts what is defined here in the place of the weak functions of these names."""


def pipeline_to_time(module_json: str) -> str:
    """The pipeline of a kernel that is timed in the process that compiles it, and kept nowhere.

    Its machine code is `LLVM_PIPELINE`'s; see above for what is left out. One that mentions floats of less than 32 bits
    may call the conversions, and is compiled with them.
    """
    return LLVM_PIPELINE if _NARROW.search(module_json) else _QUICK


def _pipeline() -> Any:
    passes, of_host, of_device = get_tir_pipeline(_TVMS)
    return passes, lambda: tvm.ir.transform.Sequential([_hide_masks, of_host()]), of_device


def _quick_pipeline() -> Any:
    passes, of_host, of_device = _pipeline()
    return passes, lambda: tvm.ir.transform.Sequential([of_host(), _without_conversions]), of_device


@tvm.transform.module_pass(opt_level=0)  # type: ignore[untyped-decorator]  # tvm has no types
def _without_conversions(module: Any, _context: Any) -> Any:
    functions = dict(module.functions_items())
    name, function = next(iter(functions.items()))  # one of them is told; two would define the same names
    node, code = tirx.const(0, "int32"), tvm.ir.StringImm(_NO_CONVERSIONS)
    functions[name] = function.with_body(tirx.AttrStmt(node, "pragma_import_llvm", code, function.body))
    return tvm.IRModule(functions)


@tirx.transform.prim_func_pass(opt_level=0)  # type: ignore[untyped-decorator]  # tvm has no types
def _hide_masks(function: Any, _module: Any, _context: Any) -> Any:
    return tvm_ffi.structural_mutate(function, (tirx.For, _in_loop))


def _in_loop(loop: Any, mutator: Any) -> Any:
    if not _within(loop, tirx.FloorMod):
        return loop
    if _has_vectors(loop):
        return mutator.default_mutate(loop)  # LLVM vectorises no loop over vectors, but maybe one within
    harmless = _harmless(loop)

    def replaced(remainder: Any) -> Any:
        return remainder if remainder.__chandle__() in harmless else _with_hidden_mask(remainder)

    return tvm_ffi.structural_map(loop, (tirx.FloorMod, replaced), order="pre")


def _has_vectors(loop: Any) -> bool:
    """Whether something in it is read or written that lies side by side."""
    return any(isinstance(ramp.stride, tirx.IntImm) and ramp.stride.value == 1 for ramp in _within(loop, tirx.Ramp))


def _harmless(loop: Any) -> set[int]:
    """Handles of the remainders in it whose accesses divide their variables, all of them."""
    harmless: set[int] = set()
    others: set[int] = set()
    for access in _within(loop, tvm.ir.TensorLoad, tirx.BufferStore):
        for index in access.indices:
            remainders = _within(index, tirx.FloorMod)
            divided = [_variables(each) for each in _within(index, tirx.FloorDiv)] if remainders else []
            for remainder in remainders:
                beside = any(_variables(remainder) <= each for each in divided)
                (harmless if beside else others).add(remainder.__chandle__())
    return harmless - others


def _variables(expression: Any) -> set[int]:
    return {variable.__chandle__() for variable in _within(expression, tirx.Var)}


def _within(root: Any, *kinds: Any) -> list[Any]:
    """All nodes of these kinds, one within another, too."""
    found = []

    def note(node: Any, visitor: Any) -> None:
        found.append(node)
        visitor.default_visit(node)

    tvm_ffi.structural_visit(root, (kinds, note))
    return found


def _with_hidden_mask(remainder: Any) -> Any:
    """A remainder by a power of two; any other stays, as LLVM makes no number of few bits of it."""
    divisor = int(remainder.b.value) if isinstance(remainder.b, tirx.IntImm) else 0
    dtype = str(remainder.ty.dtype)
    if not 2 <= divisor <= _MOST or divisor & (divisor - 1) or dtype not in _INDICES:
        return remainder
    return tirx.bitwise_and(remainder.a, _hidden(divisor - 1).astype(dtype))


def _hidden(number: int) -> Any:
    """Of a float behind a fence LLVM does not ask the value; the fence is no instruction, and moves out of loops."""
    bits = tirx.reinterpret("float32", tirx.const(number, "int32"))
    return tirx.reinterpret("int32", tirx.call_llvm_pure_intrin("float32", "llvm.arithmetic.fence", bits))


register_tir_pipeline(LLVM_PIPELINE, _pipeline)
register_tir_pipeline(_QUICK, _quick_pipeline)
