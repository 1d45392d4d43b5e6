"""Readiness: can this instance do its work, and if not, why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.errors import IndexTablesError
from shared.web.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from shared.definitions.findings import Finding

RETRY_AFTER_SECONDS = 5


async def not_ready(faults: Sequence[Finding], check_storage: Callable[[], Awaitable[None]]) -> Problem | None:
    """Why the instance is not ready, or none when it is; `check_storage` raises when storage cannot be reached."""
    if faults:
        return broken_definitions(faults)
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


def broken_definitions(faults: Sequence[Finding]) -> Problem:
    """The definitions have faults: all of them, so that they can be mended at once."""
    return Problem(
        status=503,
        code="BrokenDefinitions",
        title="The definitions have faults",
        detail=f"{len(faults)} of them, in `errors`. Mend each, check with `index-tables validate`, deploy again.",
        errors=tuple(
            {"file": fault.file, "line": fault.line, "key": fault.key, "detail": f"{fault.what}. {fault.mend}"}
            for fault in faults
        ),
    )
