"""Every table on a small dataset with tiny models: the promised JSON, a table to read, cells that are found again."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from tcl_core.dataset.base import Dataset
from tcl_core.errors import UserError
from tcl_core.evaluation import platforms
from tcl_core.evaluation.cells import CellProgress
from tcl_core.evaluation.chains import WHOLE
from tcl_core.evaluation.context import Context
from tcl_core.evaluation.crew import Crew
from tcl_core.evaluation.evaluate import evaluate
from tcl_core.evaluation.groups import Groups
from tcl_core.evaluation.metrics import Spread
from tcl_core.evaluation.results import markdown
from tcl_core.evaluation.tables import TABLES, run_table
from tcl_core.evaluation.tables.ablation import PARTS, AblationResult, with_parts
from tcl_core.evaluation.tables.continual import ContinualResult, LearnerRow, OrderResult
from tcl_core.evaluation.tables.efficiency import EfficiencyResult
from tcl_core.evaluation.tables.models import ModelRow, ModelsResult
from tcl_core.evaluation.tables.transfer import TransferResult
from tcl_core.events import CancelToken
from tests.tcl_core.evaluation.conftest import STRONG, WEAK

Make = Callable[..., Context]
LEARNERS = ("scratch", "fine-tune", "multi-task", "momentum", "ckd")
ALONE = Crew(dataset=Path(), count=0)


def is_spread(value: Any) -> bool:
    return len(value) == 2 and 0 <= value[0] <= 1 and value[1] >= 0


def computed(context: Context, name: str, seeds: tuple[int, ...] = (0,)) -> tuple[Any, list[CellProgress]]:
    told: list[CellProgress] = []
    result = run_table(name, context, seeds, told.append, CancelToken())
    assert json.loads(json.dumps(result.to_json(), allow_nan=False)) == result.to_json()
    text = markdown(result.to_table())
    assert {line.count("|") for line in text.splitlines()} == {len(result.to_table().columns) + 1}
    assert all(str(verdict).startswith("Goal: ") for verdict in result.verdicts())
    return result, told


def test_models(make_context: Make) -> None:
    result, _ = computed(make_context(models=("mamba", "random", "xgb")), "models", seeds=(0, 1))
    found = result.to_json()
    assert list(found) == ["mamba", "random", "xgb"]
    for row in found.values():
        assert all(is_spread(row[figure]) for figure in ("top1", "top5", "pairwise", "validation_top1"))
        assert row["top5"][0] >= row["top1"][0]
        assert row["per_second"] > 0
        assert row["train_s"] >= 0
    assert found["mamba"]["parameters"] > 1000
    assert found["xgb"]["per_second"] < found["mamba"]["per_second"], "replays are part of its price"


def test_without_two_latencies_of_a_test_task_no_pair_is_ranked(make_context: Make, dataset: Dataset) -> None:
    alone = {
        key: tuple(each for each in found if not each.failure)[:1] if key[0] in "tu" else found
        for key, found in dataset.records.items()
    }
    result, _ = computed(make_context(replace(dataset, records=alone), models=("random",)), "models", seeds=(0, 1))
    row = result.to_json()["random"]
    assert row["pairwise"] is None
    assert row["top1"] == [1.0, 0.0]
    assert markdown(result.to_table()).splitlines()[-1].split("|")[4].strip() == "-"


def test_no_table_teaches_what_it_tests(make_context: Make, dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the tasks that are tested on, "t" is a training network's and "u" the validation network's, too."""
    # Batches of candidates that nobody measured name no task: each is told by its FLOPs here.
    tasks = {key: replace(one, flops=one.flops * 2**place) for place, (key, one) in enumerate(dataset.tasks.items())}
    told_apart = replace(dataset, tasks=tasks)
    key_of = {Groups(told_apart).group(key, STRONG).batches[0].task.tobytes(): key for key in tasks}
    taught: dict[str, set[str]] = {"groups": set(), "validation": set(), "unlabelled": set(), "elsewhere": set()}
    fit, data = Context.fit, platforms.PlatformData

    def note(**given: Any) -> None:
        for use in ("groups", "validation"):
            taught[use].update(group.task_key for group in given[use])
        for use in ("unlabelled", "elsewhere"):
            taught[use].update(key_of[batch.task.tobytes()] for batch in given.get(use, ()))

    def noted_fit(self: Context, model: Any, groups: Any, validation: Any, *rest: Any) -> Any:
        note(groups=groups, validation=validation)
        return fit(self, model, groups, validation, *rest)

    def noted_data(**given: Any) -> Any:
        note(**given)
        return data(**given)

    assert len(key_of) == len(tasks)
    monkeypatch.setattr(Context, "fit", noted_fit)
    monkeypatch.setattr(platforms, "PlatformData", noted_data)
    for name in ("models", "efficiency", "ablation", "continual", "transfer", "zero_shot"):
        for keys in taught.values():
            keys.clear()
        computed(make_context(told_apart), name)
        assert taught["groups"] and taught["groups"] <= {"a", "b", "c"}, name
        assert taught["validation"] == {"v"}, name
        teaching = {"a", "b", "c"} if name in {"continual", "transfer"} else set()
        assert taught["unlabelled"] == taught["elsewhere"] == teaching, name


