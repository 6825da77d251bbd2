"""What a person asks of a run, as the form holds it; and what it becomes for the engine."""

from __future__ import annotations

from dataclasses import dataclass

from tcl_core.config import Budget, CostModelConfig, RunConfig, SamplerConfig


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """The form's values. `minutes`, `trials`: None for no such limit; `workspace`: a folder, "" for the default."""

    target: str = "cpu"
    minutes: float | None = 3.0
    trials: int | None = None
    sampler: str = "rdu"
    cost_model: str = "mamba"
    seed: int = 0
    workspace: str = ""

    def config(self, network: str | None, workspace: str) -> RunConfig:
        """The run's whole configuration."""
        return RunConfig(
            network=network,
            workspace=workspace,
            target=self.target,
            seed=self.seed,
            budget=Budget(trials=self.trials, minutes=self.minutes),
            cost_model=CostModelConfig(name=self.cost_model),
            sampler=SamplerConfig(name=self.sampler),
        )
