"""``run.cpp`` and the README of a bundle: the same library from C++, with the headers and libraries of the wheels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

_CODES = {"float": "kDLFloat", "bfloat": "kDLBfloat", "int": "kDLInt", "uint": "kDLUInt", "bool": "kDLBool"}

_CPP = """\
// Loads the tuned library beside it, runs it on constant inputs, and prints shapes and latency.
// How to compile it: README.md, in this folder.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace ffi = tvm::ffi;

// Filled with the bytes of one element: zero is a valid value of every type, and a valid index; one can be divided by.
// Through the runtime's function table: apache-tvm 0.27 ships tvm/runtime/tensor.h without the headers it includes.
ffi::Tensor Filled(std::vector<int64_t> shape, std::vector<uint8_t> element, DLDataType dtype, DLDevice device) {
  static ffi::Function allocate = ffi::Function::GetGlobalRequired("runtime.TVMTensorAllocWithScope");
  static ffi::Function fill = ffi::Function::GetGlobalRequired("runtime.TVMTensorCopyFromBytes");
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  std::vector<uint8_t> bytes;
  for (int64_t i = 0; i < count; ++i) bytes.insert(bytes.end(), element.begin(), element.end());
  ffi::Tensor tensor = allocate(ffi::Shape(shape), dtype, device, nullptr).cast<ffi::Tensor>();
  fill(tensor, static_cast<void*>(bytes.data()), static_cast<int64_t>(bytes.size()));
  return tensor;
}

void Print(const ffi::Any& value) {
  if (auto tensor = value.try_cast<ffi::Tensor>()) {
    std::cout << "output: [";
    for (std::size_t i = 0; i < (*tensor).shape().size(); ++i) std::cout << (i ? ", " : "") << (*tensor).shape()[i];
    std::cout << "]" << std::endl;
    return;
  }
  for (const ffi::Any& part : value.cast<ffi::Array<ffi::Any>>()) Print(part);
}

int main(int argc, char** argv) {
  // Read when TVM starts its threads; its own default is half the logical cores.
  setenv("TVM_NUM_THREADS", "@THREADS@", 0);
  std::string path = argc > 1 ? argv[1] : "./@LIBRARY@";
  DLDevice device{@DEVICE@, 0};
  ffi::Module library = ffi::Module::LoadFromFile(path);
  ffi::Module machine = library->GetFunction("vm_load_executable").value()().cast<ffi::Module>();
  // Device and allocator (2: pooled), and the CPU for shape functions.
  machine->GetFunction("vm_initialization").value()(
      static_cast<int>(device.device_type), device.device_id, 2, static_cast<int>(kDLCPU), 0, 2);
  ffi::Function run = machine->GetFunction("@FUNCTION@").value();

@INPUTS@
  // A GPU is still at work when a call returns.
  ffi::Function wait = ffi::Function::GetGlobalRequired("runtime.Device_StreamSync");
  auto call = [&]() -> ffi::Any {
    ffi::Any outputs = run(@ARGUMENTS@);
    wait(device, static_cast<int64_t>(0));
    return outputs;
  };
  Print(call());
  std::vector<double> milliseconds;
  for (int i = 0; i < 20; ++i) {
    auto started = std::chrono::steady_clock::now();
    call();
    milliseconds.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - started).count());
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  std::cout << "latency: " << milliseconds[milliseconds.size() / 2] << " ms (median of 20)" << std::endl;
  return 0;
}
"""

_README = """\
# @NAME@, tuned for @PLATFORM@

| file | what it is |
|---|---|
| `@LIBRARY@` | the network, weights included; runs on @PLATFORM@ (target below) and is not portable to other hardware |
| `manifest.json` | inputs and outputs, target, tuned tasks, versions, the numerical check |
| `run.py` | runs it from Python: `pip install apache-tvm==@TVM@ "apache-tvm-ffi@FFI@" numpy`, then `python run.py` |
| `run.cpp` | runs it from C++ |

Target: `@TARGET@`

## C++

With the same wheels installed, in this folder (Linux; @COMPILER@):

```sh
@COMMAND@
./run ./@LIBRARY@
```

@NEEDS@
"""

_THREADS = """\
Threads: as many as it was measured with (@THREADS@); set `TVM_NUM_THREADS` before the start for another number."""

_GPU = """\
The GPU needs its driver and `libcudart.so.13` of the CUDA 13 toolkit, from Python as from C++."""

COMPILE_COMMAND = """\
SITE=$(python -c "import pathlib, tvm; print(pathlib.Path(tvm.__file__).parent.parent)")
g++ -std=c++17 -O2 run.cpp -o run \\
  -I"$SITE/tvm/include" -I"$SITE/tvm_ffi/include" \\
  -L"$SITE/tvm/lib" -L"$SITE/tvm_ffi/lib" -Wl,-rpath,"$SITE/tvm/lib:$SITE/tvm_ffi/lib" \\
  -Wl,--no-as-needed -ltvm_runtime -ltvm_ffi"""
"""Shell text that compiles ``run.cpp`` where apache-tvm is installed; run by the tests as it stands."""

_CUDA_RUNTIME = " -ltvm_runtime_cuda"
"""What a library for a GPU is loaded by; Python's `import tvm` loads it, C++ has to link it."""


def cpp_source(manifest: Mapping[str, Any]) -> str:
    """C++ that runs the library described by a manifest."""
    names = [f"input{index}" for index in range(len(manifest["inputs"]))]
    inputs = "\n".join(
        f"  ffi::Tensor {name} = Filled({_list(spec['shape'])}, {_list(_element(spec))}, {_dtype(spec['dtype'])}, "
        f"device);  // {_comment(spec['name'])}"
        for name, spec in zip(names, manifest["inputs"], strict=True)
    )
    return _fill(
        _CPP,
        LIBRARY=manifest["library"],
        THREADS=str(manifest["platform"]["threads"]),
        DEVICE="kDLCUDA" if manifest["device"] == "cuda" else "kDLCPU",
        FUNCTION=manifest["function"],
        INPUTS=inputs,
        ARGUMENTS=", ".join(names),
    )


def readme(manifest: Mapping[str, Any]) -> str:
    """The bundle's README.md."""
    versions = manifest["versions"]
    gpu = manifest["device"] == "cuda"
    return _fill(
        _README,
        NAME=manifest["network"]["name"],
        PLATFORM=manifest["platform"]["name"],
        LIBRARY=manifest["library"],
        TARGET=manifest["target"],
        TVM=versions["apache-tvm"],
        FFI=f"=={versions['apache-tvm-ffi']}",
        COMPILER="clang++ takes the same options",
        COMMAND=COMPILE_COMMAND + (_CUDA_RUNTIME if gpu else ""),
        NEEDS=_GPU if gpu else _THREADS,
        THREADS=str(manifest["platform"]["threads"]),
    )


def _fill(template: str, **values: str) -> str:
    for name, value in values.items():
        template = template.replace(f"@{name}@", value)
    return template


def _comment(text: str) -> str:
    """A name in one line, which does not end as those do that go on in the next; compilers overlook a blank there."""
    return " ".join(text.split()).rstrip("\\ ")


def _list(values: Iterable[int]) -> str:
    return f"{{{', '.join(map(str, values))}}}"


def _element(spec: Mapping[str, Any]) -> bytes:
    """Of an input's elements, which are all alike."""
    return np.full((), spec["ones"], spec["dtype"]).tobytes()


def _dtype(name: str) -> str:
    kind = name.rstrip("0123456789")
    bits = name[len(kind) :] or "8"
    return f"DLDataType{{{_CODES[kind]}, {bits}, 1}}"
