"""A network of a look-up and two matrix products, imported without `tcl_core.network`, and records that fit it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper

from tcl_core.domain import (
    Candidate,
    Network,
    Rationale,
    Record,
    Source,
    Task,
    TensorSpec,
)

TARGET = json.dumps({"kind": "llvm", "num-cores": 2})
ROWS, VOCABULARY, WIDTH, CLASSES = 6, 32, 16, 4


@dataclass(frozen=True)
class Imported:
    """What `make_library` needs of an imported network."""

    network: Network
    module: Any
    model: Any
    tasks: tuple[Task, ...]
    single: Any = None

    def simplified(self) -> Any:
        return self.model

    def fold(self, module: Any) -> Any:
        return module


def make_model() -> Any:
    """Ids [6] int64 -> rows of a table [32, 16] -> matrix product with ReLU -> matrix product [6, 4]."""
    generator = np.random.default_rng(0)
    shapes = {"table": (VOCABULARY, WIDTH), "first": (WIDTH, WIDTH), "second": (WIDTH, CLASSES)}
    weights = [
        onnx.numpy_helper.from_array(generator.standard_normal(shape).astype(np.float32) * 0.3, name)
        for name, shape in shapes.items()
    ]
    node = onnx.helper.make_node
    nodes = [
        node("Gather", ["table", "ids"], ["rows"]),
        node("MatMul", ["rows", "first"], ["hidden"]),
        node("Relu", ["hidden"], ["active"]),
        node("MatMul", ["active", "second"], ["classes"]),
    ]
    inputs = [onnx.helper.make_tensor_value_info("ids", onnx.TensorProto.INT64, [ROWS])]
    outputs = [onnx.helper.make_tensor_value_info("classes", onnx.TensorProto.FLOAT, [ROWS, CLASSES])]
    graph = onnx.helper.make_graph(nodes, "test", inputs, outputs, weights)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)])
    model.ir_version = 10
    return model


def split_model() -> Any:
    """A table [16, 17] in columns of 1, 8 and 8: a kernel of three results."""
    parts, value = [1, 8, 8], onnx.helper.make_tensor_value_info
    outputs = [value(f"part{at}", onnx.TensorProto.FLOAT, [16, width]) for at, width in enumerate(parts)]
    sizes = onnx.numpy_helper.from_array(np.array(parts, np.int64), "sizes")
    node = onnx.helper.make_node("Split", ["table", "sizes"], [each.name for each in outputs], axis=1)
    inputs = [value("table", onnx.TensorProto.FLOAT, [16, 17])]
    graph = onnx.helper.make_graph([node], "test", inputs, outputs, [sizes])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)])
    model.ir_version = 10
    return model


def make_task(found: Any) -> Task:
    import tvm
    import tvm_ffi

    module = found.dispatched[0]
    return Task(
        key=f"{tvm_ffi.structural_hash(module) & 0xFFFF_FFFF_FFFF_FFFF:016x}",
        name=str(found.task_name),
        weight=int(found.weight),
        module_json=tvm.ir.save_json(module),
        flops=0.0,
        bytes_moved=0.0,
        dtype="float32",
        axes=(),
        arguments=(),
        anchor="",
    )


def import_model(model: Any = None) -> Imported:
    """A network, that of `make_model` if None, as `make_library` gets it."""
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx
    from tvm.s_tir import meta_schedule
    from tvm.target import Target

    model = make_model() if model is None else model
    target = Target(json.loads(TARGET))
    with target:
        module = relax.get_pipeline("zero")(from_onnx(model))
    found = meta_schedule.relax_integration.extract_tasks(module, target, params={})
    network = Network(
        name="two products",
        path="two products.onnx",
        digest="d" * 64,
        inputs=(TensorSpec(name="ids", dtype="int64", shape=(ROWS,)),),
        outputs=(TensorSpec(name="classes", dtype="float32", shape=(ROWS, CLASSES)),),
    )
    tasks = tuple(make_task(task) for task in found)
    return Imported(network=network, module=module, model=model, tasks=tasks)


def make_record(task: Task, trace_json: str, latency_s: float = 1e-5) -> Record:
    return Record(
        candidate=Candidate(task.key, 0, ()),
        platform="f00d",
        trace_json=trace_json,
        structural_hash="",
        latencies_s=(latency_s,),
        failure=None,
        rationale=Rationale(),
        cut_off=False,
        source=Source.SEARCH,
        round=0,
        measured_at=0.0,
    )


def parallel_trace(task: Task) -> str:
    """JSON of a trace that runs the matrix product's first loop in parallel and vectorises nothing."""
    import tvm
    from tvm import s_tir

    schedule = s_tir.Schedule(tvm.ir.load_json(task.module_json), debug_mask="none")
    block = schedule.get_sblock("matmul")
    schedule.parallel(schedule.get_loops(block)[0])
    return json.dumps(schedule.trace.as_json(), default=int)
