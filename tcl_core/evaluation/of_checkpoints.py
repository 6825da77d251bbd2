"""How well checkpoints rank the held-out networks of each platform: one table, of a lineage the forgetting matrix.

Learning must not open records of earlier platforms, so that most of the matrix is not known when a checkpoint is saved.
It is computed here, afterwards, for whatever platforms there are records of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tcl_core.batches import FeatureBatch, Prediction, require_tokens
from tcl_core.checkpoints.shelf import Entry, ancestors, find
from tcl_core.config import LEARNED_MODEL, CostModelConfig
from tcl_core.cost_model import make_cost_model
from tcl_core.dataset import bundled_dataset_paths, merge_datasets, read_dataset
from tcl_core.domain import CheckpointKind, Platform
from tcl_core.errors import Interrupted, UserError
from tcl_core.evaluation.groups import Groups, Reads
from tcl_core.evaluation.held_out import HeldOut, held_out_in
from tcl_core.evaluation.metrics import forgetting
from tcl_core.evaluation.splits import split_tasks
from tcl_core.evaluation.training import Predict
from tcl_core.evaluation_events import (
    CheckpointsEvaluated,
    EvaluateCheckpoints,
    EvaluatedCell,
    EvaluatedCheckpoint,
    EvaluatedPlatform,
    EvaluationStep,
)
from tcl_core.events import CancelToken
from tcl_core.features import LAYOUT
from tcl_core.store import Workspace

Tell = Callable[[EvaluationStep], None]
Open = Callable[[], HeldOut]

_STOPPED = EvaluatedCell(reason="The evaluation was stopped before it came here.")


@dataclass(frozen=True, kw_only=True)
class _Ranker:
    """A checkpoint as something that ranks.

    Attributes:
        predict_on: what it deploys for a platform, by fingerprint.
        learned: fingerprints of the platforms it has learned, as far as the file names them.
    """

    predict_on: Callable[[str], Predict]
    reads: Reads
    learned: tuple[str, ...]


def evaluate_checkpoints(
    workspace: Workspace | None, command: EvaluateCheckpoints, tell: Tell, cancel: CancelToken, *, processes: int = 1
) -> CheckpointsEvaluated:
    """Every checkpoint on every platform; what cannot be ranked is an empty cell with its reason.

    Args:
        workspace: the command's, open for reading; None where there is none yet.
        processes: workers that replay candidates for cost models that read schedules.

    Raises:
        UserError: no such checkpoint, none of them can be read, no platform to rank on, or several names with a
            lineage.
    """
    entries, remarks = _rows(workspace, command)
    source, columns = _columns(workspace, command, processes)
    return _Evaluation(command, entries, columns, tell, cancel).run(source, remarks)


def _rows(workspace: Workspace | None, command: EvaluateCheckpoints) -> tuple[tuple[Entry, ...], list[str]]:
    """The checkpoints to evaluate, and what must be said of them."""
    found = tuple(find(workspace, name) for name in command.names)
    remarks: list[str] = []
    if command.lineage:
        if len(found) != 1:
            raise UserError("checkpoint", "A lineage is that of one checkpoint; name one.")
        before, missing = ancestors(workspace, found[0])
        found = (*before, *found)
        if missing:
            remarks.append(
                f"{found[0].name} went on from the checkpoint {missing[:8]}, which is not in this workspace: import it "
                "for the whole lineage."
            )
    own = [one.name for one in found if (one.origin.kind if one.origin else one.kind) == CheckpointKind.RUN]
    if own and not command.shipped:
        remarks.append(
            f"{', '.join(own)}: a run learns from every network it tunes, also from held-out ones, so that its figures "
            "flatter it."
        )
    return found, remarks


def _columns(
    workspace: Workspace | None, command: EvaluateCheckpoints, processes: int
) -> tuple[str, tuple[tuple[Platform, Open], ...]]:
    """Where the records are from, and how to open those of each platform."""
    if command.shipped:
        dataset = merge_datasets([read_dataset(path) for path in bundled_dataset_paths()])
        groups, split = Groups(dataset, processes=processes), split_tasks(dataset.networks)
        return "the dataset that ships", tuple(
            (one, partial(HeldOut, platform=one, groups=groups, split=split)) for one in dataset.platforms.values()
        )
    if workspace is None or not workspace.platforms():
        raise UserError(
            "checkpoint",
            "This workspace has no records to rank yet: tune a network in it, or evaluate on the dataset that ships.",
        )
    return f"the workspace {workspace.path.name}", tuple(
        (one, partial(held_out_in, workspace, one, processes=processes)) for one in workspace.platforms()
    )


class _Evaluation:
    """One table, filled column by column, so that each platform's features are built once."""

    def __init__(
        self,
        command: EvaluateCheckpoints,
        entries: Sequence[Entry],
        columns: Sequence[tuple[Platform, Open]],
        tell: Tell,
        cancel: CancelToken,
    ) -> None:
        self._command, self._entries, self._columns = command, entries, columns
        self._tell, self._cancel = tell, cancel
        self._cells: dict[tuple[int, int], EvaluatedCell] = {}
        self._heads = [EvaluatedPlatform(platform=platform) for platform, _ in columns]

    def run(self, source: str, remarks: Sequence[str]) -> CheckpointsEvaluated:
        rankers = [_open(entry, self._command.cost_model) for entry in self._entries]
        reasons = [ranker for ranker in rankers if isinstance(ranker, str)]
        if reasons and len(reasons) == len(rankers):
            raise UserError("checkpoint", reasons[0])
        stopped = False
        try:
            for j, (platform, opening) in enumerate(self._columns):
                self._fill(j, platform, opening, rankers)
        except Interrupted:
            stopped = True
        rows = tuple(self._row(i, ranker) for i, ranker in enumerate(rankers))
        return CheckpointsEvaluated(
            workspace=self._command.workspace,
            source=source,
            lineage=self._command.lineage,
            platforms=tuple(self._heads),
            rows=rows,
            forgetting=_forgotten(rows, self._columns) if self._command.lineage else None,
            remarks=tuple(remarks),
            stopped=stopped,
        )

    def _fill(self, j: int, platform: Platform, opening: Open, rankers: Sequence[_Ranker | str]) -> None:
        """One column."""
        self._say(f"reading the records of {platform.name}")
        try:
            held = opening()
        except UserError as error:
            self._cells |= {(i, j): EvaluatedCell(reason=str(error)) for i in range(len(rankers))}
            return
        self._heads[j] = EvaluatedPlatform(
            platform=platform, networks=held.networks, tasks=len(held.tasks), records=held.records
        )
        for i, ranker in enumerate(rankers):
            self._say(f"{self._entries[i].name} on {platform.name}")
            self._cells[i, j] = self._cell(self._entries[i], ranker, held)

    def _cell(self, entry: Entry, ranker: _Ranker | str, held: HeldOut) -> EvaluatedCell:
        reason = ranker if isinstance(ranker, str) else _unfit(entry, held)
        if reason or isinstance(ranker, str):
            return EvaluatedCell(reason=reason)
        fingerprint = held.platform.fingerprint
        predict = ranker.predict_on(fingerprint)

        def checked(batch: FeatureBatch) -> Prediction:
            self._cancel.checkpoint()
            return predict(batch)

        try:
            held.groups.prepare(held.tasks, fingerprint, ranker.reads, self._cancel)
            found = held.figures(checked, ranker.reads)
        except UserError as error:
            return EvaluatedCell(reason=str(error))
        return EvaluatedCell(metrics=tuple(found.items()))

    def _say(self, text: str) -> None:
        self._cancel.checkpoint()
        self._tell(EvaluationStep(done=len(self._cells), total=len(self._entries) * len(self._columns), text=text))

    def _row(self, i: int, ranker: _Ranker | str) -> EvaluatedCheckpoint:
        entry = self._entries[i]
        own = (entry.platform.fingerprint,) if entry.platform else ()
        before = (
            [one.platform.fingerprint for one in self._entries[:i] if one.platform] if self._command.lineage else []
        )
        learned = () if isinstance(ranker, str) else ranker.learned
        return EvaluatedCheckpoint(
            name=entry.name,
            path=str(entry.path),
            kind=entry.kind,
            platform=entry.platform,
            learned=tuple(dict.fromkeys((*before, *learned, *own))),
            cells=tuple(self._cells.get((i, j), _STOPPED) for j in range(len(self._columns))),
        )


