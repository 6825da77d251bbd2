"""Tasks that several rooms' tests share, made once a session with TVM."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tcl_core.checkpoints import start
from tcl_core.domain import LoopAxis, PlatformFeatures, Task, TensorSpec
from tcl_core.domain import Platform as PlatformFacts

CPU_TARGET = json.dumps({"kind": "llvm", "mcpu": "x86-64-v3", "num-cores": 2})
ARM_TARGET = json.dumps({"kind": "llvm", "mtriple": "aarch64-linux-gnu", "mcpu": "cortex-a72", "num-cores": 4})
needs_cuda = pytest.mark.skipif("not __import__('tvm').cuda(0).exist", reason="there is no CUDA device")

CUDA_TARGET = json.dumps(
    {
        "kind": "cuda",
        "arch": "sm_80",
        "max_threads_per_block": 1024,
        "max_shared_memory_per_block": 49152,
        "thread_warp_size": 32,
        "registers_per_block": 65536,
    }
)


@pytest.fixture(autouse=True)
def shipped_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing ships unless a test puts it here: what does is trained anew now and then, and no test may hang on it."""
    folder = tmp_path_factory.mktemp("ships")
    monkeypatch.setattr(start, "shipped_folder", lambda: folder)
    return folder


@pytest.fixture(scope="session")
def device() -> Iterator[str]:
    """Address of a real device server on this machine."""
    with _serving() as address:
        yield address


@pytest.fixture
def own_device() -> Iterator[str]:
    """Address of one that a test may kill."""
    with _serving() as address:
        yield address


@contextmanager
def _serving() -> Iterator[str]:
    command = "from tcl_core.hardware.device_server import run; run()"
    options = ("--host", "127.0.0.1", "--port", "0")
    with subprocess.Popen([sys.executable, "-c", command, *options], stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        said = next((line for line in server.stderr if "at port" in line), "nothing")
        found = re.search(r"at port (\d+)", said)
        assert found, said
        beside = threading.Thread(target=server.stderr.read, name="device-words")  # a full pipe would stop it
        beside.start()
        yield f"127.0.0.1:{found[1]}"
        server.terminate()
        try:
            server.wait(20)
        finally:
            server.kill()
            beside.join()


def _task(name: str, tensors: list[object], axes: tuple[LoopAxis, ...], flops: float) -> Task:
    import tvm
    from tvm import te

    module = tvm.IRModule({"main": te.create_prim_func(tensors)})
    arguments = tuple(
        TensorSpec(name=tensor.op.name, dtype=str(tensor.dtype), shape=tuple(int(d) for d in tensor.shape))
        for tensor in tensors
    )
    return Task(
        key=name,
        name=name,
        weight=1,
        module_json=tvm.ir.save_json(module),
        flops=flops,
        bytes_moved=3e4,
        dtype="float32",
        axes=axes,
        arguments=arguments,
        anchor=name,
    )


@pytest.fixture(scope="session")
def matmul_task() -> Task:
    """A 64x48x96 matrix product with ReLU."""
    from tvm import te, topi

    a, b = te.placeholder((64, 96), name="a"), te.placeholder((96, 48), name="b")
    product = topi.nn.relu(topi.matmul(a, b))
    axes = tuple(LoopAxis(extent=e, kind=k) for e, k in ((64, "spatial"), (48, "spatial"), (96, "reduce")))
    return _task("matmul", [a, b, product], axes, 2.0 * 64 * 48 * 96)


@pytest.fixture(scope="session")
def softmax_task() -> Task:
    """A softmax over 32 rows of 64: sketches with compute locations and rfactor."""
    from tvm import te, topi

    x = te.placeholder((32, 64), name="x")
    axes = (LoopAxis(extent=32, kind="spatial"), LoopAxis(extent=64, kind="reduce"))
    return _task("softmax", [x, topi.nn.softmax(x)], axes, 32.0 * 64 * 4)


@pytest.fixture(scope="session")
def copy_task() -> Task:
    """A transposition: a sketch without any decision on a CPU, and one of ours."""
    from tvm import te, topi

    x = te.placeholder((16, 24), name="x")
    return _task("transpose", [x, topi.transpose(x)], (LoopAxis(extent=16, kind="spatial"),), 0.0)


@pytest.fixture(scope="session")
def scalar_task() -> Task:
    """One value: nothing to decide."""
    from tvm import te, topi

    x = te.placeholder((1,), name="x")
    return _task("relu", [x, topi.nn.relu(x)], (LoopAxis(extent=1, kind="spatial"),), 0.0)


@pytest.fixture(scope="session")
def cpu_platform() -> PlatformFacts:
    """A CPU that is measured nowhere: for features and fakes."""
    return PlatformFacts(
        fingerprint="test-cpu",
        name="test CPU",
        kind="llvm",
        target_json=CPU_TARGET,
        threads=2,
        runnable=True,
        features=PlatformFeatures(
            cores=2,
            vector_bits=256,
            l1_bytes=32768,
            l2_bytes=1 << 20,
            l3_bytes=1 << 24,
            peak_flops=1e11,
            bandwidth_bytes_s=2e10,
        ),
    )
