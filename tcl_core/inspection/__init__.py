"""Inspection: one record replayed step by step, to be read. Wiring over space, features, cost model and store.

Order of reading: `commands` (what is asked and answered), `find` (what a command names), `stepping` (the replay),
`tree` (loops and blocks), `words` (primitives in words), `tensor_ir` and `source` (texts and what their lines belong
to), `influence` (the score).
"""
