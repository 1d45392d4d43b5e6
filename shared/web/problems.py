"""Errors on HTTP: the one builder of `application/problem+json` bodies (RFC 9457)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NotRequired, TypedDict

import orjson

from shared.errors import SuggestionJson

if TYPE_CHECKING:
    from collections.abc import Mapping

MEDIA_TYPE = "application/problem+json"
# A name, not an address: docs/errors.md lists every code.
TYPE_PREFIX = "urn:index-tables:problem:"


class ProblemErrorJson(TypedDict):
    """One of several things that are wrong."""

    code: str
    parameter: NotRequired[str]
    detail: str


class ProblemJson(TypedDict):
    """An error body."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    errors: NotRequired[list[ProblemErrorJson]]
    suggestion: NotRequired[SuggestionJson]


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong, for a program (`code`) and for a person (`detail`: what, with which thing, what to do)."""

    status: int
    code: str
    title: str
    detail: str
    errors: tuple[ProblemErrorJson, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    suggestion: SuggestionJson | None = None


def body(problem: Problem) -> bytes:
    """The problem as JSON."""
    return orjson.dumps(members(problem))


def members(problem: Problem) -> ProblemJson:
    """The members of the problem; `errors` only where there are several faults to tell apart."""
    found: ProblemJson = {
        "type": TYPE_PREFIX + problem.code,
        "title": problem.title,
        "status": problem.status,
        "detail": problem.detail,
        "code": problem.code,
    }
    if problem.errors:
        found["errors"] = list(problem.errors)
    if problem.suggestion is not None:
        found["suggestion"] = problem.suggestion
    return found


def headers(problem: Problem) -> dict[str, str]:
    """The headers that go with the body: Azure's clients look for the code in one of them."""
    return {
        "x-ms-error-code": problem.code,
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        **problem.headers,
    }