def _open(entry: Entry, config: CostModelConfig) -> _Ranker | str:
    """What a checkpoint ranks with, or why it cannot."""
    file = entry.file
    if file is None:
        return entry.problem
    try:
        if file.model != LEARNED_MODEL:
            model = make_cost_model(replace(config, name=file.model), LAYOUT, 0)
            model.load(file.path)
            return _Ranker(predict_on=lambda _: model.predict, reads=model.reads, learned=())
        from tcl_core.learning.checkpoints import load_learner

        learner = load_learner(file.path, LAYOUT, cost_model=config)
    except UserError as error:
        return str(error)

    def predict_on(fingerprint: str) -> Predict:
        return lambda batch: learner.predict(fingerprint, require_tokens(batch, "the learner"))

    learned = tuple(one.fingerprint for one in learner.knowledge.platforms)
    return _Ranker(predict_on=predict_on, reads="tokens", learned=learned)


def _unfit(entry: Entry, held: HeldOut) -> str:
    """Why a checkpoint cannot be ranked with on a platform; "" where it can."""
    platform = held.platform
    if entry.platform is not None and entry.platform.kind != platform.kind:
        return (
            f"{entry.name} has learned {entry.platform.kind} platforms and {platform.name} is {platform.kind}: CPUs "
            "and GPUs keep knowledge of their own."
        )
    if not held.split.test_networks:
        return (
            f"No network measured on {platform.name} is held out, so there is nothing unseen to rank; collect further "
            "networks there."
        )
    if not held.tasks:
        names = ", ".join(network.name for network in held.split.test_networks)
        return f"Nothing of the held-out networks ({names}) has a success on {platform.name}; collect them there."
    return ""


def _forgotten(rows: Sequence[EvaluatedCheckpoint], columns: Sequence[tuple[Platform, Open]]) -> float | None:
    """METHOD's forgetting over the platforms the last checkpoint has learned and was ranked on."""
    if len(rows) < 2:
        return None
    matrix = [[cell.metric("top1") for cell in row.cells] for row in rows]
    known = [
        j
        for j, (platform, _) in enumerate(columns)
        if platform.fingerprint in rows[-1].learned and matrix[-1][j] is not None
    ]
    return forgetting([[line[j] for j in known] for line in matrix]) if known else None
