"""The workspace: a folder with a SQLite database in which every record is committed when it is measured."""

from tcl_core.store.checkpoint_table import CheckpointRow
from tcl_core.store.metaschedule import ExportOutcome, ImportOutcome, export_records, import_records
from tcl_core.store.run_table import INTERRUPTED, RunRow
from tcl_core.store.workspace import Workspace

__all__ = [
    "INTERRUPTED",
    "CheckpointRow",
    "ExportOutcome",
    "ImportOutcome",
    "RunRow",
    "Workspace",
    "export_records",
    "import_records",
]
