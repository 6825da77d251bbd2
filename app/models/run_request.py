"""What a person asks of a run, as the form holds it; and what it becomes for the engine."""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.translation import tr
from tcl_core.config import Budget, CostModelConfig, NetworkConfig, RunConfig, SamplerConfig

Shapes = tuple[tuple[str, tuple[int, ...]], ...]

_SHAPE = re.compile(r"(?:--shape\s+)?(?P<name>[^\s=;]+)\s*=\s*(?P<sizes>\d+(?:\s*[,x]\s*\d+)*)")
_PLAIN = SamplerConfig()


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """The form's values.

    Attributes:
        minutes, trials: None for no such limit.
        threads: None for all physical cores.
        representativeness, diversity, uncertainty: weights of the sampler "rdu".
        checkpoint: as `RunConfig.checkpoint`.
        shapes: dimensions fixed by the person, by input name; they belong to one network.
        workspace: a folder, "" for the default.
    """

    target: str = "cpu"
    threads: int | None = None
    minutes: float | None = 3.0
    trials: int | None = None
    sampler: str = "rdu"
    representativeness: float = _PLAIN.representativeness
    diversity: float = _PLAIN.diversity
    uncertainty: float = _PLAIN.uncertainty
    cost_model: str = "mamba"
    checkpoint: str | None = None
    shapes: Shapes = ()
    seed: int = 0
    workspace: str = ""

    def config(self, network: str | None, workspace: str) -> RunConfig:
        """The run's whole configuration."""
        return RunConfig(
            network=network,
            workspace=workspace,
            target=self.target,
            threads=self.threads,
            seed=self.seed,
            budget=Budget(trials=self.trials, minutes=self.minutes),
            checkpoint=self.checkpoint,
            network_config=NetworkConfig(shapes=self.shapes),
            cost_model=CostModelConfig(name=self.cost_model),
            sampler=SamplerConfig(
                name=self.sampler,
                representativeness=self.representativeness,
                diversity=self.diversity,
                uncertainty=self.uncertainty,
            ),
        )


def request_of(config: RunConfig) -> RunRequest:
    """The form's values of a run that was."""
    return RunRequest(
        target=config.target,
        threads=config.threads,
        minutes=config.budget.minutes,
        trials=config.budget.trials,
        sampler=config.sampler.name,
        representativeness=config.sampler.representativeness,
        diversity=config.sampler.diversity,
        uncertainty=config.sampler.uncertainty,
        cost_model=config.cost_model.name,
        checkpoint=config.checkpoint,
        shapes=config.network_config.shapes,
        seed=config.seed,
        workspace=config.workspace,
    )


def parse_shapes(text: str) -> Shapes:
    """Shapes as a person writes them: ``x=1,3,224,224; mask=1x128``.

    Raises:
        ValueError: one sentence on the part that is no shape.
    """
    found = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        match = _SHAPE.fullmatch(part)
        if match is None:
            raise ValueError(tr("“{part}” is no shape; write x=1,3,224,224 and “;” between inputs.", part=part))
        found.append((match["name"], tuple(int(size) for size in re.findall(r"\d+", match["sizes"]))))
    return tuple(found)


def shapes_text(shapes: Shapes) -> str:
    """What `parse_shapes` reads."""
    return "; ".join(f"{name}={','.join(map(str, sizes))}" for name, sizes in shapes)
