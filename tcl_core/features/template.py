"""A sketch compiled once into a token template with slots: the fast path of the featuriser.

Shape suffixes: N candidates, T tokens, F fields, V values of a domain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tcl_core.batches import FloatArray, IntArray, Population, TokenBatch
from tcl_core.domain import Decision, DecisionDomain, DecisionKind, Sketch, Task
from tcl_core.features.context import Hardware, task_features
from tcl_core.features.loop_fields import loop_fields
from tcl_core.features.loops import Column, LoopNest
from tcl_core.features.tokens import (
    Instruction,
    literals,
    parse_trace,
    structure_fields,
    token_kind,
    write_values,
)
from tcl_core.features.vocabulary import FIELDS, MAX_TOKENS, NAMING, VALUE_FIELDS, Field

_DECIDED = slice(Field.EXTENT, VALUE_FIELDS)
"""Every field that one decision writes lies here; `POSITION` lies among them and is constant."""


@dataclass(frozen=True)
class _Slot:
    """A token that shows a decision: `rows[v]` is its fields of `_DECIDED` under value v of the domain."""

    token: int
    domain: int
    rows_VF: FloatArray


def decided_values(domain: DecisionDomain, decision: Decision) -> tuple[float, ...]:
    """The integers a token shows for a decision: tile factors, a category's literal, or a location."""
    if domain.kind is DecisionKind.CATEGORY:
        return (domain.literals[decision[0]],)
    return tuple(float(value) for value in decision)


def _values(domain: DecisionDomain) -> Column:
    """All of a domain's, float64 [V, K]: K factors of a tile, otherwise one number."""
    return np.array([decided_values(domain, decision) for decision in domain.values])


def worth_a_token(instructions: tuple[Instruction, ...]) -> list[int]:
    """Which instructions are worth a token: those that do more than name blocks, or all where none does."""
    found = [index for index, instruction in enumerate(instructions) if instruction.kind not in NAMING]
    return found or list(range(len(instructions)))


def kept_tokens(instructions: tuple[Instruction, ...]) -> list[int]:
    """Which instructions become tokens: all worth one, or of a longer trace its sampling instructions first."""
    order = sorted(worth_a_token(instructions), key=lambda index: not instructions[index].kind.startswith("Sample"))
    return sorted(order[:MAX_TOKENS])


class TokenTemplate:
    """Featurises populations of one sketch.

    Attributes:
        kinds: int32 [T].
        dropped: instructions worth a token that found no room among `MAX_TOKENS`.
    """

    def __init__(self, sketch: Sketch, task: Task, platform: FloatArray) -> None:
        """`platform`: float32 [C_platform], see `platform_features`."""
        instructions, _ = parse_trace(sketch.trace_json)
        self._instructions = instructions
        self._decided = [(instructions[domain.instruction].outputs, _values(domain)) for domain in sketch.domains]
        tokens = kept_tokens(instructions)
        self.dropped = len(worth_a_token(instructions)) - len(tokens)
        self.kinds: IntArray = np.array([token_kind(instructions[index]) for index in tokens], np.int32)
        self._task, self._platform = task, platform
        self._task_C, self._hardware = task_features(task), Hardware.told_by(platform)
        self._base_TF = np.zeros((len(tokens), FIELDS), np.float32)
        self._slots: list[_Slot] = []
        made_at: dict[str, int] = {}
        decides = {domain.instruction: index for index, domain in enumerate(sketch.domains)}
        decided_by: dict[str, int] = {}
        self._rows = rows = {index: row for row, index in enumerate(tokens)}
        for index, instruction in enumerate(instructions):
            if index in decides:
                decided_by |= dict.fromkeys(instruction.outputs, decides[index])
            if index in rows:
                base = structure_fields(instruction, index, made_at)
                self._base_TF[rows[index]] = base
                self._add_token(rows[index], instruction, decides.get(index), decided_by, sketch)
            made_at |= dict.fromkeys(instruction.outputs, index)

    def _add_token(
        self, row: int, instruction: Instruction, own: int | None, decided_by: dict[str, int], sketch: Sketch
    ) -> None:
        """A sampling instruction shows its decision, a consumer of its variables shows them, others their literals."""
        inputs = [decided_by[name] for name in instruction.inputs if isinstance(name, str) and name in decided_by]
        shown = own if own is not None else (inputs[0] if inputs else None)
        base = self._base_TF[row]
        if shown is None:
            write_values(base, literals(instruction))
            return
        domain = sketch.domains[shown]
        rows_VF = np.repeat(base[None, :], len(domain.values), axis=0)
        for value, decision in enumerate(domain.values):
            write_values(rows_VF[value], decided_values(domain, decision))
        self._slots.append(_Slot(row, shown, np.ascontiguousarray(rows_VF[:, _DECIDED])))

    def featurise(self, population: Population) -> TokenBatch:
        """Token features of a population of this sketch."""
        choices: NDArray[np.int32] = population.choices
        fields_NTF = np.empty((len(choices), *self._base_TF.shape), np.float32)
        fields_NTF[:] = self._base_TF
        for slot in self._slots:
            fields_NTF[:, slot.token, _DECIDED] = slot.rows_VF[choices[:, slot.domain]]
        if len(choices):
            self._write_loops(choices, fields_NTF)
        return TokenBatch(kinds=self.kinds, fields=fields_NTF, task=self._task_C, platform=self._platform)

    def _write_loops(self, choices: NDArray[np.int32], fields_NTF: FloatArray) -> None:
        """What several decisions make together: the loops that an instruction works on."""
        nest, factors = LoopNest(self._task), self._factors(choices)
        for index, instruction in enumerate(self._instructions):
            loops = nest.read(instruction, factors)
            if loops and index in self._rows:
                fields_NTF[:, self._rows[index], Field.KNOWN :] = loop_fields(
                    instruction.kind, loops, nest.unrolled, self._task, self._hardware
                )

    def _factors(self, choices: NDArray[np.int32]) -> dict[str, Column]:
        """What was decided, [N] by the random variable that holds it; loops are also split by a category."""
        factors: dict[str, Column] = {}
        for slot, (names, values_VK) in enumerate(self._decided):
            factors |= dict(zip(names, values_VK[choices[:, slot]].T, strict=True))
        return factors
