"""CUDA source to machine code without the headers that TVM puts before every kernel.

TVM 0.27 has NVRTC read libc++ for CUDA each time (`tvm/support/nvcc.py`, `tvm/backend/cuda`): of the 1.7 - 2.4 s that
sample kernels take to compile on a Zen 3, 1.5 - 1.8. Kernels of plain floats and integers need none of it. This can go
when TVM leaves out what a kernel does not use.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator

_CALLBACK = "tvm_callback_cuda_compile"
"""What TVM hands a module's CUDA source to."""

_MODE, _NVRTC = "TVM_CUDA_COMPILE_MODE", "nvrtc"

_TVM_HEADERS = re.compile(r"#ifdef __CUDACC_RTC__\n.*?#include <cuda\.h>\n#endif\n", re.DOTALL)

_OWN_HEADER = """\
typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long long int64_t;
typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#define INFINITY (__int_as_float(0x7f800000))
#define __asm__ asm
#define __volatile__ volatile
"""

_END_OF_LOG = "\0\n "

_OPTIONS = ("-default-device", "--device-int128", "--use_fast_math", "--ptxas-options=--register-usage-level=10")
"""What TVM gives to NVRTC, as far as it decides what the code is."""


def use_quick_compiler() -> None:
    """Let TVM in this process compile CUDA by `compile_cuda`, unless the person asks for another compiler.

    ``TVM_CUDA_COMPILE_MODE=nvcc`` is TVM's own setting, and is left to it.
    """
    import tvm_ffi

    if os.environ.get(_MODE, _NVRTC) == _NVRTC:
        tvm_ffi.register_global_func(_CALLBACK, compile_cuda, override=True)


@contextlib.contextmanager
def source_only() -> Iterator[None]:
    """Within the block TVM generates CUDA source and compiles none: to look at it needs no compiler, and no second."""
    import tvm_ffi

    before = tvm_ffi.get_global_func(_CALLBACK)
    tvm_ffi.register_global_func(_CALLBACK, lambda _code: b"", override=True)
    try:
        yield
    finally:
        tvm_ffi.register_global_func(_CALLBACK, before, override=True)


def load_compiler() -> None:
    """Import what `compile_cuda` imports, where it is installed, before processes are forked that compile."""
    with contextlib.suppress(ImportError):
        import cuda.bindings.nvrtc  # noqa: F401


def compile_cuda(code: str) -> bytes:
    """The cubin of a module's CUDA source, for the current target. What needs headers is left to TVM.

    Raises:
        RuntimeError: it does not compile, or NVRTC is not there; with the compiler's words.
    """
    from tvm.support import nvcc
    from tvm.target import Target

    lean = without_headers(code)
    if lean is None:
        return bytes(nvcc.compile_cuda(code, target_format="cubin", compiler=_NVRTC))
    version = nvcc.get_target_compute_version(Target.current(allow_none=True))
    return compile_for(lean, "sm_" + version.replace(".", ""))


def without_headers(code: str) -> str | None:
    """The source with the few definitions of its own that it may use; None where it needs more."""
    lean, count = _TVM_HEADERS.subn("", code)
    if count != 1 or "#include" in lean or "std::" in lean:
        return None
    return _OWN_HEADER + lean


def compile_for(code: str, arch: str) -> bytes:
    """The cubin of CUDA source that needs no headers, for an architecture such as "sm_90".

    Raises:
        RuntimeError: as `compile_cuda`.
    """
    try:
        from cuda.bindings import nvrtc
    except ImportError as error:
        raise RuntimeError("NVRTC's bindings are not installed: python -m pip install cuda-bindings") from error
    status, program = nvrtc.nvrtcCreateProgram(code.encode(), b"kernel.cu", 0, None, None)
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise RuntimeError(f"NVRTC does not begin: {status}")
    options = [option.encode() for option in (f"--gpu-architecture={arch}", *_OPTIONS)]
    try:
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            _, size = nvrtc.nvrtcGetProgramLogSize(program)
            words = bytearray(size)
            nvrtc.nvrtcGetProgramLog(program, words)
            raise RuntimeError(f"NVRTC: {words.decode(errors='replace').rstrip(_END_OF_LOG) or status}")
        _, size = nvrtc.nvrtcGetCUBINSize(program)
        binary = bytearray(size)
        nvrtc.nvrtcGetCUBIN(program, binary)
        return bytes(binary)
    finally:
        nvrtc.nvrtcDestroyProgram(program)
