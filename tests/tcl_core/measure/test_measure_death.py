"""`kill -9` of the engine takes every worker along, even one in a kernel that never ends."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from process_ends import all_gone

from tcl_core.config import MeasureConfig
from tcl_core.domain import Platform
from tcl_core.measure.requests import MeasureRequest

pytestmark = pytest.mark.slow

_ENGINE = """
import pickle, sys
from pathlib import Path
from tcl_core.measure import Measurer

if __name__ == "__main__":
    platform, config, requests = pickle.loads(Path(sys.argv[1]).read_bytes())
    measurer = Measurer(platform, config)
    measurer.start()
    print(*measurer.process_ids, flush=True)
    list(measurer.measure(requests))
"""


def test_no_worker_outlives_its_engine(tmp_path: Path, platform: Platform, modules: dict[str, str]) -> None:
    order = tmp_path / "order"
    requests = [MeasureRequest(id=number, module_json=modules["hang"]) for number in range(2)]
    order.write_bytes(pickle.dumps((platform, MeasureConfig(compile_workers=2, run_timeout_s=600.0), requests)))
    script = tmp_path / "engine.py"
    script.write_text(_ENGINE, encoding="utf-8")
    root = Path(__file__).parents[3]
    engine = subprocess.Popen(
        [sys.executable, str(script), str(order)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(root)},
    )
    with engine:
        assert engine.stdout is not None
        workers = [psutil.Process(int(pid)) for pid in engine.stdout.readline().split()]
        assert len(workers) == 3
        while not any(worker.cpu_times().user > 0.7 for worker in workers[1:]):  # in the kernel: compiling takes 0.1
            time.sleep(0.02)
        engine.kill()
    assert all_gone(workers)
