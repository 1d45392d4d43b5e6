"""Liveness and readiness: can this instance do its work, and if not, why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict

from shared.web.answers import HttpAnswer, json_answer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from shared.definitions.loading.load import Loaded


class HealthJson(TypedDict):
    """What was found to be so."""

    status: Literal["live", "ready"]


async def live() -> HttpAnswer:
    """The process answers."""
    return json_answer(HealthJson(status="live"))


async def ready(
    definitions: Callable[[], Loaded],
    check_settings: Callable[[], None],
    check_storage: Callable[[], Awaitable[None]],
    check_catalog: Callable[[], Awaitable[None]],
) -> HttpAnswer:
    """Ready when the definitions have no fault and no check raises anything."""
    definitions().require()
    check_settings()
    await check_storage()
    await check_catalog()
    return json_answer(HealthJson(status="ready"))
