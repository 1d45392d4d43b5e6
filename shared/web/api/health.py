"""Liveness and readiness: can this instance do its work, and if not, why."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal, NotRequired, TypedDict

import orjson

from shared.definitions.answer_types import SchemaKeywords
from shared.web.answers import HttpAnswer, answer_or_problem, json_answer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


class HealthJson(TypedDict):
    """What was found to be so."""

    status: Literal["live", "ready", "degraded"]
    limits: NotRequired[Annotated[list[str], SchemaKeywords("What does not work, while the rest does.")]]


async def live() -> HttpAnswer:
    """The process answers."""
    return json_answer(HealthJson(status="live"))


async def ready(check: Callable[[], Awaitable[list[str]]], *, tells_details: bool = True) -> HttpAnswer:
    """Ready when the check raises nothing; degraded when it finds limits. The instance works then, too. Without
    details, the answer says no more than that."""
    answer = await answer_or_problem(_ready(check))
    return answer if tells_details else _without_details(answer)


async def _ready(check: Callable[[], Awaitable[list[str]]]) -> HttpAnswer:
    limits = await check()
    return json_answer(HealthJson(status="degraded", limits=limits) if limits else HealthJson(status="ready"))


def _without_details(answer: HttpAnswer) -> HttpAnswer:
    shown = {name: value for name, value in orjson.loads(answer.body).items() if name not in ("limits", "errors")}
    if "detail" in shown:
        shown["detail"] = "GET /api/health/details says what is wrong, with a key or as an operator."
    return replace(answer, body=orjson.dumps(shown))
