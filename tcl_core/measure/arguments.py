"""Random contents for a kernel's arguments: allocated once per signature, reused by every candidate of a task."""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcl_core.measure.failures import is_of_memory

Signature = tuple[tuple[str, tuple[int, ...]], ...]
"""(dtype, shape) of each argument, in order; a shape may be ()."""

_BLOCK = 1 << 16
_AT_ONCE = 1 << 20
"""Elements that are copied into a tensor at a time: a copy of all of it would be as large as the tensor itself."""
_KEPT_SIGNATURES = 2


class Arguments:
    """Tensors on one device, by signature; the two signatures used last are kept. Belongs to one worker."""

    def __init__(self, device: Any, seed: int) -> None:
        self._device = device
        self._seed = seed
        self._tensors: OrderedDict[Signature, list[Any]] = OrderedDict()

    def of(self, signature: Signature) -> list[Any]:
        """Tensors for `signature`, in order; the same ones each time while they are kept."""
        if signature not in self._tensors:
            while len(self._tensors) >= _KEPT_SIGNATURES:
                self._tensors.popitem(last=False)
            self._tensors[signature] = self._made(signature)
        self._tensors.move_to_end(signature)
        return self._tensors[signature]

    def _made(self, signature: Signature) -> list[Any]:
        """Beside those that are kept if there is room, else in their place."""
        try:
            return self._filled(signature)
        except Exception as error:
            if not self._tensors or not is_of_memory(error):
                raise
        self._tensors.clear()
        return self._filled(signature)

    def _filled(self, signature: Signature) -> list[Any]:
        generator = np.random.default_rng(self._seed)
        return [self._tensor(dtype, shape, generator) for dtype, shape in signature]

    def _tensor(self, dtype: str, shape: tuple[int, ...], generator: np.random.Generator) -> Any:
        import tvm

        tensor = tvm.runtime.empty(shape, dtype, self._device)
        size = math.prod(shape)
        if size <= _AT_ONCE:
            tensor.copyfrom(random_contents(dtype, shape, generator))
            return tensor
        contents = random_contents(dtype, (_AT_ONCE,), generator)
        for start in range(0, size, _AT_ONCE):
            part = contents[: size - start]
            tensor._create_view(part.shape, dtype, start * contents.itemsize).copyfrom(part)
        return tensor


def random_contents(dtype: str, shape: tuple[int, ...], generator: np.random.Generator) -> NDArray[Any]:
    """Harmless random values: floats in [0.1, 1), so that no logarithm, root or division leaves the ordinary numbers
    (denormals and NaN run at other speeds); integers and booleans 0 or 1, so that gathers stay in bounds.

    A block of random numbers is repeated to fill large arguments: their values do not matter, their making would.
    """
    size = int(np.prod(shape, dtype=np.int64))
    storage = _numpy_dtype(dtype)
    if np.issubdtype(storage, np.integer) or storage == np.bool_:
        block = generator.integers(0, 2, min(size, _BLOCK)).astype(storage)
    else:
        block = generator.uniform(0.1, 1.0, min(size, _BLOCK)).astype(storage)
    return np.resize(block, shape)


def _numpy_dtype(dtype: str) -> np.dtype[Any]:
    """NumPy's dtype of a TVM dtype; bfloat16 and the float8 kinds are ml_dtypes', which TVM brings along."""
    try:
        return np.dtype(dtype)
    except TypeError:
        import ml_dtypes

        storage: np.dtype[Any] = np.dtype(getattr(ml_dtypes, dtype))
        return storage
