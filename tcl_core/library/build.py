"""Best records applied to a fused module, and the whole network built; and the same network as stock TVM builds it."""

from __future__ import annotations

import contextlib
import io
import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, s_tir, te
from tvm.relax.frontend.onnx.onnx_frontend import ONNXGraphImporter
from tvm.s_tir import meta_schedule
from tvm.s_tir.schedule import Trace
from tvm.target import Target
from tvm.tirx import PrimFunc

from tcl_core.cuda_compiler import use_quick_compiler
from tcl_core.domain import Record, Task
from tcl_core.errors import UserError
from tcl_core.libraries import LibraryTask
from tcl_core.llvm_pipeline import LLVM_PIPELINE
from tcl_core.onnx_names import names_as_identifiers
from tcl_core.own_operators import read_module
from tcl_core.tvm_import import import_intrinsics_of

_SCHEDULED = "tirx.is_scheduled"
"""Attribute that `MetaScheduleApplyDatabase` gives to the functions it replaced; not those whose record silently does
not apply."""

_CUDA_CONFIG = {"relax.backend.use_cuda_graph": True}
"""Kernels in a row are launched as one: of a small network's time most is launching them one by one."""

_REPLAY_ERRORS = (RuntimeError, ValueError, TypeError, KeyError, IndexError)
"""What a trace that does not fit its module raises, primitive by primitive."""


@dataclass(frozen=True, kw_only=True)
class BuiltLibrary:
    """A compiled network; belongs to the process that made it.

    Attributes:
        executable: `tvm.runtime.Executable`; its function "main" takes the network's inputs in order.
        tasks: what each task runs, in the order given.
    """

    executable: Any
    tasks: tuple[LibraryTask, ...]


def build_tuned(
    module: Any, target_json: str, records: Mapping[str, Sequence[Record]], tasks: Sequence[Task]
) -> BuiltLibrary:
    """Build a fused module with the first record of each task that applies.

    Args:
        module: fused relax `IRModule`, whose functions `tasks` were extracted from.
        records: by task key, fastest first; failures and records without a trace count as none.

    Raises:
        UserError: TVM cannot compile the network for this target.
    """
    target = Target(json.loads(target_json))
    database = meta_schedule.database.MemoryDatabase()
    usable = {task.key: [one for one in records.get(task.key, ()) if _usable(one)] for task in tasks}
    places = {task.key: _commit_first(database, task, usable[task.key], target) for task in tasks}
    keys = _keys(module)
    with target, database, tvm.transform.PassContext(opt_level=3):
        scheduled = relax.transform.MetaScheduleApplyDatabase()(module)
    applied = {key for name, key in keys.items() if _SCHEDULED in (scheduled[name].attrs or ())}
    return BuiltLibrary(
        executable=_compile(_schedule_rest(scheduled, target), target),
        tasks=tuple(_used(task, usable[task.key], places[task.key] if task.key in applied else None) for task in tasks),
    )


def _used(task: Task, records: Sequence[Record], place: int | None) -> LibraryTask:
    known = LibraryTask(key=task.key, name=task.name, weight=task.weight, latency_s=None)
    if place is not None:
        return replace(known, latency_s=records[place].latency_s, passed_over=place)
    if not records:
        return replace(known, fallback="no record that ran")
    several = f"its {len(records)} best records no longer apply"
    return replace(known, fallback=several if len(records) > 1 else "its best record no longer applies")


def _usable(record: Record) -> bool:
    return record.failure is None and bool(record.trace_json) and bool(record.latencies_s)


def build_untuned(models: Sequence[Callable[[], Any]], fold: Callable[[Any], Any], target_json: str) -> Any:
    """Stock TVM's executable: its frontend, its zero pipeline, no records.

    Args:
        models: give `onnx.ModelProto`s of the same network to try in turn, the one as it was opened first.
        fold: computes a relax module's constants. The pipeline compiles a kernel for each: of a pyramid of pools as
            PyTorch writes it 75 s, where the same constants take one (Zen 4).

    Raises:
        UserError: none can be imported and compiled.
    """
    target = Target(json.loads(target_json))
    for model in models[:-1]:
        # What the frontend cannot import is tried in simplified form next: there is no stock TVM for it.
        with contextlib.suppress(Exception):
            return _build_stock(model(), fold, target)
    try:
        return _build_stock(models[-1](), fold, target)
    except UserError:
        raise
    except Exception as error:
        raise UserError("library", f"Stock TVM cannot import the network ({error}); untuned is left out.") from error


