"""What a workspace lends: it is measured as in the platform's newest run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from tcl_core.config import MeasureConfig, RunConfig
from tcl_core.domain import Platform, Rationale
from tcl_core.events import CancelToken
from tcl_core.measure import Measurer
from tcl_core.measure.requests import MeasureRequest, MeasureResult
from tcl_core.space.design_space import DesignSpace
from tcl_core.store import Workspace
from tcl_core.what_if.lender import WorkspaceLender
from tests.tcl_core.inspection.conftest import replays


class Stopwatch:
    """A measurer that compiles nothing."""

    def measure_aside(self, request: MeasureRequest, cancel: CancelToken) -> MeasureResult:
        return MeasureResult(id=request.id, latencies_s=(2e-3,))


def test_it_is_measured_as_the_platforms_newest_run_did(
    filled: Path, matmul_space: DesignSpace, cpu_platform: Platform
) -> None:
    def note(repeats: int, platform: Platform) -> None:
        config = RunConfig(network=None, workspace=str(filled), measure=MeasureConfig(repeats=repeats))
        workspace.start_run(config, "one", platform.fingerprint)

    with Workspace.open(filled) as workspace:
        other = replace(cpu_platform, fingerprint="other")
        workspace.add_platform(other)
        for repeats, platform in ((5, cpu_platform), (6, cpu_platform), (7, other)):
            note(repeats, platform)
    asked: list[int] = []

    def measurer(platform: Platform, config: MeasureConfig) -> Measurer:
        asked.append(config.repeats)
        return cast(Any, Stopwatch())

    lender = WorkspaceLender(str(filled), cpu_platform.fingerprint, "matmul", measurer, free=True)
    before, count = lender.stamp("matmul"), len(lender.records("matmul"))
    record = lender.measure(replays(matmul_space, 7)[-1], Rationale(score=0.5), CancelToken())
    assert asked == [6]
    assert list(lender.records("matmul"))[count:] == [record] and lender.stamp("matmul") != before
