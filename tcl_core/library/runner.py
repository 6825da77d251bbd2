"""Load a tuned library and run it. Needs apache-tvm and numpy, nothing else.

python run.py                           random inputs
python run.py --input image=image.npy   your own, by name; repeat for each input
python run.py --save outputs.npz        keep the outputs
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent


def make_input(spec: dict[str, Any], generator: np.random.Generator) -> Any:
    """Contents for one input of the manifest: `ones`, or random floats, booleans, or indices below its `below`."""
    if spec["ones"]:
        return np.ones(spec["shape"], spec["dtype"])
    if spec["dtype"] == "bool":
        return generator.random(spec["shape"]) < 0.5
    if spec["dtype"].startswith(("int", "uint")):
        return generator.integers(0, spec["below"], spec["shape"]).astype(spec["dtype"])
    return generator.standard_normal(spec["shape"]).astype(spec["dtype"])


def read_inputs(specs: list[dict[str, Any]], given: list[str]) -> list[Any]:
    """Arrays for all inputs in order: the given files, random contents for the rest."""
    generator = np.random.default_rng(0)
    files = dict(split(item, [spec["name"] for spec in specs]) for item in given)
    arrays = []
    for spec in specs:
        if spec["name"] not in files:
            arrays.append(make_input(spec, generator))
            continue
        array = read_array(files[spec["name"]])
        if list(array.shape) != spec["shape"]:
            sys.exit(f"Input {spec['name']} has shape {list(array.shape)}, but {spec['shape']} is wanted.")
        arrays.append(convert(spec, array))
    return arrays


def convert(spec: dict[str, Any], array: Any) -> Any:
    """The array in the input's type. Floats may be rounded; whole numbers and booleans are taken as they are or not."""
    wanted = np.dtype(spec["dtype"])
    if array.dtype.kind in "biuf":
        with np.errstate(invalid="ignore", over="ignore"):
            converted = np.asarray(array, dtype=wanted, order="C")
        if wanted.kind == "f" or np.array_equal(converted, array):
            return converted
    sys.exit(f"Input {spec['name']} is of type {wanted}, which cannot hold the given values of {array.dtype}.")


def split(item: str, names: list[str]) -> tuple[str, str]:
    """``NAME=FILE``, where a name may hold ``=``, too."""
    name = max((name for name in names if item.startswith(f"{name}=")), key=len, default=None)
    if name is None:
        sys.exit(f"'{item}' is not NAME=FILE.npy with an input's name; the inputs are {', '.join(names)}.")
    return name, item[len(name) + 1 :]


def read_array(file: str) -> Any:
    """One array from a ``.npy`` file."""
    try:
        array = np.load(file, allow_pickle=False)
    except (OSError, ValueError) as error:
        sys.exit(f"'{file}' cannot be read as an array ({error}); write it by numpy.save.")
    if not isinstance(array, np.ndarray):
        array.close()
        sys.exit(f"'{file}' holds several arrays; write one by numpy.save.")
    return array


def save(file: str, specs: list[dict[str, Any]], outputs: list[Any]) -> None:
    """All outputs by name; `numpy.savez` has parameters that an output could be named after."""
    try:
        with zipfile.ZipFile(file, "w") as archive:
            for spec, array in zip(specs, outputs, strict=True):
                with archive.open(f"{spec['name']}.npy", "w", force_zip64=True) as entry:
                    np.lib.format.write_array(entry, np.asarray(array), allow_pickle=False)
    except OSError as error:
        sys.exit(f"'{file}' cannot be written ({error.strerror or error}); name another file.")


def flatten(result: Any) -> list[Any]:
    """A tensor or a tuple of tensors as a list of arrays."""
    if hasattr(result, "numpy"):
        return [result.numpy()]
    return [array for part in result for array in flatten(part)]


def leave_pool_its_cores() -> None:
    """Move this thread off the cores that TVM has bound the threads of its pool to; on one of them both take turns."""
    if sys.platform != "linux":
        return
    allowed = os.sched_getaffinity(0)
    apart = set(allowed)
    for entry in Path("/proc/self/task").iterdir():
        try:
            cores = os.sched_getaffinity(int(entry.name))
        except ProcessLookupError:  # it has ended since
            continue
        if len(cores) == 1:
            apart -= cores
    os.sched_setaffinity(0, apart or allowed)


def main() -> None:
    """Run once to warm up, then `--repeat` times, and say what came out and how long it took."""
    parser = argparse.ArgumentParser(description="Run the tuned library beside this file.")
    parser.add_argument("--input", action="append", default=[], metavar="NAME=FILE.npy")
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--save", metavar="FILE.npz")
    options = parser.parse_args()
    manifest = json.loads((HERE / "manifest.json").read_text(encoding="utf-8"))
    arrays = read_inputs(manifest["inputs"], options.input)

    # Read when TVM starts its threads; its own default is half the logical cores.
    os.environ.setdefault("TVM_NUM_THREADS", str(manifest["platform"]["threads"]))
    import tvm
    from tvm import relax

    device = tvm.cuda() if manifest["device"] == "cuda" else tvm.cpu()
    machine = relax.VirtualMachine(tvm.runtime.load_module(str(HERE / manifest["library"])), device)
    arguments = [tvm.runtime.tensor(array, device=device) for array in arrays]
    run = machine[manifest["function"]]
    outputs = flatten(run(*arguments))
    leave_pool_its_cores()
    seconds = []
    for _ in range(options.repeat):
        started = time.perf_counter()
        run(*arguments)
        device.sync()
        seconds.append(time.perf_counter() - started)
    for spec, array in zip(manifest["outputs"], outputs, strict=True):
        sys.stdout.write(f"{spec['name']}: {array.dtype} {list(array.shape)}\n")
    if seconds:
        sys.stdout.write(f"latency: {float(np.median(seconds)) * 1e3:.3f} ms (median of {len(seconds)})\n")
    if options.save:
        save(options.save, manifest["outputs"], outputs)


if __name__ == "__main__":
    main()
