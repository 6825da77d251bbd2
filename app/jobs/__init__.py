"""The one job mechanism: a background thread that owns the engine process."""
