"""What a call can fail with: a problem that the app tells, no answer at all, or an address that gets no key."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx


class IndexTablesError(Exception):
    """Every error of this package."""


class UnreachableError(IndexTablesError):
    """The app gives no answer."""


class ForeignAddressError(IndexTablesError):
    """An answer leads to another host, which is not asked: it would receive the key."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One of several things that are wrong with a call."""

    code: str
    detail: str
    parameter: str | None = None


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What would answer a lookup that was refused: another index with its parameters, or a definition (YAML)."""

    index: str | None = None
    parameters: Mapping[str, str] | None = None
    definition: str | None = None


class ProblemError(IndexTablesError):
    """A call was refused or failed; docs/http-api.md says of every `code` what to do.

    An answer without a problem, such as the platform's empty 401 for a wrong key, has the name of its status as `code`.
    """

    def __init__(self, status: int, members: Mapping[str, Any], retry_after: float | None = None) -> None:
        self.status = status
        self.code: str = members["code"]
        self.title: str = members.get("title", self.code)
        self.detail: str = members.get("detail", self.title)
        self.errors = tuple(Fault(**_known(each, Fault)) for each in members.get("errors", ()))
        suggested = members.get("suggestion")
        self.suggestion = None if suggested is None else Suggestion(**_known(suggested, Suggestion))
        self.retry_after = retry_after
        super().__init__(f"{self.code}: {self.detail}")

    @classmethod
    def of(cls, answer: httpx.Response) -> ProblemError:
        """The problem that an answer is."""
        members = problem_members(answer) or _platform_members(answer)
        return cls(answer.status_code, members, retry_after_seconds(answer))


def problem_members(answer: httpx.Response) -> dict[str, Any] | None:
    """The members of the problem in an answer; None where there is none."""
    try:
        content = json.loads(answer.content)
    except ValueError:
        return None
    return content if isinstance(content, dict) and isinstance(content.get("code"), str) else None


def retry_after_seconds(answer: httpx.Response) -> float | None:
    """How long the app asks to wait. It gives seconds; a date is left to the caller's own patience."""
    try:
        return max(0.0, float(answer.headers["Retry-After"]))
    except (KeyError, ValueError):
        return None


def _platform_members(answer: httpx.Response) -> dict[str, Any]:
    try:
        phrase = HTTPStatus(answer.status_code).phrase
    except ValueError:
        phrase = f"Status {answer.status_code}"
    code = answer.headers.get("x-ms-error-code") or phrase.title().replace(" ", "")
    if answer.status_code == HTTPStatus.UNAUTHORIZED:
        return {"code": code, "title": phrase, "detail": "The key or token is missing or not good for this app."}
    return {
        "code": code,
        "title": phrase,
        "detail": f"{answer.request.url.path} answers {answer.status_code} ({phrase}).",
    }


def _known(members: Mapping[str, Any], kind: type[Fault | Suggestion]) -> dict[str, Any]:
    """The members that this version knows."""
    return {name: value for name, value in members.items() if name in kind.__slots__}
