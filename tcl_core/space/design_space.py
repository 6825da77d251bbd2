"""The design space of one task: its sketches, and the replay of a candidate into a schedule ready to compile."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import tvm
import tvm_ffi
from tvm.s_tir import Schedule, meta_schedule

from tcl_core.batches import ScheduleBatch
from tcl_core.domain import Candidate, Decision, Failure, Replay, Sketch, Stage, Task
from tcl_core.own_operators import read_module
from tcl_core.space.domains import find_domains
from tcl_core.space.recipes import Recipe, recipes_of
from tcl_core.space.sharing import may_stay_alone
from tcl_core.space.traces import read_decisions, trace_json, with_decisions
from tcl_core.thread_limits import thread_limits
from tcl_core.tvm_import import import_intrinsics_of


@dataclass(frozen=True, kw_only=True)
class Scheduled:
    """A candidate replayed and postprocessed, still in TVM's hands; what a `Replay` is written from.

    Attributes:
        candidate: with the decisions read back from the replayed trace (replay may silently change them).
        schedule: its module is ready to compile.
    """

    candidate: Candidate
    schedule: Schedule

    @property
    def structural_hash(self) -> str:
        """As in `Replay`."""
        # The 64-bit hash is the same in every process; unsigned, so that the text is.
        return f"{tvm_ffi.structural_hash(self.schedule.mod) & (2**64 - 1):016x}"

    def replay(self) -> Replay:
        """Written down for other processes and for the record."""
        return Replay(
            candidate=self.candidate,
            module_json=tvm.ir.save_json(self.schedule.mod),
            trace_json=trace_json(self.schedule.trace),
            structural_hash=self.structural_hash,
        )


class DesignSpace:
    """Sketches of one task on one target, and replay. Holds TVM objects; belongs to one thread, which may have others
    replay for it.

    Attributes:
        task: the task.
        sketches: in MetaSchedule's order, which depends on the task and the target only.
    """

    def __init__(self, task: Task, target_json: str, *, stock: bool = False) -> None:
        """With `stock`, all kernels with sums have MetaSchedule's own spaces: see `recipes_of`."""
        target = tvm.target.Target(json.loads(target_json))
        import_intrinsics_of(target)  # a `TuneContext` imports those of all targets otherwise
        self.task = task
        self._module = read_module(task.module_json)
        context = meta_schedule.TuneContext(
            mod=self._module,
            target=target,
            space_generator="post-order-apply",
            task_name=task.name,
            # The seed decides the generated traces' own decisions only, which are the base for probing locations.
            rand_state=1,
            num_threads=1,
        )
        self._context = context
        threads = int(target.attrs.get("num-cores", 1))
        alone = not stock and may_stay_alone(task, threads)
        self._recipes = recipes_of(context, threads, stock=stock, alone=alone)
        self.sketches: tuple[Sketch, ...] = tuple(self._sketch(index) for index in range(len(self._recipes)))

    def _sketch(self, index: int) -> Sketch:
        recipe = self._recipes[index]

        def read_back(decisions: Sequence[Decision]) -> tuple[Decision, ...] | None:
            schedule = self._apply(recipe, decisions)
            return None if schedule is None else read_decisions(schedule.trace)

        domains = find_domains(recipe.trace, read_back)
        text = trace_json(recipe.trace, decisions=False)
        return Sketch(
            task_key=self.task.key,
            index=index,
            trace_json=text,
            domains=recipe.narrow(domains),
            limits=thread_limits(text),
        )

    def _apply(self, recipe: Recipe, decisions: Sequence[Decision], module: Any = None) -> Schedule | None:
        if module is None:
            module = read_module(self.task.module_json) if recipe.spoils else self._module
        schedule = Schedule(module, seed=1, debug_mask="none", error_render_level="none")
        try:
            with_decisions(recipe.trace, decisions).apply_to_schedule(schedule, remove_postproc=True)
        except (RuntimeError, ValueError):
            return None  # a primitive does not apply under these decisions: the candidate is illegal
        return schedule

    def schedule(self, candidate: Candidate, module: Any = None) -> Scheduled | Failure:
        """Replay and postprocess a candidate, to look at it. A rejected one is a failure of stage replay.

        Args:
            module: the task's, the one that the space holds if None.
        """
        if not 0 <= candidate.sketch < len(self._recipes):
            return Failure(stage=Stage.REPLAY, cause="of a sketch that is not there")
        recipe = self._recipes[candidate.sketch]
        schedule = self._apply(recipe, candidate.decisions, module)
        if schedule is None:
            return Failure(stage=Stage.REPLAY, cause="a primitive does not apply")
        replayed = Candidate(candidate.task_key, candidate.sketch, read_decisions(schedule.trace))
        schedule.enter_postproc()
        if not recipe.arrange(schedule):
            return Failure(stage=Stage.REPLAY, cause="its rows cannot be shared out to threads")
        for postprocessor in recipe.postprocs:
            if not postprocessor.apply(schedule):
                return Failure(stage=Stage.REPLAY, cause=f"rejected by {_name(postprocessor)}")
        return Scheduled(candidate=replayed, schedule=schedule)

    def replay(self, candidate: Candidate) -> Replay | Failure:
        """As `schedule`, written down (about 8 ms a call in all)."""
        return self._written(self.schedule(candidate))

    def _written(self, result: Scheduled | Failure) -> Replay | Failure:
        return result if isinstance(result, Failure) else result.replay()

    def replay_all(self, candidates: Sequence[Candidate]) -> list[Replay | Failure]:
        """Each replayed in a thread of its own: TVM lets go of Python's lock meanwhile (at most 13 ms of the 114 ms of
        a CUDA kernel's replay went by before another thread had its turn). And on a module of its own, as in
        MetaSchedule's search: nothing says that schedules of one may be made side by side.
        """
        if len(candidates) < 2:
            return [self.replay(candidate) for candidate in candidates]

        def replay(candidate: Candidate) -> Replay | Failure:
            return self._written(self.schedule(candidate, read_module(self.task.module_json)))

        with ThreadPoolExecutor(len(candidates), thread_name_prefix="replay") as threads:
            return list(threads.map(replay, candidates))

    def replays(self, candidates: Iterable[Candidate]) -> list[Replay]:
        """Those that still replay, in their order; the sketches may be another version's than the candidates'."""
        results = map(self.replay, candidates)
        return [result for result in results if not isinstance(result, Failure)]

    def schedules(self, candidates: Sequence[Candidate]) -> tuple[ScheduleBatch, tuple[int, ...]]:
        """What MetaSchedule's own cost models read, and which of the candidates are legal (by index)."""
        measurable: list[Any] = []
        legal: list[int] = []
        for index, candidate in enumerate(candidates):
            result = self.schedule(candidate)
            if isinstance(result, Failure):
                continue
            schedule = result.schedule
            arguments = meta_schedule.arg_info.ArgInfo.from_entry_func(schedule.mod, remove_preproc=True)
            measurable.append(meta_schedule.MeasureCandidate(schedule, arguments))
            legal.append(index)
        return ScheduleBatch(context=self._context, candidates=measurable), tuple(legal)


def _name(postprocessor: object) -> str:
    return type(postprocessor).__name__
