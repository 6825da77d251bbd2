"""Make the checkpoint that ships: ``python packaging/make_checkpoint.py --out resources/checkpoints/cpu.safetensors``.

Run from the checkout. Continual knowledge distillation takes the dataset's platforms of one kind in sequence, from the
weakest to the strongest as the table "continual" does, with the records of the training networks; test networks are
never trained on, and the metrics in the file are theirs. Each platform's checkpoint is the next one's parent; the last
one stays. With ``--from`` it goes on from a checkpoint, with the platforms that this has not learned, be they of a
further dataset. The elastic weight is the shipped one's own: with all records of a platform it need hold less than with
the tenth that the tables give (`resources/experiments.md`, "Platforms", 11-27).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tcl_core.checkpoints import CheckpointFile, Origin, describe, lineage_after  # noqa: E402
from tcl_core.command_line.output import Output  # noqa: E402
from tcl_core.command_line.passes import PassWatch  # noqa: E402
from tcl_core.dataset import bundled_dataset_path, merge_datasets, read_dataset  # noqa: E402
from tcl_core.domain import CheckpointKind  # noqa: E402
from tcl_core.errors import UserError  # noqa: E402
from tcl_core.evaluation.context import Context, EvaluationConfig  # noqa: E402
from tcl_core.evaluation.platforms import platform_data, platform_top1  # noqa: E402
from tcl_core.events import CancelToken  # noqa: E402
from tcl_core.features import LAYOUT  # noqa: E402
from tcl_core.learning.checkpoints import load_learner  # noqa: E402
from tcl_core.learning.continual import ContinualLearner  # noqa: E402
from tcl_core.training.learn import save_learned  # noqa: E402


def make_checkpoint(
    context: Context, out: Path, share: float, seed: int, watch: PassWatch, start: Path | None = None
) -> CheckpointFile:
    """Learn `share` of every platform's records, one platform after another, and write the last checkpoint to `out`.

    What lies there stays until all are learned.

    Args:
        start: a checkpoint to go on from, with its seed; None to begin with the first platform.

    Raises:
        UserError: fewer than two platforms, none that `start` does not know, nothing to learn from, or a full disk.
    """
    learner, parent = _begin(context, seed, start)
    known = {platform.fingerprint for platform in learner.knowledge.platforms}
    left = [fingerprint for fingerprint in context.sequence() if fingerprint not in known]
    if not left:
        raise UserError("dataset", f"{start} has learned every platform of the dataset; add one with --dataset.")
    unfinished = out.with_name(f".{out.name}.unfinished")
    try:
        for fingerprint in left:
            watch.phase(context.name(fingerprint))
            parent = _learn(context, learner, fingerprint, share, watch, parent, unfinished)
        assert parent is not None  # of the last platform
        unfinished.replace(out)
    finally:
        unfinished.unlink(missing_ok=True)
    return replace(parent, path=out)


def _begin(context: Context, seed: int, start: Path | None) -> tuple[ContinualLearner, CheckpointFile | None]:
    config = context.config
    if start is None:
        return ContinualLearner(config.learner, config.cost_model, LAYOUT, seed), None
    learner = load_learner(start, LAYOUT, config=config.learner, cost_model=config.cost_model)
    return learner, describe(start)


def _learn(
    context: Context,
    learner: ContinualLearner,
    fingerprint: str,
    share: float,
    watch: PassWatch,
    parent: CheckpointFile | None,
    out: Path,
) -> CheckpointFile:
    platform, digest = context.dataset.platforms[fingerprint], context.dataset.digest
    report = learner.learn(platform_data(context, fingerprint, share, learner.seed), watch.show, CancelToken())
    metrics = [("top1", platform_top1(context, learner, fingerprint))]
    if report.validation_top1 is not None:
        metrics.append(("validation_top1", report.validation_top1))
    origin = Origin(
        kind=CheckpointKind.LEARNED,
        platform=platform,
        lineage=lineage_after(parent.origin if parent else None, platform),
        parent=parent.digest if parent else None,
        data_hash=digest,
        records=report.records,
        metrics=tuple(metrics),
        seed=learner.seed,
    )
    return save_learned(learner, origin, out)


def main(arguments: Sequence[str] | None = None, config: EvaluationConfig | None = None) -> int:
    """Parse, learn, tell; 0, or 2 with one sentence. `config`: other settings than the tables', for tests."""
    parser = argparse.ArgumentParser(description="Learn the platforms of a dataset into the checkpoint that ships.")
    parser.add_argument(
        "--dataset",
        action="append",
        type=Path,
        metavar="DIR",
        help="a dataset's folder, several to learn all of their platforms; by default the one that ships",
    )
    parser.add_argument("--from", dest="start", type=Path, metavar="FILE", help="a learned checkpoint to go on from")
    parser.add_argument("--out", required=True, type=Path, metavar="FILE", help="the checkpoint's file")
    parser.add_argument("--share", type=float, default=1.0, metavar="S", help="of each platform's records")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument("--elastic-weight", type=float, default=3.0, metavar="W", help="on what is already known")
    parsed = parser.parse_args(arguments)
    output = Output(as_json=False)
    try:
        config = config or EvaluationConfig()
        config = replace(config, learner=replace(config.learner, ewc=parsed.elastic_weight))
        dataset = merge_datasets([read_dataset(path) for path in parsed.dataset or (bundled_dataset_path(),)])
        context = Context(dataset, config, parsed.out.parent)
        with PassWatch(output) as watch:
            made = make_checkpoint(context, parsed.out, parsed.share, parsed.seed, watch, parsed.start)
    except UserError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    metrics = ", ".join(f"{name} {value:.4f}" for name, value in (made.origin.metrics if made.origin else ()))
    output.result.print(f"{made.path}: {made.size_bytes:,} bytes; {metrics}", soft_wrap=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
