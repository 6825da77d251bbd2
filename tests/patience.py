"""How long a test waits for what must come, such as a process that ends or a window that is drawn.

It is no measure of speed: the machine may have other work, or stand still for a while. A wait ends as soon as it can;
only what never comes is waited for this long.
"""

PATIENCE_S = 240.0
PATIENCE_MS = int(PATIENCE_S * 1000)
