"""What every table gives: JSON, rows for the terminal and the file, and a verdict on each of its goals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rich import box
from rich.table import Table

from tcl_core.evaluation.cells import Value
from tcl_core.evaluation.metrics import Spread

Cells = Mapping[tuple[str, int], Value]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A goal of the table and what was reached, in words."""

    goal: str
    reached: str
    met: bool

    def __str__(self) -> str:
        return f"Goal: {self.goal}. {'Met' if self.met else 'MISSED'}: {self.reached}."


class TableResult(ABC):
    """A computed table.

    Attributes:
        name: key in `tables.TABLES` and in the JSON object.
        title: heading.
    """

    name: ClassVar[str]
    title: ClassVar[str]

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The table's part of the JSON object."""

    @abstractmethod
    def to_table(self) -> Table:
        """Rows for a person."""

    @abstractmethod
    def verdicts(self) -> tuple[Verdict, ...]:
        """On each goal; empty where there is none, or where its rows were not asked for."""

    @abstractmethod
    def remarks(self) -> tuple[str, ...]:
        """How it was made, as far as a reader needs it."""


def empty_table(*headings: str) -> Table:
    """Columns with figures on the right; the box is Markdown's, so that file and terminal show the same."""
    table = Table(box=box.MARKDOWN)
    for index, heading in enumerate(headings):
        table.add_column(heading, justify="left" if index == 0 else "right", no_wrap=True)
    return table


def over_seeds(cells: Cells, row: str, seeds: Sequence[int], figure: str) -> Spread:
    """Mean and spread of one figure of a row."""
    return Spread.of([cells[row, seed][figure] for seed in seeds])


def share_name(share: float) -> str:
    """A share as the JSON object's key: "0.02", "1"."""
    return f"{share:g}"


def percent(share: float) -> str:
    """A share as a heading: "2 %"."""
    return f"{100 * share:g} %"
