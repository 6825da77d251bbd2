"""What a watcher asks about the library of a tuned network, and about reports of runs, and what it is told.

Commands name the workspace and the network and go the same way as those of `events`; all are frozen and picklable, and
nothing heavy is imported.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tcl_core.config import LibraryConfig
from tcl_core.events import Event, LibraryCommand
from tcl_core.libraries import LibraryReport


@dataclass(frozen=True, kw_only=True)
class VerifyLibrary(LibraryCommand):
    """Command: build the tuned library and check its results against onnxruntime's."""

    config: LibraryConfig = field(default_factory=LibraryConfig)


@dataclass(frozen=True, kw_only=True)
class TimeLibrary(LibraryCommand):
    """Command: the same, and time it side by side with untuned TVM and onnxruntime."""

    config: LibraryConfig = field(default_factory=LibraryConfig)


@dataclass(frozen=True, kw_only=True)
class ExportLibrary(LibraryCommand):
    """Command: the same, and write the bundle into the folder `out`."""

    out: str
    config: LibraryConfig = field(default_factory=LibraryConfig)


@dataclass(frozen=True, kw_only=True)
class WriteReport(LibraryCommand):
    """Command: write the HTML report of a run to the file `out`.

    Attributes:
        run: its number in the workspace; None for the newest run of the network.
        library: checked and timed since; shown where the run itself has none.
    """

    out: str
    run: int | None = None
    library: LibraryReport | None = None


@dataclass(frozen=True, kw_only=True)
class LibraryDone(Event):
    """A command was carried out, with this result. `network`: the name, which a command may leave to the workspace."""

    command: LibraryCommand
    network: str
    report: LibraryReport


@dataclass(frozen=True, kw_only=True)
class LibraryStopped(Event):
    """A command was stopped; nothing was written."""


@dataclass(frozen=True, kw_only=True)
class ReportWritten(Event):
    """The report of a run lies in the file `path`."""

    path: str
    run: int
