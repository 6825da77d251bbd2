"""CUDA source goes to NVRTC without TVM's headers, and to TVM where it needs them."""

# ruff: noqa: N802 - the names are NVRTC's

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import tvm
import tvm_ffi
from tvm.script import from_source
from tvm.support import nvcc

from tcl_core import cuda_compiler
from tests.tcl_core.conftest import CUDA_TARGET

CALLBACK = "tvm_callback_cuda_compile"
TARGET = tvm.target.Target(json.loads(CUDA_TARGET))


def source(dtype: str) -> str:
    lines = f"""
@T.prim_func(s_tir=True)
def main(A: T.Buffer((256,), "{dtype}")):
    T.func_attr({{"tirx.noalias": True, "global_symbol": "main"}})
    for thread in T.thread_binding(256, thread="threadIdx.x"):
        A[thread] = A[thread] * A[thread]
"""
    built = tvm.tirx.build(tvm.IRModule({"main": from_source(lines)}), TARGET)
    text: str = built.imports[0].inspect_source()
    return text


# Here, because TVM itself compiles them where there is a device.
FLOATS, HALVES = source("float32"), source("float16")


class FakeNvrtc:
    """Notes what is compiled; refuses what holds "refused"."""

    nvrtcResult = SimpleNamespace(NVRTC_SUCCESS=0)

    def __init__(self) -> None:
        self.compiled: list[tuple[str, list[bytes]]] = []
        self.destroyed = 0
        self._code = ""

    def nvrtcCreateProgram(self, code: bytes, name: bytes, count: int, headers: None, names: None) -> tuple[int, str]:
        self._code = code.decode()
        return int("hopeless" in self._code), "program"

    def nvrtcCompileProgram(self, program: str, count: int, options: list[bytes]) -> tuple[int]:
        assert count == len(options)
        self.compiled.append((self._code, options))
        return (int("refused" in self._code),)

    def nvrtcGetProgramLogSize(self, program: str) -> tuple[int, int]:
        return 0, 5

    def nvrtcGetProgramLog(self, program: str, into: bytearray) -> None:
        into[:] = b"line 3\n\0"

    def nvrtcGetCUBINSize(self, program: str) -> tuple[int, int]:
        return 0, 5

    def nvrtcGetCUBIN(self, program: str, into: bytearray) -> None:
        into[:] = b"cubin"

    def nvrtcDestroyProgram(self, program: str) -> None:
        self.destroyed += 1


@pytest.fixture
def nvrtc(monkeypatch: pytest.MonkeyPatch) -> FakeNvrtc:
    fake, bindings = FakeNvrtc(), ModuleType("cuda.bindings")
    bindings.nvrtc = fake  # type: ignore[attr-defined]
    for name, module in (("cuda", ModuleType("cuda")), ("cuda.bindings", bindings), ("cuda.bindings.nvrtc", fake)):
        monkeypatch.setitem(sys.modules, name, module)
    return fake


@pytest.fixture
def tvms_own() -> Iterator[None]:
    """TVM's compiler is back afterwards."""
    yield
    tvm_ffi.register_global_func(CALLBACK, nvcc.tvm_callback_cuda_compile, override=True)


def test_a_kernel_of_floats_is_compiled_without_headers(nvrtc: FakeNvrtc) -> None:
    with TARGET:
        assert cuda_compiler.compile_cuda(FLOATS) == b"cubin"
    ((code, options),) = nvrtc.compiled
    assert "#include" not in code and "__global__" in code
    assert options[0] == b"--gpu-architecture=" + json.loads(CUDA_TARGET)["arch"].encode()
    assert nvrtc.destroyed == 1


def test_what_needs_headers_is_left_to_tvm(nvrtc: FakeNvrtc, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def compile_cuda(code: str, **options: Any) -> bytearray:
        assert options == {"target_format": "cubin", "compiler": "nvrtc"}
        asked.append(code)
        return bytearray(b"tvm's")

    monkeypatch.setattr(nvcc, "compile_cuda", compile_cuda)
    assert cuda_compiler.compile_cuda(HALVES) == b"tvm's"
    assert (asked, nvrtc.compiled) == ([HALVES], [])


def test_source_of_another_tvm_is_left_to_it() -> None:
    assert cuda_compiler.without_headers("__global__ void main() {}") is None


def test_the_compilers_words_are_kept(nvrtc: FakeNvrtc) -> None:
    with pytest.raises(RuntimeError, match=r"^NVRTC: line 3$"):
        cuda_compiler.compile_for("refused", "sm_90")
    assert nvrtc.destroyed == 1
    with pytest.raises(RuntimeError, match="NVRTC does not begin: 1"):
        cuda_compiler.compile_for("hopeless", "sm_90")


def test_without_the_bindings_the_mend_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda", None)
    cuda_compiler.load_compiler()
    with pytest.raises(RuntimeError, match="pip install cuda-bindings"):
        cuda_compiler.compile_for("", "sm_90")


@pytest.mark.usefixtures("tvms_own")
def test_tvm_compiles_by_it(nvrtc: FakeNvrtc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TVM_CUDA_COMPILE_MODE", raising=False)
    cuda_compiler.use_quick_compiler()
    with TARGET:
        assert bytes(tvm_ffi.get_global_func(CALLBACK)(FLOATS)) == b"cubin"


@pytest.mark.usefixtures("tvms_own")
def test_source_alone_is_not_compiled(nvrtc: FakeNvrtc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TVM_CUDA_COMPILE_MODE", raising=False)
    cuda_compiler.use_quick_compiler()
    with TARGET, cuda_compiler.source_only():
        assert bytes(tvm_ffi.get_global_func(CALLBACK)(FLOATS)) == b""
    with TARGET:
        assert bytes(tvm_ffi.get_global_func(CALLBACK)(FLOATS)) == b"cubin"


@pytest.mark.usefixtures("tvms_own")
def test_nvcc_is_left_to_whoever_asks_for_it(nvrtc: FakeNvrtc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVM_CUDA_COMPILE_MODE", "nvcc")
    monkeypatch.setattr(nvcc, "compile_cuda", lambda code, **options: options["compiler"].encode())
    cuda_compiler.use_quick_compiler()
    assert bytes(tvm_ffi.get_global_func(CALLBACK)(FLOATS)) == b"nvcc"
    assert nvrtc.compiled == []


@pytest.mark.skipif(importlib.util.find_spec("cuda") is None, reason="NVRTC is not installed")
def test_the_own_definitions_suffice() -> None:
    assert cuda_compiler.compile_for(cuda_compiler.without_headers(FLOATS) or "", "sm_90")[:4] == b"\x7fELF"