def _build_stock(model: Any, fold: Callable[[Any], Any], target: Any) -> Any:
    with _quiet(), target, tvm.transform.PassContext(opt_level=3), names_as_identifiers():
        quiet = relax.transform.LegalizeOps({"relax.take": _quiet_take})(fold(_imported(model)))
        module = relax.get_pipeline("zero")(quiet)
    return _compile(_schedule_rest(module, target), target)


def _imported(model: Any) -> Any:
    """What TVM's `from_onnx` makes of a model, which would have it checked once more, as one message: of a model of
    1.2 GB that takes 17 s (Zen 4), and one of more than 2 GB is none.
    """
    opset = next((entry.version for entry in model.opset_import if entry.domain in {"", "ai.onnx"}), 1)
    return ONNXGraphImporter(None, "float32", sanitize=True).from_onnx(model.graph, opset)


def _quiet_take(builder: Any, call: Any) -> Any:
    """TVM's program for a `take`, without its warning on stderr that an index out of bounds reads anywhere.

    That is how stock TVM imports `Gather`; it can go when it warns no more (TVM 0.27).
    """
    data, indices = call.args
    if call.attrs.mode != "fast" or call.attrs.axis is None or not isinstance(indices.ty, relax.TensorType):
        return call.op.get_attr("FLegalize")(builder, call)
    axis = int(call.attrs.axis) % int(data.ty.ndim)

    def take(values: Any, places: Any) -> Any:
        end = axis + len(places.shape)
        shape = [*values.shape[:axis], *places.shape, *values.shape[axis + 1 :]]
        return te.compute(shape, lambda *at: values(*at[:axis], places(*at[axis:end]), *at[end:]), name="T_take")

    return builder.call_te(take, data, indices, primfunc_name_hint="take")


def _commit_first(database: Any, task: Task, records: Sequence[Record], target: Any) -> int | None:
    """Put the first record into the database that applies; its place, None where none does."""
    return next((place for place, record in enumerate(records) if _commit(database, task, record, target)), None)


def _commit(database: Any, task: Task, record: Record, target: Any) -> bool:
    """Put a record into the database, unless its trace does not apply (any more)."""
    if "Tensorize" in record.trace_json:
        import_intrinsics_of(target)
    # Each its own: a schedule may write into the module it is made from (`space.recipes.Recipe.spoils`).
    module, scheduled = (read_module(task.module_json) for _ in range(2))
    schedule = s_tir.Schedule(scheduled, seed=1, debug_mask="none", error_render_level="none")
    try:
        Trace.apply_json_to_schedule(json.loads(record.trace_json), schedule)
    except _REPLAY_ERRORS:
        return False
    workload = database.commit_workload(module)
    arguments = meta_schedule.arg_info.ArgInfo.from_entry_func(module, remove_preproc=False)
    database.commit_tuning_record(
        meta_schedule.database.TuningRecord(
            schedule.trace, workload, [float(latency) for latency in record.latencies_s], target, arguments
        )
    )
    return True


def _keys(module: Any) -> dict[str, str]:
    """Task keys of a module's functions by name: before any is scheduled, as TVM 0.27 may write into them then."""
    normalize = tvm_ffi.get_global_func("tvm.s_tir.meta_schedule.normalize_mod")
    return {
        str(variable.name_hint): f"{tvm_ffi.structural_hash(normalize(function)) & 0xFFFF_FFFF_FFFF_FFFF:016x}"
        for variable, function in module.functions_items()
        if isinstance(function, PrimFunc)
    }


def _schedule_rest(module: Any, target: Any) -> Any:
    """A GPU cannot run unscheduled functions: give them dlight's default schedules. A CPU runs them as they are."""
    if str(target.kind.name) != "cuda":
        return module
    from tvm.s_tir import dlight

    rules = dlight.gpu
    with target:
        return dlight.ApplyDefaultSchedule(
            rules.Matmul(), rules.GEMV(), rules.Reduction(), rules.GeneralReduction(), rules.Fallback()
        )(module)


def _compile(module: Any, target: Any) -> Any:
    config: dict[str, Any] = {}
    if str(target.kind.name) == "cuda":
        use_quick_compiler()
        config = _CUDA_CONFIG
    try:
        with target, tvm.transform.PassContext(opt_level=3, config=config):
            return tvm.compile(module, target, tir_pipeline=LLVM_PIPELINE)
    except Exception as error:
        # Code generation fails as any of TVM's exceptions, and for cuda as the compiler's own.
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = (lines[-1] if lines else type(error).__name__)[:200].rstrip(".")
        raise UserError(
            "library", f"TVM cannot compile the network for {target} ({reason}); choose another target."
        ) from error


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """The frontend prints failing nodes and warns of every renamed input."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
