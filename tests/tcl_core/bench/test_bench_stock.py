"""How the peers are started, and what counts as one of their trials."""

from __future__ import annotations

import pickle
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tvm.tirx import FloatImm

from tcl_core.bench import stock
from tcl_core.bench.lap import Lap
from tcl_core.bench.stock import StockRequest, run_stock

LAP = Lap(seconds=1.0, trials=1, modules=(), history=())
CUDA = '{"kind":"cuda","arch":"sm_90"}'


def request(target_json: str) -> StockRequest:
    return StockRequest(tasks=(), target_json=target_json, trials=4, round_size=4, seed=0)


@pytest.mark.parametrize(
    ("target_json", "threads"), [('{"kind":"llvm","num-cores":1}', "1"), ('{"kind":"llvm","num-cores":7}', "7")]
)
def test_the_peers_measure_with_as_many_threads_as_ours(
    monkeypatch: pytest.MonkeyPatch, target_json: str, threads: str
) -> None:
    assert started_with(monkeypatch, target_json)["TVM_NUM_THREADS"] == threads


def test_a_gpu_has_no_threads_to_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TVM_NUM_THREADS", raising=False)
    assert "TVM_NUM_THREADS" not in started_with(monkeypatch, CUDA)


def started_with(monkeypatch: pytest.MonkeyPatch, target_json: str) -> dict[str, str]:
    """The environment that a peer's process gets."""
    given: list[dict[str, str]] = []

    def start(command: list[str], *, env: dict[str, str], **_: Any) -> None:
        given.append(env)
        Path(command[-1]).write_bytes(pickle.dumps(LAP))

    monkeypatch.setattr(subprocess, "run", start)
    monkeypatch.setenv("KEPT", "yes")
    assert run_stock(request(target_json)) == LAP and given[0]["KEPT"] == "yes"
    return given[0]


@pytest.mark.parametrize(
    ("seconds", "ran"), [((1e-3,), True), ((1e-3, 2e-3), True), ((1e10,), False), ((), False), (None, False)]
)
def test_a_peers_candidate_that_failed_is_no_trial_that_ran(seconds: tuple[float, ...] | None, ran: bool) -> None:
    """Stock writes down 1e10 seconds for one that failed."""
    assert stock._ran(None if seconds is None else [FloatImm("float64", value) for value in seconds]) is ran
