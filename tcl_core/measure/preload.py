"""What a worker needs of TVM, imported once in the nursery before anything forks.

Importing starts no thread pool and touches no device: both would be broken in a forked worker.
"""

import numpy as np
import tvm
from tvm.s_tir.meta_schedule.arg_info import ArgInfo
from tvm.s_tir.transform import RemoveWeightLayoutRewriteBlock
from tvm.target import Target
from tvm.tirx import build
from tvm_ffi.serialization import from_json_graph_str

import tcl_core.own_operators  # noqa: F401  # modules may hold them
from tcl_core.llvm_pipeline import pipeline_to_time

__all__ = [
    "ArgInfo",
    "RemoveWeightLayoutRewriteBlock",
    "Target",
    "build",
    "from_json_graph_str",
    "np",
    "pipeline_to_time",
    "tvm",
]
