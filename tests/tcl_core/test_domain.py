from __future__ import annotations

from dataclasses import replace

from tcl_core.domain import ImportIssue


def test_what_an_import_noticed_is_said_with_its_node_if_it_is_of_one() -> None:
    issue = ImportIssue(node="first", operator="Conv", problem="it is odd", mend="make it even")
    assert issue.line == "first (Conv): it is odd; make it even"
    assert replace(issue, node="", operator="").line == "it is odd; make it even"
