"""Answers on HTTP before a binding gives them to its host: status, headers, body."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import orjson

from shared.web import problems
from shared.web.error_problems import problem_for

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from shared.web.problems import Problem

JSON: Final = "application/json"
_COMMON_HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """One answer. Caches must not store it, unless its headers say otherwise."""

    body: bytes
    status: int = 200
    media_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def all_headers(self) -> dict[str, str]:
        """The headers of this answer, with those that every answer has."""
        return {**_COMMON_HEADERS, **self.headers}


def json_answer(content: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> HttpAnswer:
    """An answer with status 200."""
    return HttpAnswer(_encoded(content), headers=headers or {})


def compressed(answer: HttpAnswer, accepted: str) -> HttpAnswer:
    """The same answer, smaller for callers whose `Accept-Encoding` allows it."""
    headers = {**answer.headers, "Vary": "Accept-Encoding"}
    if "gzip" not in accepted:
        return replace(answer, headers=headers)
    return replace(answer, body=gzip.compress(answer.body, mtime=0), headers={**headers, "Content-Encoding": "gzip"})


def problem_answer(problem: Problem) -> HttpAnswer:
    """A problem as RFC 9457 says."""
    return HttpAnswer(problems.body(problem), problem.status, problems.MEDIA_TYPE, problems.headers(problem))


async def answer_or_problem(work: Awaitable[HttpAnswer]) -> HttpAnswer:
    """The answer of some work, or the problem that its error is: no error leaves without a documented body."""
    try:
        return await work
    except Exception as error:
        return problem_answer(problem_for(error))


def _encoded(content: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(content)
    except TypeError:
        # Integers over 64 bits, and documents nested deeper than orjson goes.
        return json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()
