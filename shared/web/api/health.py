"""Liveness and readiness: can this instance do its work, and if not, why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict

from shared.web.answers import HttpAnswer, json_answer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


class HealthJson(TypedDict):
    """What was found to be so."""

    status: Literal["live", "ready"]


async def live() -> HttpAnswer:
    """The process answers."""
    return json_answer(HealthJson(status="live"))


async def ready(check: Callable[[], Awaitable[None]]) -> HttpAnswer:
    """Ready when the check raises nothing."""
    await check()
    return json_answer(HealthJson(status="ready"))
