"""Every error body has one shape."""

from __future__ import annotations

import json

from shared.web import problems
from shared.web.problems import Problem

PROBLEM = Problem(503, "StorageUnreachable", "The index storage cannot be reached", "Start it.")


def test_a_problem_has_the_members_of_rfc_9457_and_a_code() -> None:
    """And no `errors` unless there are several faults."""
    assert json.loads(problems.body(PROBLEM)) == {
        "type": "urn:index-tables:problem:StorageUnreachable",
        "title": "The index storage cannot be reached",
        "status": 503,
        "detail": "Start it.",
        "code": "StorageUnreachable",
    }


def test_several_faults_are_listed() -> None:
    """In the order in which they were found."""
    problem = Problem(
        400, "BadLookup", "t", "d", errors=({"code": "a", "detail": "one"}, {"code": "b", "detail": "two"})
    )
    assert [fault["detail"] for fault in json.loads(problems.body(problem))["errors"]] == ["one", "two"]


def test_the_code_is_also_a_header() -> None:
    """Where Azure's own clients look for it."""
    assert problems.headers(PROBLEM)["x-ms-error-code"] == "StorageUnreachable"
