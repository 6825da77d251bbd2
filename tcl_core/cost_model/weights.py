"""A network's device, and its weights between torch and a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from tcl_core.cost_model.checkpoint import Checkpoint
from tcl_core.errors import UserError


def choose_device(name: str) -> torch.device:
    """Raises: UserError: torch knows no such device, or this machine has none."""
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise UserError("cost model", f"Unknown device '{name}'; choose 'cpu' or 'cuda'.") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise UserError("cost model", "The device 'cuda' was asked for and torch finds none; choose 'cpu'.")
    return device


def as_arrays(network: nn.Module) -> dict[str, NDArray[Any]]:
    """All parameters and buffers by name."""
    return {name: tensor.cpu().numpy() for name, tensor in network.state_dict().items()}


def load_weights(network: nn.Module, checkpoint: Checkpoint, path: Path, settings: Mapping[str, Any]) -> None:
    """Put a checkpoint's tensors into the network, all or none.

    Raises:
        UserError: made with other settings than `settings`, or names, shapes or values are wrong.
    """
    if checkpoint.facts.get("model") != settings:
        raise UserError("checkpoint", f"The checkpoint {path} was made with other model settings; name another.")
    expected = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    found = {name: tensor.shape for name, tensor in checkpoint.tensors.items()}
    finite = all(np.isfinite(tensor).all() for tensor in checkpoint.tensors.values())
    if found != expected or not finite:
        raise UserError("checkpoint", f"The checkpoint {path} lacks weights or holds wrong ones; name another.")
    network.load_state_dict({name: torch.tensor(tensor) for name, tensor in checkpoint.tensors.items()}, strict=True)
