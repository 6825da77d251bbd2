"""The tuner: the only wiring of the stages. Opens a network, runs rounds, builds the library; yields events."""

from tcl_core.tuner.opening import Opened, open_network
from tcl_core.tuner.run import Tuner

__all__ = ["Opened", "Tuner", "open_network"]