def test_efficiency_and_ablation_share_their_cells(make_context: Make) -> None:
    found, _ = computed(make_context(), "efficiency")
    assert {name: list(shares) for name, shares in found.to_json().items()} == {
        "rdu": ["0.1", "0.2", "1"],
        "random": ["0.1", "0.2", "1"],
    }
    assert all(is_spread(value) for shares in found.to_json().values() for value in shares.values())
    again, told = computed(make_context(), "efficiency")
    assert again.to_json() == found.to_json()
    assert {each.row for each in told if each.resumed} == {WHOLE, "rdu", "random"}
    parts, told = computed(make_context(), "ablation")
    assert set(parts.to_json()) == set(PARTS)
    assert parts.to_json()["RDU"] == found.to_json()["rdu"]["0.1"]
    assert {each.row for each in told if each.resumed} == {"rdu"}


def test_the_same_seed_gives_the_same_figures(make_context: Make, tmp_path: Any) -> None:
    first, _ = computed(make_context(samplers=("rdu",)), "efficiency")
    other = make_context(samplers=("rdu",))
    other.cache = tmp_path / "elsewhere"
    second, told = computed(other, "efficiency")
    assert not any(each.resumed for each in told)
    assert first.to_json() == second.to_json()


def test_continual(make_context: Make) -> None:
    result, _ = computed(make_context(), "continual")
    found = result.to_json()
    assert found["platforms"] == ["weak CPU", "strong CPU"]
    assert found["other_orders"][0]["platforms"] == ["strong CPU", "weak CPU"]
    assert set(found["final_top1"]) == set(LEARNERS)
    assert all(0 < value <= 1 for row in found["R"] for value in row)
    assert found["forgetting"] >= 0
    assert found["final_top1"]["ckd"] == pytest.approx(sum(found["R"][-1]) / 2)
    assert found["by_learner"]["ckd"]["size_bytes"] == found["other_orders"][0]["by_learner"]["ckd"]["size_bytes"]


def test_transfer(make_context: Make) -> None:
    result, _ = computed(make_context(), "transfer")
    assert result.new == "strong CPU" and result.old == ("weak CPU",)
    found = result.to_json()
    assert set(found) == set(LEARNERS)
    assert all(is_spread(shares["0.1"]) for shares in found.values())


def test_shares_of_a_new_platform_do_not_learn_from_each_other(make_context: Make) -> None:
    both, _ = computed(make_context(transfer_shares=(0.2, 0.5)), "transfer")
    alone, _ = computed(make_context(transfer_shares=(0.5,)), "transfer")
    for learner in LEARNERS:
        assert both.to_json()[learner]["0.5"] == alone.to_json()[learner]["0.5"]


def test_zero_shot(make_context: Make) -> None:
    result, _ = computed(make_context(), "zero_shot")
    found = result.to_json()
    assert list(found) == ["weak CPU", "strong CPU"]
    for columns in found.values():
        assert list(columns) == ["with_token", "without_token", "trained"]
        assert all(is_spread(value) for value in columns.values())


def test_the_tables_on_one_platform_use_the_one_with_most_records(make_context: Make) -> None:
    assert make_context().platform == STRONG
    assert make_context(platform=WEAK).platform == WEAK
    with pytest.raises(UserError, match="no platform moon"):
        _ = make_context(platform="moon").platform


def refused(context: Context, only: str | None = None) -> str:
    with pytest.raises(UserError) as refusal:
        evaluate(context, only, (0,), lambda _: None, CancelToken(), ALONE)
    assert str(refusal.value).count(". ") == 0, "one sentence"
    return str(refusal.value)


def test_what_cannot_be_evaluated_is_said_at_once(make_context: Make, dataset: Dataset) -> None:
    assert "no record" in refused(make_context(replace(dataset, records={})))
    one = {key: found for key, found in dataset.records.items() if key[1] == STRONG}
    for only in (None, "continual", "transfer", "zero_shot"):
        assert "one platform only (strong CPU)" in refused(make_context(replace(dataset, records=one)), only)
    failed = {
        key: tuple(each for each in found if each.failure) if key[0] in "tu" else found
        for key, found in dataset.records.items()
    }
    assert "of the test networks on strong CPU failed" in refused(make_context(replace(dataset, records=failed)))
    untested = {key: found for key, found in dataset.records.items() if key[0] not in "tu"}
    assert "no record of the test networks" in refused(make_context(replace(dataset, records=untested)))


