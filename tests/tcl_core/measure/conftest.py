"""Small real modules that behave, crash, hang or eat memory, and a platform to run them on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tcl_core.config import MeasureConfig
from tcl_core.domain import Platform, PlatformFeatures
from tcl_core.measure import Measurer
from tcl_core.measure.messages import WorkerSetup
from tcl_core.measure.pool import WorkerPool

_VECTOR = 'A: T.Buffer((16,), "float32")'

_SOURCES = {
    "matmul": (
        'A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")',
        """
        for i, j, k in T.grid(64, 64, 64):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
        """,
    ),
    "scale": (
        _VECTOR,
        """
        for i in T.parallel(16):
            with T.sblock("scale"):
                v = T.axis.spatial(16, i)
                A[v] = A[v] * T.float32(0.5) + T.float32(1)
        """,
    ),
    "scalar": ('A: T.Buffer((), "float32")', "A[()] = A[()] * T.float32(0.5)"),
    "slow": (  # far slower than the others, far faster than a time limit
        _VECTOR,
        """
        for i in T.serial(4000000):
            A[0] = A[0] * T.float32(0.5) + T.float32(1)
        """,
    ),
    "segfault": (
        _VECTOR,
        """
        for i in range(16):
            A[i * 1000000000 + 4000000000] = T.float32(1)
        """,
    ),
    "hang": (
        _VECTOR,
        """
        while A[0] < T.float32(100):
            A[0] = A[0] * T.float32(0.5)
        """,
    ),
    "hungry": (  # 3 GB
        _VECTOR,
        """
        B = T.alloc_buffer((750000000,), "float32")
        for i in T.serial(750000000):
            B[i] = A[0]
        A[1] = B[7777777]
        """,
    ),
    "illegal": (
        'A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "int32")',
        "A[0] = A[3 // (B[0] - B[0])]",
    ),
}


_PATIENT = MeasureConfig(
    compile_workers=2,
    compile_timeout_s=60.0,
    compile_patience=0.0,
    run_timeout_s=60.0,
    min_repeat_s=0.002,
    memory_bytes=1 << 30,
)


@pytest.fixture(scope="session")
def modules() -> dict[str, str]:
    """`tvm.ir.save_json` texts by name; "nonsense" is none."""
    import tvm
    from tvm.script import from_source

    texts = {"nonsense": '{"nodes": '}
    for name, (arguments, body) in _SOURCES.items():
        lines = "\n".join("    " + line.removeprefix("    " * 2) for line in body.strip("\n").splitlines())
        source = (
            f"@T.prim_func(s_tir=True)\ndef main({arguments}):\n"
            f'    T.func_attr({{"tir.noalias": True, "global_symbol": "main"}})\n{lines}\n'
        )
        texts[name] = tvm.ir.save_json(tvm.IRModule({"main": from_source(source)}))
    return texts


@pytest.fixture(scope="session")
def platform() -> Platform:
    features = PlatformFeatures(
        cores=2, vector_bits=256, l1_bytes=0, l2_bytes=0, l3_bytes=0, peak_flops=0.0, bandwidth_bytes_s=0.0
    )
    return Platform(
        fingerprint="f",
        name="the test machine",
        kind="llvm",
        target_json='{"kind": "llvm", "num-cores": 2}',
        threads=2,
        runnable=True,
        features=features,
    )


@pytest.fixture(scope="session")
def measurer(platform: Platform) -> Iterator[Measurer]:
    """One for all tests that end with it fit for the next one, as the tuner's must be.

    It has more patience than any machine that stalls needs: a timeout is a candidate's fault.
    """
    with Measurer(platform, _PATIENT) as measurer:
        yield measurer


@pytest.fixture
def hurried(platform: Platform) -> Iterator[Measurer]:
    """One that gives a candidate that hangs up before long."""
    with Measurer(platform, replace(_PATIENT, run_timeout_s=5.0)) as measurer:
        yield measurer


@pytest.fixture(scope="session")
def pool(platform: Platform) -> Iterator[WorkerPool]:
    setup = WorkerSetup(target_json=platform.target_json, kind="llvm", threads=2, config=MeasureConfig(memory_bytes=0))
    pool = WorkerPool(setup)
    pool.start()
    yield pool
    pool.close()
