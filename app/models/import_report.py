"""Columns of the import report's two tables: what the network is made of, and what the import noticed, by node."""

from __future__ import annotations

from app.models.row_table import Column
from app.translation import later
from tcl_core.domain import ImportIssue

OPERATOR_COLUMNS: tuple[Column[tuple[str, int]], ...] = (
    Column(later("Operator"), later("ONNX operator"), lambda row: row[0]),
    Column(
        later("Nodes"),
        later("How often the network uses it"),
        lambda row: f"{row[1]:,}",
        lambda row: row[1],
        numeric=True,
    ),
)
ISSUE_COLUMNS: tuple[Column[ImportIssue], ...] = (
    Column(later("Node"), later("Name of the node in the ONNX file"), lambda row: row.node or "–"),
    Column(later("Operator"), later("ONNX operator of the node"), lambda row: row.operator or "–"),
    Column(later("Noticed"), later("What the import noticed"), lambda row: row.problem),
    Column(later("What to do"), later("How to mend it"), lambda row: row.mend),
)
