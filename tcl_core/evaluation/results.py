"""All tables of one evaluation: one JSON object, one Markdown text, and the files they are kept in."""

from __future__ import annotations

import datetime
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from tcl_core import __version__
from tcl_core.destinations import in_place_of
from tcl_core.errors import UserError
from tcl_core.evaluation.ceiling import Ceiling, ceiling
from tcl_core.evaluation.context import Context
from tcl_core.evaluation.tables.base import TableResult
from tcl_core.features import LAYOUT
from tcl_core.hardware.detect import detect

_ALL_TABLES: Final = "tables"
_LIBRARIES: Final = ("apache-tvm", "torch", "numpy")
_WIDE = 400
"""Characters; a Markdown row must not be broken."""


@dataclass(frozen=True, kw_only=True)
class About:
    """What the tables were computed from, when and where.

    Attributes:
        date: ISO 8601, of the day the tables were put together; finished cells may be older.
        dataset: digest.
        platforms: by the names people call them.
        train_networks, validation_networks, test_networks: by name.
        versions: of this program, its feature vocabulary and the libraries that decide figures.
    """

    date: str
    machine: str
    seeds: tuple[int, ...]
    dataset: str
    platforms: tuple[str, ...]
    train_networks: tuple[str, ...]
    validation_networks: tuple[str, ...]
    test_networks: tuple[str, ...]
    versions: tuple[tuple[str, str], ...]
    ceiling: Ceiling | None

    def to_json(self) -> dict[str, Any]:
        """The part "about" of the JSON object."""
        return {
            "date": self.date,
            "machine": self.machine,
            "seeds": list(self.seeds),
            "dataset": self.dataset,
            "platforms": list(self.platforms),
            "networks": {
                "train": list(self.train_networks),
                "validation": list(self.validation_networks),
                "test": list(self.test_networks),
            },
            "versions": dict(self.versions),
        }

    def sentences(self) -> tuple[str, ...]:
        """For the head of the tables."""
        found = [
            f"{self.date}, {self.machine}; seeds {', '.join(map(str, self.seeds))}: mean ± standard deviation.",
            f"Dataset {self.dataset[:16]}: {'; '.join(self.platforms)}.",
            f"Trained on {_listed(self.train_networks)}. Choices and early stopping: "
            f"{_listed(self.validation_networks)}. Tested on {_listed(self.test_networks)}; what "
            "choices have seen of them, the data card says.",
            "; ".join(f"{name} {number}" for name, number in self.versions) + ".",
        ]
        if self.ceiling is None:
            found.append("Nothing was measured twice, so the noise that bounds top-1 is not known.")
        else:
            direct, whose = self.ceiling.direct, "their own" if self.ceiling.own else "all the platform's"
            found.append(
                f"On the test networks a perfect ranker of a repeated measurement reaches a top-1 of "
                f"{self.ceiling.simulated} (noise drawn from {whose} {self.ceiling.repeated} records measured twice"
                + (
                    f"; {direct:.4f} on the twice-measured records of {self.ceiling.direct_tasks} tasks"
                    if direct
                    else ""
                )
                + ")."
            )
        return tuple(found)


@dataclass(frozen=True, kw_only=True)
class EvaluationResult:
    """Every table that was asked for."""

    about: About
    tables: tuple[TableResult, ...]

    def to_json(self) -> dict[str, Any]:
        """Each table by its name, with "about" and the "ceiling" of top-1."""
        found = {table.name: table.to_json() for table in self.tables}
        noise = self.about.ceiling
        return found | {"ceiling": noise.to_json() if noise else None, "about": self.about.to_json()}

    def to_markdown(self) -> str:
        """The text that stands in a repository."""
        parts = ["# Tables of the learner", *self.about.sentences()]
        for table in self.tables:
            parts += [f"## {table.title}", markdown(table.to_table())]
            parts += [*table.remarks(), "\n".join(f"- {verdict}" for verdict in table.verdicts())]
        return "\n\n".join(part for part in parts if part) + "\n"

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Both files, each atomically; the old ones survive a full disk. A table alone goes by its own name.

        Raises:
            UserError: the folder cannot be written.
        """
        stem = self.tables[0].name if len(self.tables) == 1 else _ALL_TABLES
        markdown_path, json_path = folder / f"{stem}.md", folder / f"{stem}.json"
        texts = {
            markdown_path: self.to_markdown(),
            json_path: json.dumps(self.to_json(), indent=1, allow_nan=False) + "\n",
        }
        try:
            for path, text in texts.items():
                with in_place_of(path) as whole:
                    whole.write_text(text, encoding="utf-8")
        except OSError as error:
            raise UserError(
                "evaluate",
                f"The tables cannot be written to {folder} ({error.strerror}); see to its permissions and free space, "
                "or choose another folder.",
            ) from error
        return markdown_path, json_path


def about(context: Context, seeds: Sequence[int]) -> About:
    """Facts of this evaluation; the ceiling is that of the main platform's test networks."""
    machine, split = detect(), context.split
    held_out = {network.digest for network in (*split.validation_networks, *split.test_networks)}
    return About(
        date=datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        machine=f"{machine.cpu}, {machine.cores} cores",
        seeds=tuple(seeds),
        dataset=context.dataset.digest,
        platforms=tuple(context.name(fingerprint) for fingerprint in sorted(context.dataset.platforms)),
        train_networks=tuple(one.name for one in context.dataset.networks if one.digest not in held_out),
        validation_networks=tuple(one.name for one in split.validation_networks),
        test_networks=tuple(one.name for one in split.test_networks),
        versions=(
            ("tcl-studio", __version__),
            ("features", str(LAYOUT.version)),
            *((name, version(name)) for name in _LIBRARIES),
        ),
        ceiling=ceiling(context.groups, context.platform, split.test_networks, seeds[0]),
    )


def markdown(table: Table) -> str:
    """A table whose box is Markdown's, as text."""
    console = Console(file=io.StringIO(), width=_WIDE, color_system=None)
    console.print(table)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    return "\n".join(line.strip() for line in lines if line.strip())


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "no network"
