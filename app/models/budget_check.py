"""Whether a run's budget suffices, in one sentence, before the run: trials against tasks, and the time they take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from PySide6.QtCore import QObject, Signal

from app.models import quantities
from app.models.checkpoint_table import CheckpointTableModel
from app.models.run_request import RunRequest
from app.models.run_state import RunState
from app.models.task_table import TaskTableModel
from app.translation import tr
from tcl_core.config import FEW_TRIALS

_KNOWN_AFTER_S = 10.0
"""A run's pace is told from this many seconds on: its first round compiles with cold workers."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One sentence; `enough` is false where some task would stay untuned, or nearly so."""

    sentence: str
    enough: bool = True


class BudgetCheck(QObject):
    """Judges requests by the tasks on screen and by the pace of earlier runs of this network in its workspace.

    Signals:
        changed: what it judges by is another.
    """

    changed = Signal()

    def __init__(
        self, run: RunState, tasks: TaskTableModel, checkpoints: CheckpointTableModel, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._run, self._tasks, self._checkpoints = run, tasks, checkpoints
        tasks.modelReset.connect(self.changed)
        tasks.choice_changed.connect(self.changed)
        checkpoints.modelReset.connect(self.changed)

    def judge(self, request: RunRequest) -> Verdict:
        """The sentence for a request; empty while no network is open."""
        states = self._tasks.chosen
        if self._run.opened is None or not states:
            return Verdict(sentence="")
        limits = dict(self._tasks.task_trials)
        untried = [state.task for state in states if not state.trials]
        short = [task.name for task in untried if limits.get(task.key, FEW_TRIALS) < FEW_TRIALS]
        if short:
            return Verdict(sentence=_too_small(short), enough=False)
        if len(limits) == len(states) and (request.trials is None or request.trials > sum(limits.values())):
            request = replace(request, trials=sum(limits.values()))
        return self._judge_whole(request, len(untried) * FEW_TRIALS)

    def _judge_whole(self, request: RunRequest, least: int) -> Verdict:
        """The budget of the whole run against the trials that all untried tasks need at least."""
        each = _each(least)
        paces = tuple(self._paces(request))
        span = _span(request, paces)
        if request.trials is not None and request.trials < least:
            return Verdict(
                sentence=tr(
                    "With {trials}, tasks stay nearly untuned: {each}.",
                    trials=quantities.trials(request.trials),
                    each=each,
                ),
                enough=False,
            )
        if request.minutes is not None and paces:
            return _judge_minutes(request.minutes, least, each, max(paces), min(paces))
        if request.minutes is None and request.trials is None:
            return Verdict(sentence=tr("No limit: the run goes on until no task promises a gain."))
        if request.minutes is None:
            return Verdict(sentence=tr("Enough: {each}{span}.", each=each, span=span))
        known = "" if paces or not least else tr("; how long that takes is known after a first run")
        return Verdict(sentence=f"{each[0].upper()}{each[1:]}{known}.")

    def _paces(self, request: RunRequest) -> Iterator[float]:
        """Trials a second of earlier runs of the network on this target and with these threads, newest last."""
        opened, listing = self._run.opened, self._checkpoints.listing
        for past in listing.runs if listing else ():
            same = opened is not None and past.digest == opened.network.digest
            alike = (past.config.target, past.config.threads) == (request.target, request.threads)
            if same and alike and past.trials and past.seconds and past.seconds >= _KNOWN_AFTER_S:
                yield past.trials / past.seconds


def _too_small(short: Sequence[str]) -> str:
    """Tasks whose own budget is next to nothing: the names of a few, and how many more."""
    names = ", ".join(short[:2]) + (tr(" and {count} more", count=len(short) - 2) if len(short) > 2 else "")
    return tr(
        "The budget of {names} is next to nothing: allow {least} trials or more, or take the tick away.",
        names=names,
        least=FEW_TRIALS,
    )


def _each(least: int) -> str:
    if not least:
        return tr("every task has been measured already")
    if least == FEW_TRIALS:
        return tr("the only untried task needs {least}", least=quantities.trials(least))
    return tr("{each} trials for every untried task are {least:,}", each=FEW_TRIALS, least=least)


def _span(request: RunRequest, paces: tuple[float, ...]) -> str:
    if request.trials is None or not paces:
        return ""
    low_s, high_s = request.trials / max(paces), request.trials / min(paces)
    if request.trials == 1:
        return tr(", and 1 takes about {clock_range} here", clock_range=quantities.clock_range(low_s, high_s))
    return tr(
        ", and {trials:,} take about {clock_range} here",
        trials=request.trials,
        clock_range=quantities.clock_range(low_s, high_s),
    )


def _judge_minutes(minutes: float, least: int, each: str, fast: float, slow: float) -> Verdict:
    few, many = round(60 * minutes * slow), round(60 * minutes * fast)
    span, most = quantities.clock(60 * minutes), quantities.trials(many)
    if not many:
        begun = tr("{minutes} measures hardly one trial here", minutes=span)
    else:
        expected = most if few == many else tr("{few:,} to {many}", few=few, many=most)
        begun = tr("{minutes} measures about {expected} here", minutes=span, expected=expected)
    if many < least:
        wanted = quantities.clock(least / fast)
        return Verdict(
            sentence=tr("{begun}, and {each}: allow {wanted} or more.", begun=begun, each=each, wanted=wanted),
            enough=False,
        )
    return Verdict(sentence=f"{begun}; {each}.")
