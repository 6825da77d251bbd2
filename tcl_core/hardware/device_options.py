"""What a device server can be told; apart from it, as a help text needs nothing that it imports."""

from __future__ import annotations

import argparse

PORT = 9090


def add_options(parser: argparse.ArgumentParser) -> None:
    """What a device server can be told, on the command line of the studio and of the packed file alike."""
    parser.add_argument("--host", default="0.0.0.0", metavar="H", help="the address it listens at (all of the machine)")
    parser.add_argument("--port", type=int, default=PORT, metavar="P", help=f"the port it listens at ({PORT})")
    parser.add_argument("--tracker", metavar="HOST:PORT", help="of TVM's RPC tracker, which is told of this device")
    parser.add_argument("--key", metavar="K", help="what the tracker is to call devices of this kind")
    parser.add_argument("--threads", type=int, metavar="N", help="most threads of a measurement; all cores by default")
