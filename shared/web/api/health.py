"""Liveness and readiness: can this instance do its work, and if not, why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, NotRequired, TypedDict

from shared.definitions.answer_types import SchemaKeywords
from shared.web.answers import HttpAnswer, json_answer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


class HealthJson(TypedDict):
    """What was found to be so."""

    status: Literal["live", "ready", "degraded"]
    limits: NotRequired[Annotated[list[str], SchemaKeywords("What does not work, while the rest does.")]]


async def live() -> HttpAnswer:
    """The process answers."""
    return json_answer(HealthJson(status="live"))


async def ready(check: Callable[[], Awaitable[list[str]]]) -> HttpAnswer:
    """Ready when the check raises nothing; degraded when it finds limits. The instance works then, too."""
    limits = await check()
    return json_answer(HealthJson(status="degraded", limits=limits) if limits else HealthJson(status="ready"))
