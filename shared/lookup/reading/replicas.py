"""Where lookups read: the account's primary endpoint and, if the app wants it, its secondary when that fails."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol

from shared.errors import StorageUnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.tables.port import Continuation, Page, RowRange

_log = logging.getLogger(__name__)


class RangeReader(Protocol):
    """The calls of `shared.tables.port.Tables` that lookups make."""

    async def query(
        self,
        table: str,
        rows: RowRange,
        *,
        limit: int | None = None,
        select: Sequence[str] = (),
        continuation: Continuation | None = None,
    ) -> Page:
        """One page of a range, with all columns or the keys and these."""

    async def list_tables(self, prefix: str) -> tuple[str, ...]:
        """The tables whose names begin like this."""


class Replicas:
    """Reads from the primary, and only when that gives no answer from the secondary, which may be minutes behind."""

    def __init__(self, primary: RangeReader, secondary: RangeReader | None = None) -> None:
        self._primary = primary
        self._secondary = secondary

    async def query(
        self,
        table: str,
        rows: RowRange,
        limit: int,
        continuation: Continuation | None,
        select: Sequence[str] = (),
    ) -> tuple[Page, bool]:
        """One page of a range, and whether it is the secondary's."""
        try:
            page = await self._primary.query(table, rows, limit=limit, select=select, continuation=continuation)
            return page, False
        except StorageUnavailableError as error:
            if self._secondary is None:
                raise
            _log.warning(
                "The primary endpoint gave no answer; the lookup reads from the secondary",
                extra={"table": table, "error": type(error).__name__},
            )
        # A continuation is opaque and the primary's own: the secondary begins anew, which loses nothing as only
        # empty pages came before.
        return await self._secondary.query(table, rows, limit=limit, select=select), True

    async def list_tables(self, prefix: str) -> tuple[str, ...]:
        """The tables whose names begin like this."""
        try:
            return await self._primary.list_tables(prefix)
        except StorageUnavailableError:
            if self._secondary is None:
                raise
        return await self._secondary.list_tables(prefix)
