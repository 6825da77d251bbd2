"""A trace applied step by step: the same program, and who made which loop."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
import tvm_ffi

from tcl_core.config import NetworkConfig
from tcl_core.domain import Platform, Replay, Task
from tcl_core.errors import UserError
from tcl_core.inspection.commands import make_view
from tcl_core.inspection.stepping import step_through
from tcl_core.inspection.tensor_ir import link_lines, opened_names
from tcl_core.schedule_events import PlaceKind, ScheduleView
from tcl_core.search.population import DecisionSpace
from tcl_core.space.design_space import DesignSpace
from tcl_core.tuner import open_network
from tests.tcl_core.conftest import CUDA_TARGET
from tests.tcl_core.inspection.conftest import record, replays


@pytest.fixture(scope="module")
def view(matmul_task: Task, cpu_platform: Platform, matmul_replays: list[Replay]) -> ScheduleView:
    replay = matmul_replays[0]
    stepped = step_through(matmul_task.module_json, replay.trace_json)
    return make_view(record(replay, "p", 1e-3), matmul_task, cpu_platform, 1e-3, stepped)


def names(view: ScheduleView, kind: PlaceKind) -> list[str]:
    return [place.name for place in view.places if place.kind is kind]


def test_stepping_gives_the_program_that_was_measured(matmul_task: Task, matmul_replays: list[Replay]) -> None:
    for replay in matmul_replays:
        stepped = step_through(matmul_task.module_json, replay.trace_json)
        assert tvm_ffi.structural_equal(stepped.module, tvm.ir.load_json(replay.module_json))


def test_a_replay_that_differs_is_noted(
    matmul_task: Task, cpu_platform: Platform, matmul_replays: list[Replay]
) -> None:
    first, second = matmul_replays[:2]
    stepped = step_through(matmul_task.module_json, first.trace_json)
    odd = make_view(record(second, "p", 1e-3), matmul_task, cpu_platform, None, stepped)
    assert "another program" in odd.note


def test_the_tree_holds_every_loop_and_block(view: ScheduleView) -> None:
    assert not view.note
    blocks = names(view, PlaceKind.BLOCK)
    assert {"T_matmul_init", "T_matmul_update"} <= set(blocks)
    assert names(view, PlaceKind.PARALLEL)
    assert names(view, PlaceKind.VECTORISED)
    assert all(place.parent < number for number, place in enumerate(view.places))
    update = next(place for place in view.places if place.name == "T_matmul_update")
    assert update.writes == ("T_matmul[v_ax0, v_ax1]",)
    assert "a[v_ax0, v_k]" in update.reads


def test_a_split_loop_remembers_its_tile(view: ScheduleView, matmul_replays: list[Replay]) -> None:
    tiles = [number for number, step in enumerate(view.steps) if step.name == "SamplePerfectTile"]
    reduction = tiles[-1]
    factors = matmul_replays[0].candidate.decisions[view.steps[reduction].domain]
    assert view.steps[reduction].decision == "·".join(map(str, factors))
    assert view.steps[reduction].arguments == "k into 3, the innermost ≤ 2"
    loops = [view.places[place] for place in view.steps[reduction].places]
    assert {place.name for place in loops} == {"k_0", "k_1", "k_2"}
    assert [place.extent for place in loops] == list(factors)
    for place in loops:
        assert view.steps[place.made_by].name == "Split"
        assert view.steps[place.made_by].arguments.startswith("k into ")


def test_every_decision_has_its_step(view: ScheduleView, matmul_replays: list[Replay]) -> None:
    decided = [step.domain for step in view.steps if step.domain >= 0]
    assert decided == list(range(len(matmul_replays[0].candidate.decisions)))
    assert all(step.decision for step in view.steps if step.domain >= 0)


def test_the_parallel_loop_comes_from_a_fusion(view: ScheduleView) -> None:
    parallel = next(place for place in view.places if place.kind is PlaceKind.PARALLEL)
    kinds = [view.steps[step].name for step in parallel.steps]
    assert {"SamplePerfectTile", "Split", "Reorder", "Fuse", "Parallel"} <= set(kinds)
    assert view.steps[parallel.made_by].name == "Fuse"
    assert not view.steps[parallel.made_by].postprocessing


def test_a_loop_made_beside_its_inputs_begins_there(view: ScheduleView) -> None:
    init = next(place for place in view.places if place.name.endswith("_init") and place.extent)
    assert view.steps[init.made_by].name == "DecomposeReduction"


def test_lines_name_the_places_they_are_linked_to(view: ScheduleView) -> None:
    text = view.tensor_ir
    assert not text.note
    opened = [
        index for line, places in zip(text.lines, text.places, strict=True) for index in places if opened_names(line)
    ]
    assert opened == list(range(len(view.places)))
    for line, places in zip(text.lines, text.places, strict=True):
        assert [view.places[index].name for index in places] == list(opened_names(line)) or len(places) <= 1
    store = next(number for number, line in enumerate(text.lines) if " * b[" in line)
    assert [view.places[index].name for index in text.places[store]] == ["T_matmul_update"]


def test_lines_after_a_loop_belong_to_what_is_around() -> None:
    lines = (
        "def main():",
        "    for i in range(2):",
        "        for j, k in T.grid(2, 3):",
        "            a()",
        "",
        "        b()",
        "    c()",
    )
    assert link_lines(lines) == ((), (0,), (1, 2), (2,), (), (0,), ())


def test_a_gpu_schedule_has_bound_loops_and_its_categories_reach_their_block(
    matmul_task: Task, cpu_platform: Platform
) -> None:
    space = DesignSpace(matmul_task, CUDA_TARGET)
    (replay,) = replays(space, 1)
    stepped = step_through(matmul_task.module_json, replay.trace_json)
    view = make_view(record(replay, "p", 1e-3), matmul_task, cpu_platform, None, stepped)
    assert {"blockIdx.x", "threadIdx.x"} <= {place.axis for place in view.places}
    shared = next(place for place in view.places if place.name == "a_shared")
    assert "SampleCategorical" in {view.steps[step].name for step in shared.steps}
    assert view.steps[shared.made_by].name == "CacheRead"


def test_a_foreign_trace_is_refused_in_a_sentence(matmul_task: Task) -> None:
    with pytest.raises(UserError, match="does not apply"):
        step_through(matmul_task.module_json, '[[["GetSBlock", [], ["nowhere", "main"], ["b0"]]], []]')


def test_every_task_of_a_network_can_be_shown() -> None:
    """Among them blocks that are inlined or computed at the root, whose location is no loop."""
    opened = open_network(None, "cpu", 2, NetworkConfig())
    generator = np.random.default_rng(0)
    for task in opened.tasks:
        space = DesignSpace(task, opened.platform.target_json)
        for sketch in space.sketches:
            decisions = DecisionSpace(sketch)
            results = map(space.replay, decisions.candidates(decisions.random(2, generator)))
            for replay in (result for result in results if isinstance(result, Replay)):
                stepped = step_through(task.module_json, replay.trace_json)
                assert stepped.steps[-1].postprocessing
                assert stepped.histories
