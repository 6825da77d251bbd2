"""Rounds that are searched before they are measured, and measured in one go: their candidates compile side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tcl_core.domain import Platform, Record
from tcl_core.measure.requests import MeasureRequest, MeasureResult
from tcl_core.pool_events import PoolMapped
from tcl_core.tuner.measuring import Chosen, measured_records, requests_of
from tcl_core.tuner.task_work import TaskWork


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """What to measure of a task in a round.

    Attributes:
        chosen: empty where the task has nothing new left.
        mapped: the pool it was chosen from; its round is still to be filled in.
        search_s: what searching and choosing took, in seconds.
    """

    task_key: str
    chosen: tuple[Chosen, ...]
    mapped: PoolMapped | None
    search_s: float


class Step:
    """Rounds of different tasks. Where there are more workers than a round has candidates, one alone would leave most
    of them idle.

    Attributes:
        first: the number of its first round.
        rounds: those without a candidate come first.
    """

    def __init__(self, rounds: Iterable[Prepared], first: int) -> None:
        self.rounds = tuple(sorted(rounds, key=lambda prepared: len(prepared.chosen) > 0))
        self.first = first
        self._chosen = [one for prepared in self.rounds for one in prepared.chosen]
        self._numbers = [number for number, prepared in self.numbered() for _ in prepared.chosen]

    @property
    def counts(self) -> dict[str, int]:
        """Candidates by task key, of rounds that have any."""
        return {prepared.task_key: len(prepared.chosen) for prepared in self.rounds if prepared.chosen}

    def numbered(self) -> Iterator[tuple[int, Prepared]]:
        """The rounds, each with its number in the run."""
        return enumerate(self.rounds, self.first)

    def requests(self, best_s: Mapping[str, float | None]) -> list[MeasureRequest]:
        """Of all its candidates, round by round; `best_s` as of `requests_of`."""
        return requests_of((one.replay for one in self._chosen), best_s)

    def records(self, results: Iterable[MeasureResult], platform: Platform) -> Iterator[tuple[Record, MeasureResult]]:
        """A record for each of the `requests` as its result becomes known, with the result it was made from."""
        return measured_records(self._chosen, results, platform=platform, rounds=self._numbers)


def make_spaces(works: Sequence[TaskWork]) -> None:
    """The design spaces of several tasks side by side: like replays, they are made without Python's lock mostly."""
    if len(works) < 2:
        return
    with ThreadPoolExecutor(works[0].threads, thread_name_prefix="space") as pool:
        for _ in pool.map(lambda work: work.space, works):
            pass
