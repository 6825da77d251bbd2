"""Generated source: what is linked, and what is honestly not."""

from __future__ import annotations

import json
from dataclasses import replace

import tvm
from tvm import te

from tcl_core.domain import Candidate, Platform, Replay, Task
from tcl_core.inspection import tree
from tcl_core.inspection.source import generate, read_assembly, read_cuda, read_llvm
from tcl_core.network.quantization.byte_products import multiply
from tcl_core.schedule_events import Language, Place, PlaceKind
from tcl_core.space.design_space import DesignSpace
from tests.tcl_core.conftest import CUDA_TARGET
from tests.tcl_core.inspection.conftest import replays
from tests.tcl_core.space.kernel_tasks import task_of


def loop(name: str, extent: int = 4, kind: PlaceKind = PlaceKind.SERIAL) -> Place:
    return Place(parent=-1, kind=kind, name=name, extent=extent)


def test_a_cpu_schedule_gives_llvm_ir_and_assembly(cpu_platform: Platform, matmul_replays: list[Replay]) -> None:
    module = tvm.ir.load_json(matmul_replays[0].module_json)
    nodes = tree.nodes(module["main"])
    places = [
        tree.place(node, parent, str(getattr(node, "name_hint", "") or node.loop_var.name)) for parent, node in nodes
    ]
    llvm, assembly = generate(module, cpu_platform, places)
    assert (llvm.language, assembly.language) == (Language.LLVM, Language.ASSEMBLY)
    assert len(llvm.lines) == len(llvm.places) and len(assembly.lines) == len(assembly.places)
    (parallel,) = [number for number, place in enumerate(places) if place.kind is PlaceKind.PARALLEL]
    assert llvm.places[llvm.start + 2] == (parallel,)
    assert any(here == (parallel,) for here in assembly.places)
    assert not any("!dbg" in line for line in llvm.lines) and not any(".loc" in line for line in assembly.lines)


def test_products_of_bytes_are_shown_as_the_instruction_that_was_timed(cpu_platform: Platform) -> None:
    target = json.dumps({"kind": "llvm", "mcpu": "cascadelake", "num-cores": 2})
    words, kernel = te.placeholder((8, 4), "int32", name="words"), te.placeholder((2, 4, 16), "int32", name="kernel")
    space = DesignSpace(task_of("bytes", [words, kernel, multiply(words, kernel, "uint8")]), target)
    (sketch, *_) = space.sketches
    replay = space.replay(Candidate("bytes", sketch.index, tuple(domain.values[0] for domain in sketch.domains)))
    assert isinstance(replay, Replay)
    _, assembly = generate(tvm.ir.load_json(replay.module_json), replace(cpu_platform, target_json=target), ())
    assert any("vpdpbusd" in line for line in assembly.lines)


def test_labels_link_blocks_of_llvm_ir() -> None:
    source = (
        "define internal fastcc i32 @main_compute_(ptr %a) {\nentry:\n  br\n"
        "for_body_i:   ; preds\n  load, !dbg !3\nfor_body_j2.preheader.1:\n  store\nfor_end_twice:\n  ret\n}\n!3 = x"
    )
    text = read_llvm(source, [loop("i"), loop("j"), loop("twice"), loop("twice")])
    assert text.places == ((), (), (), (0,), (0,), (1,), (1,), (), (), ())
    assert text.lines[4] == "  load"


def test_digits_of_a_label_are_never_guessed() -> None:
    text = read_llvm("define x {\nfor_body_i_12:\n  a\n}", [loop("i_1"), loop("i_")])
    assert text.places == ((), (), (), ())


def test_assembly_links_only_what_the_threads_run() -> None:
    source = (
        "main_compute_:\n\tcall\n\t.size\tx\n.L__tvm_parallel_lambda:\n.Ltmp1:\n\t.loc\t1\n.LBB4_2:\n\tadd\n"
        "\t.size\ty\n__truncsfhf2:\n\tret\n\t.section\t.debug_info\n\tjunk"
    )
    text = read_assembly(source, [loop("p", kind=PlaceKind.PARALLEL)])
    assert text.lines == (
        "main_compute_:",
        "\tcall",
        "\t.size\tx",
        ".L__tvm_parallel_lambda:",
        ".LBB4_2:",
        "\tadd",
        "\t.size\ty",
        "__truncsfhf2:",
        "\tret",
    )
    assert text.places == ((), (), (), (0,), (0,), (0,), (), (), ())
    two = read_assembly(source, [loop("p", kind=PlaceKind.PARALLEL), loop("q", kind=PlaceKind.PARALLEL)])
    assert not any(two.places)


def test_cuda_loops_are_linked_by_name_and_extent() -> None:
    source = (
        "void main_kernel() {\n  for (int k_0 = 0; k_0 < 6; ++k_0) {\n    for (int j = 0; j < 3; ++j) {\n      x;\n"
        "    }\n    y;\n  }\n  z;\n}"
    )
    text = read_cuda(source, [loop("k_0", 6), loop("j", 4)])
    assert text.places == ((), (0,), (), (), (), (0,), (0,), (), ())


def test_a_gpu_schedule_gives_cuda_source_without_a_gpu(matmul_task: Task, cpu_platform: Platform) -> None:
    (replay,) = replays(DesignSpace(matmul_task, CUDA_TARGET), 1)
    platform = replace(cpu_platform, kind="cuda", target_json=CUDA_TARGET)
    (text,) = generate(tvm.ir.load_json(replay.module_json), platform, [])
    assert text.language is Language.CUDA
    assert "__global__" in text.lines[text.start]
