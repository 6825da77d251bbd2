"""Search: evolution over decision vectors, the task scheduler, the time left. Knows domain, batches, config, events."""

from __future__ import annotations

from tcl_core.search.evolution import Evolution, Proposals
from tcl_core.search.population import DecisionSpace
from tcl_core.search.progress import Eta, estimate_eta
from tcl_core.search.scheduler import Choice, TaskScheduler

__all__ = ["Choice", "DecisionSpace", "Eta", "Evolution", "Proposals", "TaskScheduler", "estimate_eta"]
