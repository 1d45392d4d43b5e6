"""Every error of the product is a problem with a documented code; an unexpected error reveals nothing."""

from __future__ import annotations

import json

import pytest

from shared import errors
from shared.web.answers import answer_or_problem, json_answer
from shared.web.error_problems import problem_for


def problems_of_errors() -> list[tuple[Exception, int, str]]:
    """One error of each kind."""
    return [
        (errors.UnknownIndexError("x"), 404, "IndexNotFound"),
        (errors.ContinuationExpiredError("x"), 410, "ContinuationExpired"),
        (errors.IndexBuildingError("by-town", "40 %"), 503, "IndexBuilding"),
        (errors.NotSeenYetError("x"), 503, "NotSeenYet"),
        (errors.FactsUnavailableError("x"), 503, "FactsUnavailable"),
        (errors.FactsRefusedError("x"), 503, "FactsUnavailable"),
        (errors.ThrottledError("x", outcome_unknown=False), 503, "StorageBusy"),
        (errors.StorageUnavailableError("x", outcome_unknown=False), 503, "StorageUnreachable"),
        (errors.StorageUnreachableError("x"), 503, "StorageUnreachable"),
        (errors.RequestRefusedError("x"), 503, "StorageUnreachable"),
        (errors.SettingError("x"), 503, "NotConfigured"),
        (errors.DefinitionsError(("one", "two")), 503, "DefinitionsBroken"),
        (errors.LimitError("x"), 500, "InternalError"),
        (RuntimeError("x"), 500, "InternalError"),
    ]


@pytest.mark.parametrize(("error", "status", "code"), problems_of_errors())
def test_an_error_is_a_problem_with_its_code(error: Exception, status: int, code: str) -> None:
    """Transient ones say when to come back."""
    problem = problem_for(error)
    assert (problem.status, problem.code) == (status, code)
    assert ("Retry-After" in problem.headers) == isinstance(error, (errors.TransientError, errors.RequestRefusedError))


def test_an_index_that_is_being_built_shows_its_progress() -> None:
    """So that a caller knows how long."""
    assert "(40 %)" in problem_for(errors.IndexBuildingError("by-town", "40 %")).detail


async def test_nothing_escapes_without_a_shape(caplog: pytest.LogCaptureFixture) -> None:
    """An unexpected error is logged, and answered as a problem without its text."""

    async def fails() -> None:
        raise RuntimeError("secret inside")

    answer = await answer_or_problem(fails())  # type: ignore[arg-type]  # it never answers
    assert (answer.status, json.loads(answer.body)["code"]) == (500, "InternalError")
    assert b"secret" not in answer.body
    assert "secret inside" in caplog.text


def test_answers_hold_any_integer_and_any_depth() -> None:
    """Key values may be longer than 64 bits, and documents deeper than most."""
    deep: dict[str, object] = {}
    for _ in range(300):
        deep = {"a": deep}
    content = {"value": [{"key": {"n": 2**70}, "data": deep}]}
    assert json.loads(json_answer(content).body) == content
