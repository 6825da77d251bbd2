"""Kernels on a device over the network: a real server on this machine, and none."""

from __future__ import annotations

import contextlib
import socket
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from process_ends import all_gone

from tcl_core.config import MeasureConfig
from tcl_core.device_sessions import open_session
from tcl_core.devices import parse_address
from tcl_core.domain import Platform, Stage
from tcl_core.errors import UserError
from tcl_core.linker import find_linker
from tcl_core.measure import Measurer
from tcl_core.measure.remote_kernel import RemoteCompiler
from tcl_core.measure.requests import MeasureRequest

pytestmark = [pytest.mark.slow, pytest.mark.skipif(find_linker() is None, reason="no C compiler")]

_CONFIG = MeasureConfig(compile_workers=2, compile_timeout_s=60.0, run_timeout_s=5.0, min_repeat_s=0.002)


@pytest.fixture
def remote(device: str, platform: Platform) -> Iterator[Measurer]:
    with Measurer(replace(platform, device=device), _CONFIG) as measurer:
        yield measurer


def server_of(device: str) -> psutil.Process:
    """The child of ours that listens there; its sessions, its own children, hold the socket as well."""
    port = parse_address(device).port
    children = psutil.Process().children()
    (server,) = [one for one in children if any(held.laddr.port == port for held in one.net_connections("tcp"))]
    return server


def test_whatever_a_kernel_does_over_there_costs_one_result(
    remote: Measurer, device: str, modules: dict[str, str]
) -> None:
    names = ["scale", "segfault", "matmul", "hang", "illegal", "scalar"]
    requests = [
        MeasureRequest(id=number, module_json=modules[name], task_key=name) for number, name in enumerate(names)
    ]
    results = {result.id: result for result in remote.measure(requests)}
    failures = [results[number].failure for number in range(len(names))]

    assert [None if failure is None else (failure.stage, failure.cause) for failure in failures] == [
        None,
        (Stage.MEASURE, "crash"),
        None,
        (Stage.MEASURE, "timeout"),
        (Stage.COMPILE, "InternalError"),
        None,
    ]
    assert all_gone(server_of(device).children()), "nothing of a kernel that hangs is left there"
    for number in (0, 2, 5):
        assert len(results[number].latencies_s) == 3
        assert all(latency_s > 0 for latency_s in results[number].latencies_s)


def test_no_session_outlives_a_server_that_is_killed(own_device: str) -> None:
    session = open_session(parse_address(own_device), limit_s=60.0)
    server = server_of(own_device)
    (own_process,) = server.children()
    server.kill()
    try:
        assert all_gone([own_process])
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):  # as it should
            own_process.kill()
    with socket.create_server(("127.0.0.1", parse_address(own_device).port)):  # nobody holds its port
        del session


def test_a_slow_kernel_is_cut_off_by_the_best(remote: Measurer, modules: dict[str, str]) -> None:
    (result,) = remote.measure([MeasureRequest(id=0, module_json=modules["slow"], best_s=1e-6)])
    assert (result.failure, result.cut_off) == (None, True)


def test_a_device_that_is_gone_ends_the_batch_with_a_sentence(platform: Platform, modules: dict[str, str]) -> None:
    requests = [MeasureRequest(id=0, module_json=modules["scale"])]
    with (
        Measurer(replace(platform, device="127.0.0.1:1"), _CONFIG) as measurer,
        pytest.raises(UserError, match=r"Nobody listens at 127\.0\.0\.1:1 .*start `main\.py serve` there\. What was"),
    ):
        list(measurer.measure(requests))


def test_code_for_another_architecture_wants_its_own_linker(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tcl_core.linker.find_linker", lambda triple: None)
    target = '{"kind": "llvm", "mtriple": "aarch64-linux-gnu", "mcpu": "cortex-a72"}'
    measurer = Measurer(replace(platform, device="127.0.0.1:1", target_json=target), _CONFIG)
    with pytest.raises(UserError, match="install aarch64-linux-gnu-gcc"):
        measurer.launch()


def test_kernels_for_another_architecture_are_of_it(modules: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Not linked, as nobody may have what links them: the object file says what it is for."""
    objects: list[bytes] = []

    def link(output: str, parts: list[str], options: object = None, **_: object) -> None:
        objects.extend(Path(part).read_bytes() for part in parts)
        Path(output).touch()

    monkeypatch.setattr("tcl_core.measure.remote_kernel.require_linker", lambda triple: link)
    target = '{"kind": "llvm", "mtriple": "aarch64-linux-gnu", "mcpu": "cortex-a72", "num-cores": 4}'
    compiler = RemoteCompiler(target, parse_address("127.0.0.1:1"), 4, 5.0)
    kernel = compiler.compile(modules["matmul"])

    assert [shape for _, shape in kernel.signature] == [(64, 64)] * 3
    assert objects[0][:4] == b"\x7fELF"
    assert int.from_bytes(objects[0][18:20], "little") == 183, "EM_AARCH64"


def test_a_killed_worker_leaves_no_library_behind(remote: Measurer, modules: dict[str, str]) -> None:
    list(remote.measure([MeasureRequest(id=0, module_json=modules["scale"])]))
    _, *workers = remote.process_ids
    folder = Path(tempfile.gettempdir()) / f"tcl-candidate-{workers[0]}-cut off"
    folder.mkdir()
    remote.close()
    assert not folder.exists()
