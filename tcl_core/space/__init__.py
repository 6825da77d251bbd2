"""Space: a task's sketches, the legal values of their decisions, and replay into schedules. Needs TVM.

MetaSchedule's design-space generator and postprocessors are used as they are. On a CPU this room has sketches of its
own in place of MetaSchedule's for sums of products (`register_tiling`) and for depthwise convolutions and pooling
(`window_tiling`), for layer norms and softmax (`row_tiling`), for long sums by channel (`lane_tiling`) and for the
steps of recurrent layers (`recurrence_tiling`), for kernels without reductions (`spatial_tiling`, of several results
`results_tiling`), and rows before channels in convolutions whose groups share blocks (`blocked_tiling`); small kernels
have each for one thread, too (`sharing`); `recipes` chooses among them. And it reads a sketch as a fixed list of
*decision domains*, so that search and features need no TVM at all.
"""
