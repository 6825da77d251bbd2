"""Sketches to search, with the domains a CPU trace has."""

from itertools import product

from tcl_core.domain import Decision, DecisionDomain, DecisionKind, Sketch


def factorisations(extent: int, parts: int) -> tuple[Decision, ...]:
    """Every ordered factorisation of the extent into that many factors."""
    if parts == 1:
        return ((extent,),)
    return tuple(
        (factor, *rest)
        for factor in range(1, extent + 1)
        if extent % factor == 0
        for rest in factorisations(extent // factor, parts - 1)
    )


def tile(extent: int, parts: int = 4) -> DecisionDomain:
    return DecisionDomain(instruction=0, kind=DecisionKind.TILE, values=factorisations(extent, parts))


def category(count: int) -> DecisionDomain:
    return DecisionDomain(instruction=0, kind=DecisionKind.CATEGORY, values=tuple((i,) for i in range(count)))


def location(*loops: int) -> DecisionDomain:
    return DecisionDomain(instruction=0, kind=DecisionKind.LOCATION, values=tuple((loop,) for loop in loops))


def sketch(*domains: DecisionDomain, index: int = 0, task_key: str = "task") -> Sketch:
    return Sketch(task_key=task_key, index=index, trace_json="[[], []]", domains=domains)


def convolution(index: int = 0) -> Sketch:
    """About 2e8 candidates: the sampling instructions of a convolution on a CPU."""
    return sketch(tile(64), tile(56), tile(48), tile(36, 2), category(4), location(-2, -1, 0, 1, 5), index=index)


def everything(one: Sketch) -> set[tuple[Decision, ...]]:
    return set(product(*(domain.values for domain in one.domains)))
