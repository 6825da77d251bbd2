"""A device that no test machine has."""

from __future__ import annotations

from tcl_core.hardware.detect import CudaDevice

H200 = CudaDevice(
    name="NVIDIA H200",
    arch="sm_90",
    multiprocessors=132,
    max_threads_per_block=1024,
    max_shared_memory_per_block=49152,
    warp_size=32,
    l2_bytes=60 << 20,
)
