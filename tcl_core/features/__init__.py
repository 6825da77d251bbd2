"""Features: candidates as sequences of schedule primitives, without replay or lowering (TLP, ASPLOS'23). NumPy only.

A sketch is compiled once into a `TokenTemplate`; a population of N candidates then becomes its token array by one
gather and scatter per decision, and by following the loops that decisions make: `loops` knows their extents,
`footprints` the bytes they touch, `loop_fields` shows both. `reference.trace_tokens` is the slow, readable twin that
reads a replayed trace.
"""

from tcl_core.features.context import platform_features, task_features
from tcl_core.features.template import TokenTemplate
from tcl_core.features.vocabulary import LAYOUT

__all__ = ["LAYOUT", "TokenTemplate", "platform_features", "task_features"]
