"""Room for a library: by the size of its weights, as they are linked."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import pytest

from tcl_core.errors import UserError
from tcl_core.library import room

MIB = 1 << 20


@pytest.mark.parametrize(("dtype", "mib"), [("float32", 32), ("float16", 32), ("int8", 20)])
def test_so_many_bytes_of_weights_take_so_much(
    dtype: str, mib: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = mib * MIB
    monkeypatch.setattr(room.shutil, "disk_usage", lambda _folder: SimpleNamespace(free=free))
    weights = onnx.numpy_helper.from_array(np.zeros(MIB, dtype), "w")
    model = onnx.helper.make_model(onnx.helper.make_graph([], "net", [], [], [weights]))
    room.require_room(model, tmp_path)
    free -= 1
    with pytest.raises(UserError, match=f"The library takes {mib} MiB in '{tmp_path}'"):
        room.require_room(model, tmp_path)
