"""Readiness: can this instance do its work, and if not, why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.errors import IndexTablesError
from shared.web.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

RETRY_AFTER_SECONDS = 5


async def not_ready(check_storage: Callable[[], Awaitable[None]]) -> Problem | None:
    """Why the instance is not ready, or none when it is; `check_storage` raises when storage cannot be reached."""
    try:
        await check_storage()
    except IndexTablesError as error:
        return Problem(
            status=503,
            code="StorageUnreachable",
            title="The index storage cannot be reached",
            detail=str(error),
            headers={"Retry-After": str(RETRY_AFTER_SECONDS)},
        )
    return None
