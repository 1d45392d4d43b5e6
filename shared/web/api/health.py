"""Liveness and readiness: can this instance do its work, and if not, why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.web.answers import HttpAnswer, json_answer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


async def live() -> HttpAnswer:
    """The process answers."""
    return json_answer({"status": "live"})


async def ready(check: Callable[[], Awaitable[None]]) -> HttpAnswer:
    """Ready when the check raises nothing."""
    await check()
    return json_answer({"status": "ready"})
