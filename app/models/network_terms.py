"""What a person says of a network, sizes and numbers of its inputs, its ends: how the form writes it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from app.translation import later, tr
from tcl_core.config import NetworkConfig

Shapes = tuple[tuple[str, tuple[int, ...]], ...]
Values = tuple[tuple[str, tuple[float, ...]], ...]

_NAME = r"(?P<name>[^\s=;](?:[^=;]*[^\s=;])?)"
"""Of an input as its file has it, with blanks inside, perhaps."""
_SHAPE = re.compile(rf"(?:--shape\s+)?{_NAME}\s*=\s*(?P<given>\d+(?:\s*[,x]\s*\d+)*)")
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_VALUE = re.compile(rf"(?:--value\s+)?{_NAME}\s*=\s*(?P<given>{_NUMBER}(?:\s*,\s*{_NUMBER})*)")
_OPTION = re.compile(r"^--(?:begin|end)-at\s+")
_NO_SHAPE = later("“{part}” is no shape; write x=1,3,224,224 and “;” between inputs.")
_NO_VALUE = later("“{part}” is no value; write rate=16000 and “;” between inputs.")

_MOST = 24
"""Characters of a part that a sentence quotes: one long word would widen the form."""

AS_IN_FILE: Final = NetworkConfig()


def parse_shapes(text: str) -> Shapes:
    """Shapes as a person writes them: ``x=1,3,224,224; mask=1x128``.

    Raises:
        ValueError: one sentence on the part that is no shape.
    """
    return tuple((name, tuple(map(int, re.findall(r"\d+", sizes)))) for name, sizes in _read(text, _SHAPE, _NO_SHAPE))


def parse_values(text: str) -> Values:
    """Values as a person writes them: ``sr=16000; mask=1,0.5``.

    Raises:
        ValueError: one sentence on the part that is no value.
    """
    return tuple((name, tuple(map(float, numbers.split(",")))) for name, numbers in _read(text, _VALUE, _NO_VALUE))


def shapes_text(shapes: Shapes) -> str:
    """What `parse_shapes` reads."""
    return "; ".join(f"{name}={','.join(map(str, sizes))}" for name, sizes in shapes)


def values_text(values: Values) -> str:
    """What `parse_values` reads."""
    return "; ".join(f"{name}={','.join(f'{number:.17g}' for number in numbers)}" for name, numbers in values)


def parse_tensors(text: str) -> tuple[str, ...]:
    """Names of tensors as a person writes them, each once: ``boxes; scores``.

    A semicolon without a blank behind it is part of a name: networks that were TFLite's have such ones.
    """
    parts = (_OPTION.sub("", part.strip()).strip() for part in re.split(r";(?:\s+|$)", text))
    return tuple(dict.fromkeys(filter(None, parts)))


def tensors_text(names: Iterable[str]) -> str:
    """What `parse_tensors` reads."""
    return "; ".join(names)


def _read(text: str, pattern: re.Pattern[str], refusal: str) -> list[tuple[str, str]]:
    """Names and what is given for them, as texts."""
    found = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        match = pattern.fullmatch(part)
        if match is None:
            raise ValueError(tr(refusal, part=part if len(part) <= _MOST else f"{part[: _MOST - 1]}…"))
        found.append((match["name"], match["given"]))
    return found
