"""What a person asks of a run, as the form holds it; and what it becomes for the engine."""

from __future__ import annotations

from dataclasses import dataclass

from app.models.network_terms import AS_IN_FILE
from tcl_core.config import Budget, CostModelConfig, NetworkConfig, RunConfig, SamplerConfig
from tcl_core.devices import join_target, split_target
from tcl_core.errors import UserError

_PLAIN = SamplerConfig()


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """The form's values.

    Attributes:
        minutes, trials: None for no such limit.
        threads: None for all physical cores.
        representativeness, diversity, uncertainty: weights of the sampler "rdu".
        checkpoint: as `RunConfig.checkpoint`.
        terms: what the person said of the network: shapes, values, where it begins and ends.
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
    terms: NetworkConfig = AS_IN_FILE
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
            network_config=self.terms,
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
        terms=config.network_config,
        seed=config.seed,
        workspace=config.workspace,
    )


def target_problem(target: str) -> str:
    """Why what stands behind a target's @ is no address, one sentence; "" where it is one, or there is no @."""
    try:
        split_target(target)
    except UserError as error:
        return str(error)
    return ""


def on_device(target: str, address: str) -> str:
    """A target put on another device, whatever stood behind its @ before; "" for this machine."""
    plain = target.rpartition("@")[0].strip() if target_problem(target) else split_target(target)[0]
    return join_target(plain, address)
