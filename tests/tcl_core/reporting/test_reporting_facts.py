"""What a run's report knows: its own records, what earlier runs left it, and nothing that came later."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import library_samples
import pytest

from tcl_core.domain import Source
from tcl_core.errors import UserError
from tcl_core.libraries import LibraryReport
from tcl_core.reporting.facts import RunFacts, read_run
from tcl_core.store import Workspace
from tests.tcl_core.reporting.conftest import furnished, measured


def read(folder: Path, number: int | None, library: LibraryReport | None = None) -> RunFacts:
    with Workspace.open(folder, create=False, read_only=True) as workspace:
        return read_run(workspace, number, None, library)


def test_only_the_runs_own_records_are_counted(folder: Path) -> None:
    facts = read(folder, 1)
    assert (facts.trials, facts.failed) == (7, 2)
    by_key = {one.task.key: one for one in facts.tasks}
    assert [(by_key[key].trials, by_key[key].failed, by_key[key].earlier) for key in ("a1", "b2", "c3")] == [
        (4, 1, 1),
        (3, 1, 0),
        (0, 0, 0),
    ]


def test_a_report_reads_no_traces(folder: Path) -> None:
    """They are most of what a workspace holds, and no part of a report: damaged ones are not even noticed."""
    with Workspace.open(folder) as workspace:
        workspace._connection.execute("UPDATE records SET trace_json = x'00'")
    assert read(folder, 1).trials == 7


def test_imported_records_are_of_no_run(tmp_path: Path) -> None:
    *between, after = (
        replace(measured(number, after_s, latency_s), source=Source.IMPORTED)
        for number, after_s, latency_s in ((20, 120.0, 7e-4), (21, 121.0, 9e-4), (22, 190.0, 1e-4))
    )
    folder = furnished(tmp_path / "w", between)
    with Workspace.open(folder) as workspace:
        workspace.add_record(after)
    before = read(folder, 1)
    assert before.imported == 0 and before.tasks[0].best_s == 2e-3
    facts = read(folder, 2)
    first = facts.tasks[0]
    assert (first.trials, first.earlier, first.imported, facts.imported) == (1, 5, 2, 2)
    assert (facts.trials, first.best_s) == (1, 7e-4), "what was imported after the run was interrupted is not its"


def test_the_best_are_those_at_the_runs_end_with_their_share(folder: Path) -> None:
    facts = read(folder, 1)
    assert [(one.task.key, one.best_s) for one in facts.tasks] == [("a1", 2e-3), ("b2", 2e-3), ("c3", None)]
    assert [one.share for one in facts.tasks] == [pytest.approx(0.75), pytest.approx(0.25), None]
    assert [one.fallback for one in facts.tasks] == ["", "", library_samples.FALLBACK]
    assert read(folder, 2).tasks[0].best_s == 1e-3


def test_the_line_falls_from_the_moment_every_task_has_run(folder: Path) -> None:
    best = read(folder, 1).best
    assert (best.tasks, best.end_s) == (2, 100.0)
    assert [at_s for at_s, _ in best.points] == [30.0, 40.0, 70.0]
    assert [estimate_s for _, estimate_s in best.points] == pytest.approx([27e-3, 9e-3, 8e-3])


def test_what_was_known_before_is_one_point_at_the_start(folder: Path) -> None:
    best = read(folder, 2).best
    assert best.points == (pytest.approx((0.0, 8e-3)), pytest.approx((30.0, 5e-3)))
    assert best.end_s == 30.0


def test_failures_are_grouped_by_cause(folder: Path) -> None:
    (group,) = read(folder, 1).failures
    assert (group.stage, group.cause, group.count, group.tasks) == ("compile", "timeout", 2, 2)
    assert group.message == "timeout: <b>extent</b>"


def test_settings_tell_what_a_person_chose(folder: Path) -> None:
    settings = {one.name: one for one in read(folder, 1).settings}
    assert [name for name, one in settings.items() if one.changed] == ["seed", "budget.minutes", "search.elite"]
    assert (settings["search.elite"].value, settings["search.elite"].usual) == ("0.125", "0.25")
    assert settings["include"].value == "all"
    assert not settings["workspace"].changed


def test_a_library_that_was_checked_since_is_told_as_such(folder: Path) -> None:
    since = library_samples.report(path=None)
    assert read(folder, 2).library is None
    later = read(folder, 2, since)
    assert (later.library, later.checked_since) == (since, True)
    with Workspace.open(folder) as workspace:
        workspace.note_library(2, library_samples.report())
    exported = read(folder, 2)
    assert (exported.library, exported.checked_since) == (library_samples.report(), True)
    assert read(folder, 2, since).library == since
    own = read(folder, 1, since)
    assert (own.library, own.checked_since) == (library_samples.report(), False)


def test_the_newest_run_is_meant_and_an_unknown_one_refused(folder: Path) -> None:
    facts = read(folder, None)
    assert (facts.run.id, facts.run.interrupted) == (2, True)
    with pytest.raises(UserError, match="no run 5; it holds runs 1 to 2"):
        read(folder, 5)
