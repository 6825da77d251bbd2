"""Carries out what a watcher asks about what-ifs. During a run this happens between rounds, or in a pause.

Predictions and measurements take turns in the engine's one thread, so that nothing is replayed beside a measurement.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tcl_core.config import MeasureConfig
from tcl_core.domain import Failure, Platform
from tcl_core.events import CancelToken, Event, RecordMeasured
from tcl_core.inspection.find import find_record
from tcl_core.measure import Measurer
from tcl_core.store import Workspace
from tcl_core.tuner import Tuner
from tcl_core.tuner.measuring import measurer_for
from tcl_core.what_if.bench import Bench, bare, loop_uses
from tcl_core.what_if.lender import Lender, WorkspaceLender
from tcl_core.what_if_events import (
    MeasureWhatIf,
    OpenWhatIf,
    ScoreWhatIf,
    WhatIfCommand,
    WhatIfMeasured,
    WhatIfOpened,
    WhatIfScored,
)


class WhatIfRoom:
    """Keeps the task that was asked about last, and the measurer, until `forget`. Belongs to the engine's thread."""

    def __init__(self) -> None:
        self._bench: Bench | None = None
        self._of: tuple[str, str, str, bool, bool] | None = None
        self._measurer: Measurer | None = None
        self._measures: tuple[str, str, MeasureConfig] | None = None

    def forget(self) -> None:
        """What is known may have changed, and whoever comes next wants the processor: no worker is left."""
        self._bench = self._of = None
        if self._measurer is not None:
            self._measurer.close()
            self._measurer = self._measures = None

    def carry_out(self, command: OpenWhatIf | WhatIfCommand, run: Tuner | None, cancel: CancelToken) -> Iterator[Event]:
        """The events of one command.

        Args:
            run: the run that is on.
            cancel: of that run, or of the engine.

        Raises:
            UserError: what is asked about is not there, does not fit, or cannot be measured now.
            Interrupted: a stop was asked for during a measurement.
        """
        match command:
            case OpenWhatIf():
                yield from self._open(command, run)
            case ScoreWhatIf():
                yield self._score(command, self._bench_for(command, command.candidate.task_key, run))
            case MeasureWhatIf():
                yield from self._measure(command, self._bench_for(command, command.candidate.task_key, run), cancel)
            case _:
                raise TypeError(f"nobody carries out {command!r}")

    def _open(self, command: OpenWhatIf, run: Tuner | None) -> Iterator[Event]:
        with Workspace.open(Path(command.workspace), create=False, read_only=True) as workspace:
            record = find_record(workspace, command).record
        bench = self._bench_for(command, command.task_key, run)
        yield WhatIfOpened(request=command.request, desk=bench.desk(record))
        score = ScoreWhatIf(
            request=command.request,
            workspace=command.workspace,
            platform=command.platform,
            candidate=record.candidate,
        )
        yield self._score(score, bench)

    def _score(self, command: ScoreWhatIf, bench: Bench) -> WhatIfScored:
        look = bench.look(command.candidate)
        if isinstance(look.scheduled, Failure):
            return WhatIfScored(
                request=command.request,
                candidate=command.candidate,
                replayed=None,
                prediction=look.prediction,
                cause=look.scheduled.cause,
            )
        return WhatIfScored(
            request=command.request,
            candidate=command.candidate,
            replayed=look.scheduled.candidate,
            loops=loop_uses(look.scheduled.schedule),
            prediction=look.prediction,
            record=None if look.record is None else bare(look.record),
        )

    def _measure(self, command: MeasureWhatIf, bench: Bench, cancel: CancelToken) -> Iterator[Event]:
        look = bench.look(command.candidate)
        known = look.record is not None
        record = look.record or bench.measure(look, cancel)
        if not known:
            yield RecordMeasured(record=record)
        yield WhatIfMeasured(request=command.request, record=bare(record), known=known, best_s=bench.best_s)

    def _bench_for(self, command: OpenWhatIf | WhatIfCommand, task_key: str, run: Tuner | None) -> Bench:
        named = (command.workspace, command.platform, task_key)
        loan = run.loan if run is not None else None
        lent = loan if loan is not None and loan.holds(*named) else None
        of = (*named, run is not None, lent is not None)
        if self._bench is None or self._of != of or isinstance(command, OpenWhatIf):
            lender: Lender = lent or WorkspaceLender(*named, self._measurer_for, free=run is None)
            self._bench, self._of = Bench(lender, task_key), of
        return self._bench

    def _measurer_for(self, platform: Platform, config: MeasureConfig) -> Measurer:
        """Kept warm between what-ifs: its first start takes seconds, a worker of it milliseconds."""
        wanted = (platform.target_json, platform.device, config)
        if self._measurer is None or self._measures != wanted:
            if self._measurer is not None:
                self._measurer.close()
            self._measurer, self._measures = measurer_for(platform, config), wanted
        return self._measurer
