"""Space: a task's sketches, the legal values of their decisions, and replay into schedules. Needs TVM.

MetaSchedule's design-space generator and postprocessors are used as they are. What this room adds is one more sketch
for kernels without reductions (`spatial_tiling`), one in place of its own for depthwise convolutions and pooling
(`window_tiling`), rows before channels in other convolutions (`blocked_tiling`), and the reading of a sketch as a fixed
list of *decision domains*, so that search and features need no TVM at all.
"""
