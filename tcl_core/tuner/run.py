"""A run: rounds of search -> select -> measure -> learn until the budget or the expected gain is used up."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path

import numpy as np

from tcl_core.checkpoints import Start, choose_start, load_start
from tcl_core.config import RunConfig
from tcl_core.cost_model import make_cost_model
from tcl_core.cost_model.base import CostModel
from tcl_core.domain import Record, RecordCount, Stage, TaskState
from tcl_core.errors import Interrupted, UserError
from tcl_core.events import (
    CancelToken,
    Event,
    Finished,
    GainsExpected,
    LibraryBuilt,
    Notice,
    PhaseChanged,
    Progress,
    RecordMeasured,
    RoundFinished,
    RunStarted,
)
from tcl_core.features import LAYOUT, platform_features
from tcl_core.hardware.target import resolve_platform
from tcl_core.libraries import LibraryReport
from tcl_core.measure import Measurer
from tcl_core.search.progress import estimate_eta
from tcl_core.search.scheduler import Choice, TaskScheduler
from tcl_core.selection import make_sampler
from tcl_core.store import Workspace
from tcl_core.tuner.ahead import choose_ahead
from tcl_core.tuner.clock import RunClock
from tcl_core.tuner.export import build_library, usual_folder
from tcl_core.tuner.lesson import is_due, lesson
from tcl_core.tuner.loan import RunLoan
from tcl_core.tuner.measuring import measurer_for, rank_correlation
from tcl_core.tuner.opening import Opened, enter_workspace, open_on, read_network, require_runnable
from tcl_core.tuner.relatives import Relative, StoredRelative, stored_relatives
from tcl_core.tuner.starting import RunModel, note_run, run_origin, start_notice
from tcl_core.tuner.step import Prepared, Step, make_spaces
from tcl_core.tuner.summary import estimate_s, remarks
from tcl_core.tuner.task_limits import TaskLimits, by_key
from tcl_core.tuner.task_work import Earlier, TaskWork, affordable

_NO_EXPORT = "No C compiler was found, so nothing was exported; install gcc or the ziglang package, then run export."

_RESIDENT = 1 << 16
"""Records kept in memory beyond those of the tasks at work; 3 kB each. A workspace may hold millions."""


class Tuner:
    """One run. `events` does the work and yields what a watcher is told; the cancel token may be used from any thread.

    Attributes:
        trials, failed: of this run.
        loan: what it lends between its rounds and in a pause; None before the first round.
    """

    def __init__(self, config: RunConfig, cancel: CancelToken, opened: Opened | None = None) -> None:
        self.config, self.cancel = config, cancel
        self.trials = self.failed = 0
        self.loan: RunLoan | None = None
        self._opened = opened
        self._clock = RunClock(config.budget, cancel)
        self._limits = TaskLimits(config.budget)
        self._generator = np.random.default_rng(config.seed)
        self._sampler = make_sampler(config.sampler)
        self._works: dict[str, TaskWork] = {}
        self._relatives: tuple[StoredRelative, ...] = ()
        self._ahead: tuple[Prepared, ...] = ()
        self._rounds = 0
        self._unlearned = 0
        self._lessons = 0
        self._newest: str | None = None
        self._lesson_s = 0.0
        self._start = Start(path=None)

    def events(self) -> Iterator[Event]:
        """Run to the end.

        Raises:
            UserError: bad input, or a platform this machine cannot measure.
            Interrupted: the token was stopped; every record is committed, and what the model has learned is saved.
        """
        config = self.config
        yield PhaseChanged(stage=Stage.IMPORT, detail="reading the network")
        with self.cancel.abandonable():
            loaded = self._opened.loaded if self._opened else read_network(config.network, config.network_config)
            platform = self._opened.platform if self._opened else resolve_platform(config.target, config.threads)
        require_runnable(platform, "tune")
        # From here on TVM loads in the measurer's process, while the network is imported and the first round searched.
        with measurer_for(platform, config.measure) as measurer:
            with self.cancel.abandonable():
                opened = self._opened or open_on(loaded, platform, config.network_config)
            self._limit_tasks(opened)
            with Workspace.open(Path(config.workspace)) as workspace:
                yield from self._tune(workspace, opened, measurer)

    def _tune(self, workspace: Workspace, opened: Opened, measurer: Measurer) -> Iterator[Event]:
        self._choose_start(workspace, opened)
        opened = enter_workspace(workspace, opened)
        run_id, resumed = self._begin(workspace, opened, measurer.workers)
        yield opened.event()
        yield self._started(run_id, opened, resumed)
        reason = "failed"
        library: LibraryReport | None = None
        try:
            reason = yield from self._rounds_on(workspace, opened, measurer)
            measurer.close()
            yield PhaseChanged(stage=Stage.LIBRARY, detail="building, checking and timing the library")
            out = usual_folder(workspace, opened)
            library = build_library(workspace, opened, self.config.library, self.cancel, out)
            workspace.note_library(run_id, library)
            yield LibraryBuilt(report=library)
            if library.path is None:
                yield Notice(sentence=_NO_EXPORT)
        except Interrupted:
            reason = "stopped"
            raise
        finally:
            seconds = self._clock.seconds_by_stage
            workspace.finish_run(run_id, reason, self.trials, self.failed, self._clock.elapsed_s, seconds)
        yield self.finished(reason, library)

    def _limit_tasks(self, opened: Opened) -> None:
        """From here on the budgets of single tasks are by key, and bound the run where every task has one."""
        budget = by_key(self.config.budget, opened.tasks, self.config.include)
        self.config = replace(self.config, budget=budget)
        self._limits = TaskLimits(budget)
        tuned = self.config.include or tuple(task.key for task in opened.tasks)
        self._clock.budget = self._limits.bounded(budget, tuned)

    def _choose_start(self, workspace: Workspace, opened: Opened) -> None:
        """From here on `config.checkpoint` names what the cost model really starts from."""
        self._start = choose_start(workspace, opened.platform, self.config.cost_model.name, self.config.checkpoint)
        self.config = replace(self.config, checkpoint=self._start.text)

    def _begin(self, workspace: Workspace, opened: Opened, workers: int) -> tuple[int, int]:
        """Take earlier records out of the workspace and note the run: (run id, number of earlier records)."""
        context = platform_features(opened.platform)
        chosen = [task for task in opened.tasks if not self.config.include or task.key in self.config.include]
        if not chosen:
            raise UserError("network", f"{opened.imported.network.name} has no task to tune; nothing was selected.")
        search = affordable(self.config.search, self._model)
        digest, fingerprint = opened.imported.network.digest, opened.platform.fingerprint
        counts = workspace.record_counts(fingerprint)
        for task in chosen:
            earlier = Earlier(
                count=counts.get(task.key, RecordCount()),
                read=partial(workspace.records, task_key=task.key, platform=fingerprint, traces=False),
                keep=partial(workspace.add_sketches, fingerprint),
            )
            self._works[task.key] = TaskWork(task, opened.platform.target_json, context, search, earlier, workers)
        self._relatives = stored_relatives(workspace, fingerprint, chosen, counts)
        run_id = note_run(workspace, self.config, self._start, digest, fingerprint)
        return run_id, sum(work.state.trials for work in self._works.values())

    def _started(self, run_id: int, opened: Opened, resumed: int) -> RunStarted:
        return RunStarted(
            run_id=run_id,
            config=self.config,
            network=opened.imported.network,
            platform=opened.platform,
            states=tuple(self._states()),
            resumed_records=resumed,
        )

    @cached_property
    def _model(self) -> CostModel:
        return make_cost_model(self.config.cost_model, LAYOUT, self.config.seed)

    def _rounds_on(self, workspace: Workspace, opened: Opened, measurer: Measurer) -> Generator[Event, None, str]:
        """All rounds; returns why they ended."""
        self._clock.begin_rounds()
        model, platform = self._model, opened.platform
        load_start(model, self._start, platform)
        self._scheduler = TaskScheduler(self.config.scheduler, platform.features.peak_flops, taught=model.trained)
        path = workspace.checkpoint_path(platform.fingerprint, model.name)
        kept = RunModel(model, path, run_origin(self._start, platform))
        yield from start_notice(self._start)
        if not self._start.own and any(work.state.trials for work in self._works.values()):
            # Its checkpoint has not seen what earlier runs measured here.
            yield PhaseChanged(stage=Stage.LEARN, detail="earlier records")
            with self._clock.stage(Stage.LEARN):
                self._learn()
        self.loan = RunLoan(workspace, platform, self._works, model, measurer, lambda: (self._rounds, self._lessons))
        while True:
            self.cancel.checkpoint()
            reason = self._clock.ended(self.trials)
            if reason is not None:
                break
            yield GainsExpected(gains_s=tuple(self._scheduler.expected_gains_s(self._states()).items()))
            rounds, self._ahead = self._ahead, ()
            if not rounds:
                choice = self._scheduler.next(self._states(), self._limits.spent)
                if choice is None:
                    reason = "no expected gain" if self._scheduler.next(self._states()) is None else "task trials"
                    break
                yield PhaseChanged(stage=Stage.SEARCH, task_key=choice.task_key)
                with self._clock.stage(Stage.SEARCH):
                    rounds = self._prepare([choice])
            try:
                yield from self._step(Step(rounds, self._rounds), measurer, workspace, opened)
            finally:  # a stop does not cost the lesson that a step had while it compiled
                kept.keep(self._lessons, self._states())
        if self._unlearned and (not self._lessons or self._lesson_due()):
            with self._clock.stage(Stage.LEARN):
                self._learn()
            kept.keep(self._lessons, self._states())
        yield from remarks(list(self._works.values()))
        return reason

    def _states(self) -> list[TaskState]:
        return [work.state for work in self._works.values()]

    def _prepare(self, choices: Sequence[Choice], taken: int = 0) -> tuple[Prepared, ...]:
        """Search and select while there are trials and time, at least once; `taken` of the run's trials are in use."""
        rounds: list[Prepared] = []
        make_spaces([self._works[choice.task_key] for choice in choices])
        for choice in choices:
            if rounds and self._clock.ended(self.trials + taken) is not None:
                break
            rounds.append(self._search(choice, taken))
            taken += len(rounds[-1].chosen)
        return tuple(rounds)

    def _search(self, choice: Choice, taken: int) -> Prepared:
        start = time.perf_counter()
        work = self._works[choice.task_key]
        count = self._count(choice, taken)
        chosen = work.propose(count, self._model, self._sampler, self._generator, self.cancel, self._lenders())
        self._limits.take(choice.task_key, len(chosen))
        return Prepared(
            task_key=choice.task_key,
            chosen=tuple(chosen),
            mapped=work.take_map(),
            search_s=time.perf_counter() - start,
        )

    def _look_ahead(self, step: Step, workers: int) -> None:
        """While the current step compiles: learn what the last one showed, and prepare the next."""
        taken = sum(step.counts.values())
        choices = choose_ahead(self._scheduler, self._states(), self._limits.spent, step.counts, workers)
        if not choices or self._clock.ended(self.trials + taken) is not None:
            return
        if self._lesson_due():
            self._learn()
        self._ahead = self._prepare(choices, taken)

    def _step(self, step: Step, measurer: Measurer, workspace: Workspace, opened: Opened) -> Iterator[Event]:
        """Measure what was chosen of some tasks, round by round."""
        yield self._progress()
        for number, prepared in step.numbered():
            if prepared.mapped is not None:
                yield replace(prepared.mapped, round=number)
        last = step.rounds[-1]
        for prepared in step.rounds:
            if not prepared.chosen:
                yield from self._close_round(prepared, [], is_last=prepared is last)
        if step.counts:
            yield PhaseChanged(stage=Stage.COMPILE, task_key=next(iter(step.counts)))
            # Closed here where the run breaks off: some may still compile, and the measurer is not to go before them.
            with closing(self._measure(step, measurer, opened)) as measured:
                for prepared in (each for each in step.rounds if each.chosen):
                    # Not one more than the round's own: what is timed is told and stored at once.
                    own = measured if prepared is last else islice(measured, len(prepared.chosen))
                    records = yield from self._taken(own, prepared.task_key, workspace)
                    if records:
                        yield from self._close_round(prepared, records, is_last=prepared is last)
        self._let_go()

    def _taken(
        self, found: Iterable[Record], task_key: str, workspace: Workspace
    ) -> Generator[Event, None, list[Record]]:
        """A round's records, stored, lent and told of as they come."""
        records: list[Record] = []
        timing = False
        for record in found:
            if not timing and (record.failure is None or record.failure.stage is Stage.MEASURE):
                timing = True  # all that can be is compiled before any of it is timed
                yield PhaseChanged(stage=Stage.MEASURE, task_key=task_key)
            records.append(record)
            if not workspace.add_record(record):
                continue  # a person measured it while it waited: it is a record already, and told of
            self._works[task_key].add_records([record])
            self.trials += 1
            self.failed += record.failure is not None
            yield RecordMeasured(record=record)
            yield self._progress()
        return records

    def _close_round(self, prepared: Prepared, records: Sequence[Record], *, is_last: bool) -> Iterator[Event]:
        """The end of a round; after a step's last one a lesson, when enough is new and nothing is prepared already."""
        work = self._works[prepared.task_key]
        work.close_round(exhausted=not prepared.chosen)
        self._unlearned += len(records)
        self._newest = prepared.task_key
        if is_last and not self._ahead and self._lesson_due():
            yield PhaseChanged(stage=Stage.LEARN, task_key=prepared.task_key)
            with self._clock.stage(Stage.LEARN):
                self._learn()
        yield RoundFinished(
            round=self._rounds,
            state=work.state,
            rank_correlation=rank_correlation(records),
            search_s=prepared.search_s,
            learn_s=self._lesson_s,
        )
        self._lesson_s = 0.0
        self._rounds += 1

    def _let_go(self) -> None:
        """Keep the memory bounded, however many records the workspace holds."""
        if sum(work.resident for work in self._works.values()) > _RESIDENT:
            at_work = {self._newest, *(prepared.task_key for prepared in self._ahead)}
            for key, work in self._works.items():
                if work.resident and key not in at_work:
                    work.forget()

    def _lenders(self) -> list[Relative]:
        """Tasks with a success, of this run and of other networks in the workspace."""
        return [*(work for work in self._works.values() if work.state.best_s is not None), *self._relatives]

    def _count(self, choice: Choice, taken: int) -> int:
        """Candidates of this round: what the scheduler wants, as far as the budget goes."""
        limits = (choice.count, self._clock.trials_left(self.trials + taken), self._limits.left.get(choice.task_key))
        return min(limit for limit in limits if limit is not None)

    def _measure(self, step: Step, measurer: Measurer, opened: Opened) -> Generator[Record, None, None]:
        """Compile, look ahead meanwhile, and time; ends early when the minutes are over."""
        start, timed = self._clock.elapsed_s, 0.0
        requests = step.requests({key: work.state.best_s for key, work in self._works.items()})
        with measurer.compiling(requests, self.cancel) as batch:
            held_s = self.cancel.held_s
            self._look_ahead(step, measurer.workers)
            if not self.trials:
                self._model.warm_up()  # while the workers start
            waited = self._clock.waited_s(batch.compiled_at, held_s)
            for record, result in step.records(batch.results(), opened.platform):
                timed += result.run_s / batch.devices
                self._clock.note_trial()
                yield record
                if self._clock.out_of_time():
                    break
        self._clock.add(Stage.MEASURE, timed)
        self._clock.add(Stage.SEARCH, waited)
        self._clock.add(Stage.COMPILE, max(0.0, self._clock.elapsed_s - start - timed - waited))

    def _lesson_due(self) -> bool:
        return is_due(self._unlearned, self._states(), trained=self._model.trained)

    def _learn(self) -> None:
        start = time.perf_counter()
        self._unlearned = 0
        groups = lesson(self._works, self._newest, self._model, self._generator)
        if groups:
            self._model.fit(groups, self.cancel)
            self._lessons += 1
        self._lesson_s += time.perf_counter() - start

    def _progress(self) -> Progress:
        fraction, low, high = estimate_eta(
            self._clock.elapsed_s, self.trials, self._clock.budget, self._clock.trial_seconds
        )
        return Progress(
            trials=self.trials,
            failed=self.failed,
            elapsed_s=self._clock.elapsed_s,
            fraction=fraction,
            eta_low_s=low,
            eta_high_s=high,
            candidates_scored=self._scored(),
            estimate_s=estimate_s(list(self._works.values())),
        )

    def _scored(self) -> int:
        return sum(work.scored for work in self._works.values())

    def finished(self, reason: str, library: LibraryReport | None = None) -> Finished:
        """How it stands, as its last event says it."""
        return Finished(
            reason=reason,
            trials=self.trials,
            failed=self.failed,
            seconds=self._clock.elapsed_s,
            seconds_by_stage=self._clock.seconds_by_stage,
            candidates_scored=self._scored(),
            library=library,
        )
