"""What a person fixes of a network's inputs, dimensions and numbers, and how the form writes it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.translation import later, tr
from tcl_core.domain import Network

Shapes = tuple[tuple[str, tuple[int, ...]], ...]
Values = tuple[tuple[str, tuple[float, ...]], ...]

_NAME = r"(?P<name>[^\s=;](?:[^=;]*[^\s=;])?)"
"""Of an input as its file has it, with blanks inside, perhaps."""
_SHAPE = re.compile(rf"(?:--shape\s+)?{_NAME}\s*=\s*(?P<given>\d+(?:\s*[,x]\s*\d+)*)")
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_VALUE = re.compile(rf"(?:--value\s+)?{_NAME}\s*=\s*(?P<given>{_NUMBER}(?:\s*,\s*{_NUMBER})*)")
_NO_SHAPE = later("“{part}” is no shape; write x=1,3,224,224 and “;” between inputs.")
_NO_VALUE = later("“{part}” is no value; write rate=16000 and “;” between inputs.")


@dataclass(frozen=True, kw_only=True)
class FixedInputs:
    """Dimensions and numbers by input name; they belong to one network."""

    shapes: Shapes = ()
    values: Values = ()


NOTHING_FIXED = FixedInputs()


def fixed_of(network: Network) -> FixedInputs:
    """What a network was opened with."""
    return FixedInputs(shapes=network.shapes, values=network.values)


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


def _read(text: str, pattern: re.Pattern[str], refusal: str) -> list[tuple[str, str]]:
    """Names and what is given for them, as texts."""
    found = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        match = pattern.fullmatch(part)
        if match is None:
            raise ValueError(tr(refusal, part=part))
        found.append((match["name"], match["given"]))
    return found