@pytest.mark.parametrize("package", ["torch", "numpy", "apache-tvm", "xgboost"])
def test_cells_of_another_version_are_not_found(
    make_context: Make, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    here = make_context().cells("models", {}, ()).folder
    assert make_context().cells("models", {}, ()).folder == here

    def other(name: str) -> str:
        return "0" if name.startswith(package) else version(name)

    monkeypatch.setattr("tcl_core.cost_model.checkpoint.version", other)
    assert make_context().cells("models", {}, ()).folder != here


def test_the_whole_evaluation_is_written(make_context: Make, tmp_path: Any) -> None:
    context = make_context(models=("random",))
    result = evaluate(context, "models", (0, 1), lambda _: None, CancelToken(), ALONE)
    for path in result.write(tmp_path / "out"):
        assert path.exists()
    found = json.loads((tmp_path / "out" / "models.json").read_text(encoding="utf-8"))
    assert set(found) == {"models", "ceiling", "about"}
    assert found["about"]["seeds"] == [0, 1]
    assert found["about"]["dataset"] == "d" * 64
    assert found["about"]["networks"]["test"] == ["testing", "testing too"]
    assert found["ceiling"]["simulated"][0] == pytest.approx(1)
    text = (tmp_path / "out" / "models.md").read_text(encoding="utf-8")
    assert "## Cost models" in text and "| random" in text and "d" * 16 in text
    assert not [path for path in (tmp_path / "out").iterdir() if path.name.startswith(".")]
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UserError, match=r"file \(File exists\); .*free space"):
        result.write(tmp_path / "file")


def test_all_but_the_live_table_are_known() -> None:
    assert set(TABLES) == {"models", "efficiency", "ablation", "continual", "transfer", "zero_shot", "tuning"}


def spread(mean: float, sd: float = 0.0) -> Spread:
    return Spread(mean=mean, sd=sd)


def model_row(name: str, top1: float, parameters: int) -> ModelRow:
    return ModelRow(
        name=name,
        top1=spread(top1),
        top1_by_network=spread(top1),
        top5=spread(top1),
        pairwise=spread(0.5),
        validation_top1=None,
        parameters=parameters,
        per_second=1.0,
        train_s=1.0,
    )


@pytest.mark.parametrize(
    ("mamba", "rival", "parameters", "met"),
    [(0.95, 0.94, 200, [True, True, True]), (0.92, 0.94, 199, [False, False, False])],
)
def test_verdicts_on_models(mamba: float, rival: float, parameters: int, met: list[bool]) -> None:
    rows = (model_row("mamba", mamba, 100), model_row("transformer", rival, parameters))
    result = ModelsResult(platform="p", rows=rows)
    assert [verdict.met for verdict in result.verdicts()] == met


@pytest.mark.parametrize(
    ("tenth", "random", "met"),
    [
        (spread(0.90, 0.01), spread(0.87, 0.005), [True, True]),
        (spread(0.90, 0.01), spread(0.87, 0.02), [True, False]),
        (spread(0.88), spread(0.88), [False, False]),
        (spread(0.95), spread(0.88), [True, True]),
    ],
)
def test_verdicts_on_efficiency(tenth: Spread, random: Spread, met: list[bool]) -> None:
    whole = {"1": spread(0.905)}
    result = EfficiencyResult(
        platform="p",
        model="mamba",
        shares=(0.1, 1.0),
        top1={"rdu": {"0.1": tenth} | whole, "random": {"0.1": random} | whole},
    )
    assert [verdict.met for verdict in result.verdicts()] == met


def test_verdicts_on_the_ablation(make_context: Make) -> None:
    sampler = make_context().config.sampler
    figures = {parts: spread(0.8) for parts in PARTS}
    for best, met in (("RDU", True), ("RD", False)):
        result = AblationResult(platform="p", share=0.1, sampler=sampler, top1=figures | {best: spread(0.9)})
        assert [verdict.met for verdict in result.verdicts()] == [met]
    alone = with_parts(sampler, "U")
    assert (alone.representativeness, alone.diversity, alone.uncertainty) == (0, 0, sampler.uncertainty)


def learner_row(name: str, final: float, lost: float) -> LearnerRow:
    return LearnerRow(learner=name, top1=((final,),), forgetting=spread(lost), final_top1=spread(final), size_bytes=1)


def test_verdicts_on_continual_learning() -> None:
    rivals = (learner_row("fine-tune", 0.8, 0.1), learner_row("multi-task", 0.95, 0.0))
    order = OrderResult(platforms=("p",), rows=(*rivals, learner_row("ckd", 0.9, 0.005)))
    result = ContinualResult(share=0.25, orders=(order,))
    assert [verdict.met for verdict in result.verdicts()] == [True, True, False]
    worse = OrderResult(platforms=("p",), rows=(*rivals, learner_row("ckd", 0.9, 0.01)))
    assert [verdict.met for verdict in ContinualResult(share=0.25, orders=(worse,)).verdicts()] == [False, True, False]


@pytest.mark.parametrize(("ours", "met"), [(0.9, True), (0.89, False)])
def test_verdicts_on_transfer(ours: float, met: bool) -> None:
    top1 = {"ckd": {"0.02": spread(ours)}, "scratch": {"0.1": spread(0.9)}}
    result = TransferResult(old=("p",), new="q", old_share=0.25, shares=(0.02, 0.1), top1=top1)
    assert [verdict.met for verdict in result.verdicts()] == [met]
