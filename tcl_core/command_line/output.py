"""Two streams: results on stdout (one JSON object with ``--json``), everything else on stderr."""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.console import Console


class Output:
    """Where a subcommand writes.

    Attributes:
        json: whether stdout holds exactly one JSON object.
        result: tables and texts for a person; on stderr when `json`.
        status: progress, notices and errors; always on stderr.
    """

    def __init__(self, *, as_json: bool) -> None:
        self.json = as_json
        self.status = Console(stderr=True, highlight=False)
        self.result = self.status if as_json else Console(highlight=False)

    def emit(self, value: dict[str, Any]) -> None:
        """The JSON object, if one was asked for."""
        if self.json:
            sys.stdout.write(json.dumps(value, allow_nan=False) + "\n")
            sys.stdout.flush()
