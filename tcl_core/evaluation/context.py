"""What every table is given: the dataset, the settings, features built once, and where finished cells are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from tcl_core import __version__
from tcl_core.batches import TaskGroup
from tcl_core.config import LEARNING_RATES, TEACHING, CostModelConfig, LearnerConfig, OfflineConfig, SamplerConfig
from tcl_core.cost_model import make_cost_model
from tcl_core.cost_model.base import CostModel, EpochWatch, FitReport
from tcl_core.cost_model.checkpoint import library_versions
from tcl_core.counting import all_of
from tcl_core.dataset.base import Dataset, Split
from tcl_core.errors import UserError
from tcl_core.evaluation.cells import CellFolder, digest_of
from tcl_core.evaluation.groups import Groups, Reads
from tcl_core.evaluation.metrics import RankedNetwork
from tcl_core.evaluation.splits import TaskSplit, split_tasks
from tcl_core.evaluation.training import rank_with
from tcl_core.events import CancelToken
from tcl_core.features import LAYOUT

_ROOT_CODE = tuple(
    f"evaluation/{name}.py" for name in ("context", "groups", "metrics", "shares", "splits", "store_rows", "training")
)
_PARTS_OF_ALL = ("batches.py", "dataset/base.py", "features", "cost_model", "search/population.py")


@dataclass(frozen=True, kw_only=True)
class TuningConfig:
    """The live comparison of a cold run with one that starts from a checkpoint.

    Attributes:
        networks: ONNX files that are not in the dataset; None stands for the bundled sample.
        checkpoint: what the warm run starts from; None for the checkpoint that ships.
        trials: budget of either run.
    """

    networks: tuple[str | None, ...] = (None,)
    checkpoint: str | None = None
    target: str = "cpu"
    threads: int | None = None
    trials: int = 256


@dataclass(frozen=True, kw_only=True)
class EvaluationConfig:
    """Settings of all tables. They were chosen on validation networks; test networks are only ever reported, and
    the tables were made anew on the same two after each change; the data card says what was seen of them.

    Attributes:
        models: rows of the table of models.
        cost_model: the ranker of every other table.
        sampler: RDU's weights, offline: no exploiting term.
        shares: of the pool, for data efficiency; all of it comes on top.
        ablation_share: where the parts of RDU are compared.
        transfer_shares: of the new platform's data.
        platform_share: random share of a platform's training records that the tables over several platforms use.
        known_share: the same of the platforms that are known before a new one comes (transfer): the checkpoint that
            ships has learned all of theirs.
        learners: keys of `learning.LEARNERS`; empty for all.
        platform: fingerprint for the tables on one platform; None for the one with most records.
        processes: workers that replay candidates; does not change a figure.
    """

    models: tuple[str, ...] = ("mamba", "transformer", "mlp", "xgb", "lstm", "random")
    cost_model: CostModelConfig = field(default_factory=CostModelConfig)
    offline: OfflineConfig = field(default_factory=OfflineConfig)
    sampler: SamplerConfig = TEACHING
    samplers: tuple[str, ...] = ("rdu", "random", "uncertainty", "kcenter", "topk")
    shares: tuple[float, ...] = (0.02, 0.05, 0.1, 0.2)
    ablation_share: float = 0.1
    transfer_shares: tuple[float, ...] = (0.01, 0.02, 0.05, 0.1)
    platform_share: float = 0.1
    known_share: float = 1.0
    learner: LearnerConfig = field(default_factory=LearnerConfig)
    learners: tuple[str, ...] = ()
    tuning: TuningConfig = field(default_factory=TuningConfig)
    platform: str | None = None
    processes: int = 2


class Context:
    """Belongs to one thread.

    Attributes:
        cache: folder of finished cells; what is in there may be deleted at any time.
    """

    def __init__(self, dataset: Dataset, config: EvaluationConfig, cache: Path) -> None:
        self.dataset, self.config, self.cache = dataset, config, cache
        self.groups = Groups(dataset, processes=config.processes)

    @cached_property
    def platform(self) -> str:
        """Fingerprint of the platform of the tables on one platform.

        Raises:
            UserError: the dataset has no record, or not the platform asked for.
        """
        counts = dict.fromkeys(sorted(self.dataset.platforms), 0)
        for (_, fingerprint), records in self.dataset.records.items():
            counts[fingerprint] += len(records)
        if not any(counts.values()):
            raise UserError(
                "dataset", "The dataset holds no record, so there is nothing to evaluate; collect some first."
            )
        asked = self.config.platform
        if asked is not None and asked not in counts:
            raise UserError("dataset", f"The dataset has no platform {asked}; choose one of {', '.join(counts)}.")
        return asked or max(counts, key=counts.__getitem__)

    def name(self, platform: str) -> str:
        """What a person calls a platform; with the fingerprint where two share the name."""
        names = [one.name for one in self.dataset.platforms.values()]
        own = self.dataset.platforms[platform].name
        return own if names.count(own) == 1 else f"{own} ({platform})"

    @cached_property
    def split(self) -> TaskSplit:
        """The tasks by purpose."""
        return split_tasks(self.dataset.networks)

    def check(self, platform: str) -> None:
        """Refuse early what could only fail late.

        Raises:
            UserError: no network to train on or to test with has a success on the platform.
        """
        split = self.split
        for purpose, keys in ((Split.TRAIN, split.train), (Split.TEST, split.test)):
            if any(self.groups.has(key, platform) for key in keys):
                continue
            count = sum(len(self.dataset.records.get((key, platform), ())) for key in keys)
            where = f"{purpose.value} networks on {self.name(platform)}"
            if count:
                raise UserError(
                    "dataset",
                    f"{all_of(count, 'record')} of the {where} failed, so nothing can be ranked; "
                    "see their causes with the records command, mend them and collect again.",
                )
            raise UserError(
                "dataset",
                f"There is no record of the {where}, so nothing can be evaluated; collect one of "
                f"these networks, or make the dataset again with another network as {purpose.value}.",
            )

    def sequence(self) -> tuple[str, ...]:
        """Platforms of the main one's kind that can be learned and tested, from the weakest to the strongest.

        Weaker is: narrower vectors, then fewer threads. CPU and GPU keep separate knowledge bases.

        Raises:
            UserError: fewer than two.
        """
        split = self.split
        platforms = self.dataset.platforms
        found = [
            fingerprint
            for fingerprint, platform in platforms.items()
            if platform.kind == platforms[self.platform].kind
            and all(any(self.groups.has(key, fingerprint) for key in keys) for keys in (split.train, split.test))
        ]
        if len(found) < 2:
            raise UserError(
                "dataset",
                f"The dataset has records to train and test on of one platform only ({self.name(self.platform)}), and "
                "the tables continual, transfer and zero_shot need two; collect on a second one, or choose a table "
                "with --only models.",
            )
        return tuple(sorted(found, key=lambda key: (platforms[key].features.vector_bits, platforms[key].threads, key)))

    def cells(self, table: str, settings: Mapping[str, Any], code: Sequence[str]) -> CellFolder:
        """The finished cells of a table: `settings` and `code` (below `tcl_core`) are what its values depend on."""
        everything = {
            **settings,
            "version": __version__,
            "rates": LEARNING_RATES,
            "packages": library_versions(),  # others train to other weights
            "platform": self.platform,
        }
        digest = digest_of(everything, (*_ROOT_CODE, *_PARTS_OF_ALL, *code))
        return CellFolder(self.cache / self.dataset.digest[:16] / f"{table}-{digest[:16]}")

    def model(self, name: str, seed: int) -> CostModel:
        """A fresh, untrained cost model."""
        return make_cost_model(replace(self.config.cost_model, name=name), LAYOUT, seed)

    def validation(self, platform: str, reads: Reads = "tokens") -> tuple[TaskGroup, ...]:
        """Groups to stop a training by: always whole, whatever share is trained on."""
        return self.groups.groups(self.split.validation, platform, reads=reads)

    def fit(
        self,
        model: CostModel,
        groups: Sequence[TaskGroup],
        validation: Sequence[TaskGroup],
        watch: EpochWatch,
        cancel: CancelToken,
    ) -> FitReport:
        """Train on a dataset with the settings of this evaluation."""
        return model.train_offline(groups, validation, self.config.offline, watch, cancel)

    def test(self, model: CostModel, platform: str, groups: Groups | None = None) -> tuple[RankedNetwork, ...]:
        """The test networks, ranked by a model."""
        split = self.split
        return rank_with(model, groups or self.groups, platform, split.test_networks, split.test)
