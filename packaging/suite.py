"""The whole test suite in one command: style, formatting, types, then the tests. For `main.py test`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

CHECKS = (
    ("ruff check", ("ruff", "check", ".")),
    ("ruff format", ("ruff", "format", "--check", ".")),
    ("mypy", ("mypy",)),
)


def run(root: str, arguments: Sequence[str]) -> int:
    """Run everything, or only pytest when it is given arguments; pytest's status, or 1 when a check failed.

    pytest comes last, so that its summary is the last line. No test opens a window on a display.
    """
    environ = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    failures = []
    for name, command in () if arguments else CHECKS:
        _say(f"== {name}")
        if subprocess.call([sys.executable, "-m", *command], cwd=root, env=environ):
            failures.append(name)
    if failures:
        _say(f"== failed so far: {', '.join(failures)}")
    _say("== pytest")
    status = subprocess.call([sys.executable, "-m", "pytest", *arguments], cwd=root, env=environ)
    return status or (1 if failures else 0)


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
