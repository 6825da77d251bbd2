"""What a built module holds, function by function, for who compares two of them."""

from __future__ import annotations

import re
from typing import Any

CONVERSIONS = {"__truncsfhf2", "__extendhfsf2"}
"""From and to half floats: TVM adds them to every module."""


def functions(runtime_module: Any) -> dict[str, str]:
    """The instructions of each function of an LLVM module, without labels and what the assembler alone reads."""
    text = str(runtime_module.inspect_source("asm"))
    bodies = re.findall(r"^([\w$.]+):[^\n]*\n(.*?)^\.Lfunc_end", text, re.MULTILINE | re.DOTALL)
    return {name: re.sub(r"^\s*\.\w+.*\n|\.L\w+|#.*$", "", body, flags=re.MULTILINE) for name, body in bodies}
