"""Names of files in a workspace, made of names that a person or a network chose."""

from __future__ import annotations

import re


def file_name(name: str) -> str:
    """A file name made of `name`: separators and other special characters become "_"; never empty, never hidden."""
    safe = re.sub(r"[^\w.\-]", "_", name)
    return f"_{safe[1:]}" if not safe or safe.startswith(".") else safe
