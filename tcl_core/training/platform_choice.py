"""Which of a workspace's platforms a person means: by fingerprint, by name, or by a target as ``--target`` takes it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from tcl_core.domain import Platform
from tcl_core.errors import UserError
from tcl_core.store import Workspace

_THREADS = re.compile(r"(?P<target>.+)/(?P<threads>[1-9]\d*)")


def choose_platform(workspace: Workspace, text: str) -> Platform:
    """The platform of `workspace` that `text` means.

    Args:
        text: a fingerprint or its beginning; else ``cpu`` (this machine's), ``cpu:<llvm cpu>``, ``cuda`` or a target as
            JSON, of which a platform's target must have all members. ``/K`` after it asks for K threads. Else a name as
            lists show it, or a part of one.

    Raises:
        UserError: none of them is meant, or several are.
    """
    platforms = workspace.platforms()
    if not platforms:
        raise UserError(
            "platform", f"The workspace {workspace.path} holds no platform yet; collect into it or tune first."
        )
    exact = [one for one in platforms if one.fingerprint == text]
    found = exact or [one for one in platforms if text and one.fingerprint.startswith(text)]
    found = found or _by_target(platforms, text) or [one for one in platforms if text and text in one.name]
    if len(found) == 1:
        return found[0]
    if found:
        threads = "" if text.startswith("{") else ", or add its threads as in cpu/2"
        raise UserError(
            "platform",
            f"{text} means several platforms of the workspace {workspace.path}: {_names(found)}; choose one by its "
            f"fingerprint{threads}.",
        )
    raise UserError(
        "platform",
        f"There is no platform {text} in the workspace {workspace.path}; choose one by its name or "
        f"fingerprint: {_names(platforms)}.",
    )


def _by_target(platforms: Sequence[Platform], text: str) -> list[Platform]:
    match = None if text.startswith("{") else _THREADS.fullmatch(text)
    target, threads = (match["target"], int(match["threads"])) if match else (text, None)
    wanted = _members(target)
    return [
        one
        for one in platforms
        if wanted is not None
        and wanted.items() <= json.loads(one.target_json).items()
        and (threads is None or one.threads == threads)
    ]


def _members(target: str) -> dict[str, object] | None:
    """Members of the target dict that the text asks for; None where it is no target."""
    if target == "cpu":
        from tcl_core.hardware import detect, llvm_cpu

        return {"kind": "llvm", "mcpu": llvm_cpu.host_cpu(detect.detect())}
    if target.startswith("cpu:"):
        return {"kind": "llvm", "mcpu": target.removeprefix("cpu:")}
    if target == "cuda":
        return {"kind": "cuda"}
    try:
        parsed = json.loads(target) if target.startswith("{") else None
    except json.JSONDecodeError:
        return None
    return parsed if isinstance(parsed, dict) else None


def _names(platforms: Sequence[Platform]) -> str:
    return ", ".join(f"{one.fingerprint} ({one.name})" for one in platforms)
