"""Measurement: requests in, latencies or failures out. Compiling in parallel, timing alone, in processes that may die.

Who does what, from the tuner down to the kernel::

    requests   what is asked of it, and what it answers
    measurer   the room's door: start, measure, close
    compiling  one batch's first half: who compiles what, whom a crash sends back to the queue
    batch      one batch: a result for each request, however often it is visited
    local_batch   who is timed next on this machine, where nothing compiles meanwhile
    device_batch  the same on devices over the network, while others compile
    pool       the workers as their owner sees them: start, kill, the reason of a death
    nursery    a process with TVM loaded that forks a ready worker in milliseconds
    worker     what runs in a forked worker: compile, time, tell
    kernel     one module built to machine code, and its clock
    remote_kernel  the same for a device over the network: built here, sent there, timed there
    timing     how often to run a candidate (pure)
    arguments  random contents for a kernel's arguments
    failures   from an exception or a death to a `Failure`
    messages   what the tuner and a worker say to each other
"""

from tcl_core.measure.measurer import Measurer

__all__ = ["Measurer"]
