"""Records of a Zen 4, which `cpu-znver4` among the checkpoints has learned."""
