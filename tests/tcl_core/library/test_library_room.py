"""Room for a library: by the size of its weights, as they are linked."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tvm import relax

from tcl_core.errors import UserError
from tcl_core.library import room

MIB = 1 << 20


@pytest.mark.parametrize(("dtype", "mib"), [("float32", 32), ("float16", 24), ("int8", 20)])
def test_so_many_bytes_of_weights_take_so_much(
    dtype: str, mib: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = mib * MIB
    monkeypatch.setattr(room.shutil, "disk_usage", lambda _folder: SimpleNamespace(free=free))
    data = relax.Var("data", relax.TensorType([MIB], dtype))
    builder = relax.BlockBuilder()
    with builder.function("main", [data]):
        builder.emit_func_output(builder.emit(relax.op.add(data, relax.const(np.zeros(MIB, dtype)))))
    module = builder.get()
    room.require_room(module, tmp_path)
    free -= 1
    with pytest.raises(UserError, match=f"The library takes {mib} MiB in '{tmp_path}'"):
        room.require_room(module, tmp_path)
