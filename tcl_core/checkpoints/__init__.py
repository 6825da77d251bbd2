"""Wiring: what a checkpoint says of itself, which ones a workspace has, which ship, and which one a run starts from.

Nothing heavy is imported here: listing checkpoints needs neither torch nor TVM.
"""

from tcl_core.checkpoints.file import CheckpointFile, describe, save_stamped, stamp, write_stamped
from tcl_core.checkpoints.origin import Origin, lineage_after
from tcl_core.checkpoints.start import Start, choose_start, load_start

__all__ = [
    "CheckpointFile",
    "Origin",
    "Start",
    "choose_start",
    "describe",
    "lineage_after",
    "load_start",
    "save_stamped",
    "stamp",
    "write_stamped",
]
