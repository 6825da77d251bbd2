"""Small valid values of every kind that a workspace keeps."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import tcl_core
from tcl_core.domain import (
    Access,
    Candidate,
    DecisionDomain,
    DecisionKind,
    Failure,
    LoopAxis,
    Network,
    Platform,
    PlatformFeatures,
    Rationale,
    Record,
    Sketch,
    Source,
    Stage,
    Task,
    TensorSpec,
)
from tcl_core.store import Workspace
from tcl_core.store.record_table import compress
from tcl_core.store.schema import STEPS, migrate
from tcl_core.store.workspace import DATABASE

ROOT = Path(tcl_core.__file__).parents[1]


def platform(fingerprint: str = "cafe01", **changes: object) -> Platform:
    values: dict[str, object] = {
        "fingerprint": fingerprint,
        "name": "A CPU, 2 threads",
        "kind": "llvm",
        "target_json": '{"kind": "llvm", "mcpu": "znver5", "num-cores": 2}',
        "threads": 2,
        "runnable": True,
        "features": PlatformFeatures(
            cores=2, vector_bits=512, l1_bytes=1, l2_bytes=2, l3_bytes=3, peak_flops=1.5e11, bandwidth_bytes_s=2.5e10
        ),
    }
    return Platform(**(values | changes))  # type: ignore[arg-type]


def network(digest: str = "d1", **changes: object) -> Network:
    values: dict[str, object] = {
        "name": "net",
        "path": "/models/net.onnx",
        "digest": digest,
        "inputs": (TensorSpec(name="x", dtype="float32", shape=(1, 3, 8, 8)),),
        "outputs": (TensorSpec(name="y", dtype="float32", shape=()),),
        "shapes": (("x", (1, 3, 8, 8)),),
    }
    return Network(**(values | changes))  # type: ignore[arg-type]


def task(key: str = "a1", **changes: object) -> Task:
    values: dict[str, object] = {
        "key": key,
        "name": f"fused_{key}",
        "weight": 3,
        "module_json": '{"root_index": 1, "nodes": ["' + key + '"]}',
        "flops": 1.25e9,
        "bytes_moved": 3.0e6,
        "dtype": "float32",
        "axes": (LoopAxis(extent=64, kind="spatial"), LoopAxis(extent=512, kind="reduce")),
        "arguments": (TensorSpec(name="a", dtype="float32", shape=(64, 512)),),
        "anchor": "matmul",
        "accesses": (Access(bytes=4.0, spans=(((0, 1.0), (1, 0.5)), ((1, 1.0),))),),
    }
    return Task(**(values | changes))  # type: ignore[arg-type]


def sketch(task_key: str = "a1", index: int = 0, **changes: object) -> Sketch:
    values: dict[str, object] = {
        "task_key": task_key,
        "index": index,
        "trace_json": '[[["SamplePerfectTile",["l0"],[2,64],["v1","v2"]],["SampleCategorical",[],[[0,16],[0.5,0.5]],'
        f'["v3"]],["Annotate",["b0",{index}],["x"],[]]],[]]',
        "domains": (
            DecisionDomain(instruction=0, kind=DecisionKind.TILE, values=((1, 64), (2, 32), (64, 1))),
            DecisionDomain(instruction=1, kind=DecisionKind.CATEGORY, values=((0,), (1,)), literals=(0.0, 16.0)),
        ),
    }
    return Sketch(**(values | changes))  # type: ignore[arg-type]


def record(number: int = 0, *, task_key: str = "a1", on: str = "cafe01", **changes: object) -> Record:
    values: dict[str, object] = {
        "candidate": Candidate(task_key, 0, ((number, 64), (1,))),
        "platform": on,
        "trace_json": '[[["EnterPostproc",[],[],[]]],[]]',
        "structural_hash": f"{number:x}",
        "latencies_s": (0.003, 0.001, 0.002),
        "failure": None,
        "rationale": Rationale(score=0.5, representativeness=0.1, diversity=None, uncertainty=1.0),
        "cut_off": False,
        "source": Source.SEARCH,
        "round": 1,
        "measured_at": 1.7e9 + number,
    }
    return Record(**(values | changes))  # type: ignore[arg-type]


def failed(number: int, **changes: object) -> Record:
    failure = Failure(stage=Stage.COMPILE, cause="timeout", message="20 s")
    return record(number, latencies_s=(), failure=failure, **changes)  # type: ignore[arg-type]


def furnish(workspace: Workspace) -> None:
    """A platform, and a network with tasks a1, b2, so that records and runs find what they refer to."""
    workspace.add_platform(platform())
    workspace.add_network(network(), (task("a1"), task("b2", weight=1)))


def an_old_workspace(folder: Path, records: int = 1) -> None:
    """A workspace of schema 1, as its version wrote it."""
    folder.mkdir(exist_ok=True)
    connection = sqlite3.connect(folder / DATABASE, isolation_level=None)
    migrate(connection, STEPS[:1])
    connection.execute("INSERT INTO platforms VALUES ('cafe01', 'n', 'llvm', '{}', 2, 1, '{}')")
    connection.execute("INSERT INTO tasks VALUES ('a1', ?, 1, 1, 'float32', '[]', '[]', 'm')", (compress("{}"),))
    connection.execute(
        "INSERT INTO records VALUES (1, 'a1', 'cafe01', 0, '[[1,64],[1]]', 0.002, '[0.001, 0.003]', NULL, NULL, NULL, "
        "0.5, 0.1, NULL, 1.0, 0, 1, 1700000000, '0', ?)",
        (compress("[[],[]]"),),
    )
    connection.execute(
        "WITH RECURSIVE numbers (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM numbers LIMIT ?) "
        "INSERT INTO records SELECT n, task_key, platform, n, decisions, latency_s, latencies_s, NULL, NULL, NULL, "
        "0.5, 0.1, NULL, 1.0, 0, 1, measured_at, '0', trace_json FROM records, numbers WHERE id = 1",
        (records - 1,),
    )
    connection.close()


def child(code: str, *arguments: object) -> subprocess.Popen[str]:
    """A Python process that runs `code` with `sys.argv[1:] == arguments` and can import the sources and these."""
    prelude = f"import sys; sys.path[:0] = [{str(ROOT)!r}, {str(Path(__file__).parent)!r}]\n"
    return subprocess.Popen(
        [sys.executable, "-c", prelude + code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
