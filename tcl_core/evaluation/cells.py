"""Finished cells of the tables as JSON files: an interrupted evaluation goes on where it was.

A cell is one training or more: one row of one table under one seed. Its folder is named by a digest of everything its
value depends on (the dataset, the settings, the code that computes it), so that what is found there is never stale.
Processes that fill one table side by side claim each cell before they begin it.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tcl_core.cost_model.base import EpochReport
from tcl_core.destinations import in_place_of
from tcl_core.errors import UserError
from tcl_core.events import CancelToken
from tcl_core.store.lock import Locked, WriterLock

_PACKAGE = Path(__file__).parents[1]
_LOOK_S = 0.5
"""How often a process with nothing left to do looks whether the others are done."""

Value = dict[str, Any]
"""A cell's figures: JSON, finite numbers only."""

Tell = Callable[[EpochReport | str], None]
"""What a cell says while it is worked on: a pass of a training, or a few words. An `EpochWatch`, too."""

Work = Callable[[str, int, Tell], Value]


@dataclass(frozen=True, kw_only=True)
class CellProgress:
    """How far a table is.

    Attributes:
        done, total: cells of this table.
        resumed: the cell was found finished.
        epoch: the pass of the training that is running; None between passes.
        words: what else is being done.
        waiting: every cell that is not finished is another process's.
    """

    table: str
    row: str
    seed: int
    done: int
    total: int
    resumed: bool = False
    epoch: EpochReport | None = None
    words: str = ""
    waiting: bool = False


Watch = Callable[[CellProgress], None]


class CellFolder:
    """The cells of one table. Written one by one, each atomically."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, row: str, seed: int) -> Value | None:
        """A finished cell; None where there is none, or where the file does not hold it any more."""
        try:
            found = json.loads(self._path(row, seed).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        known = isinstance(found, dict) and (found.get("row"), found.get("seed")) == (row, seed)
        return found.get("value") if known else None

    def write(self, row: str, seed: int, value: Value) -> None:
        """Keep a finished cell.

        Raises:
            UserError: the folder cannot be written.
        """
        path = self._path(row, seed)
        text = json.dumps({"row": row, "seed": seed, "value": value}, allow_nan=False)
        try:
            with in_place_of(path) as whole:
                whole.write_text(text, encoding="utf-8")
        except OSError as error:
            raise self._refusal(error) from error

    @contextmanager
    def claim(self, row: str, seed: int) -> Iterator[bool]:
        """Whether the cell is this process's to do, within the block. A process that dies leaves its claims.

        Raises:
            UserError: the folder cannot be written.
        """
        path = self._path(row, seed).with_suffix(".lock")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = WriterLock(path)
        except Locked:
            yield False
            return
        except OSError as error:
            raise self._refusal(error) from error
        try:
            yield True
        finally:
            lock.release()

    def _refusal(self, error: OSError) -> UserError:
        sentence = f"A finished cell cannot be kept in {self.folder} ({error.strerror}); make room there and go on."
        return UserError("evaluate", sentence)

    def _path(self, row: str, seed: int) -> Path:
        name = re.sub(r"[^\w.+ -]", lambda sign: f"%{ord(sign[0]):02x}", row)  # no two rows share a file
        return self.folder / f"{name}-{seed}.json"


def run_cells(
    folder: CellFolder,
    table: str,
    rows: Sequence[str],
    seeds: Sequence[int],
    work: Work,
    watch: Watch,
    cancel: CancelToken,
) -> dict[tuple[str, int], Value]:
    """Every (row, seed), seed by seed, so that an early end has whole columns; what is finished is not done again.

    What another process has claimed is left to it, and waited for at the end.

    Raises:
        Interrupted: `cancel` was stopped; finished cells are kept.
    """
    values: dict[tuple[str, int], Value] = {}
    left = deque((row, seed) for seed in seeds for row in rows)
    total, passed_over = len(left), 0
    while left:
        cancel.checkpoint()
        row, seed = left.popleft()
        told = CellProgress(table=table, row=row, seed=seed, done=len(values), total=total)
        watch(told)
        value, resumed = _filled(folder, told, work, watch)
        if value is not None:
            passed_over = 0
            values[row, seed] = value
            watch(replace(told, done=len(values), resumed=resumed))
            continue
        left.append((row, seed))
        passed_over += 1
        if passed_over >= len(left):
            watch(replace(told, waiting=True))
            time.sleep(_LOOK_S)
    return values


def _filled(folder: CellFolder, told: CellProgress, work: Work, watch: Watch) -> tuple[Value | None, bool]:
    """A cell's value, computed if nobody has, and whether it was found; no value where another process is at it."""
    row, seed = told.row, told.seed
    if (value := folder.read(row, seed)) is not None:
        return value, True
    with folder.claim(row, seed) as mine:
        if not mine:
            return None, False
        # Whoever had the claim may have finished since.
        if (value := folder.read(row, seed)) is not None:
            return value, True
        value = work(row, seed, _teller(told, watch))
        folder.write(row, seed, value)
        return value, False


def digest_of(settings: Mapping[str, Any], code: Sequence[str]) -> str:
    """SHA-256 (hex) over frozen dataclasses and plain values by name, and over code by path below `tcl_core`."""
    plain = {
        name: asdict(value) if hasattr(value, "__dataclass_fields__") else value for name, value in settings.items()
    }
    hashed = hashlib.sha256(json.dumps(plain, sort_keys=True, default=str).encode())
    for path in _files(code):
        hashed.update(path.relative_to(_PACKAGE).as_posix().encode())
        hashed.update(_meaning(path).encode())
    return hashed.hexdigest()


def _files(code: Sequence[str]) -> Iterator[Path]:
    for name in code:
        place = _PACKAGE / name
        yield from sorted(place.glob("**/*.py")) if place.is_dir() else [place]


def _meaning(path: Path) -> str:
    """A module without its comments, layout and docstrings, those of constants too: rewording must not cost hours."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [each for each in node.body if not _is_text(each)] or [ast.Pass()]
    return ast.dump(tree)


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _teller(told: CellProgress, watch: Watch) -> Tell:
    def tell(what: EpochReport | str) -> None:
        watch(replace(told, words=what) if isinstance(what, str) else replace(told, epoch=what))

    return tell
