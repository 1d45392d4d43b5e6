"""Sweeps contributions that are gone: long after they were written, when no late request can bring them back.

The message has the ETag of the row, so nothing is read: a row that has changed since belongs to whoever changed it. The
totals are not touched, since a row that is gone counts in none.

A second look (`shared.pipeline.cleanup.swept_keys`) has no ETag: it takes a row that is gone at the very version that
the message names. No request from before that version can land any more.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from shared.entries.rows.entry_row import is_tombstone
from shared.entries.summaries.rows import AT
from shared.errors import OperationFailedError, TableMissingError
from shared.pipeline.concurrency import all_of
from shared.tables.limits import OPERATIONS_MAX
from shared.tables.port import Delete

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shared.entries.projection.generations import Place
    from shared.pipeline.concurrency import RunAll
    from shared.tables.accounts import Accounts
    from shared.tables.port import Row

# The ETag of a message that takes a row as it is.
ANY_ETAG: Final = ""

_log = logging.getLogger(__name__)


class GoneContribution(NamedTuple):
    """A row that says that a fact left a group: its place, RowKey, version and ETag."""

    place: Place
    row_key: str
    version: str
    etag: str


class ContributionSweeper:
    """Sweeps rows that messages name."""

    def __init__(self, accounts: Accounts, run_all: RunAll) -> None:
        self._accounts = accounts
        self._run_all = run_all

    async def sweep(self, gone: Sequence[GoneContribution]) -> list[GoneContribution]:
        """Delete all that are as they were; return all but those whose rows have yet to go. Raises when storage fails,
        so that the message returns."""
        looks = [each for each in gone if each.etag == ANY_ETAG]
        rows = await all_of(self._run_all, [partial(self._look, each) for each in looks])
        seen = {each: row for each, row in zip(looks, rows, strict=True) if row is not None}
        again = {each: each._replace(etag=row.etag) for each, row in seen.items() if _is_gone(row, each)}
        known = [*(each for each in gone if each.etag != ANY_ETAG), *again.values()]
        swept = sum(await all_of(self._run_all, [partial(self._sweep, *group) for group in _transactions(known)]))
        if gone:
            _log.info("Swept contributions", extra={"named": len(gone), "swept": swept})
        return [each for each in gone if each not in seen or each in again]

    async def _look(self, gone: GoneContribution) -> Row | None:
        place = gone.place
        try:
            return await self._accounts.tables(place.account).get(place.table, place.partition, gone.row_key)
        except TableMissingError:
            return None

    async def _sweep(self, place: Place, gone: Sequence[GoneContribution]) -> int:
        left = list(gone)
        while left:
            deletes = [Delete(place.partition, each.row_key, each.etag) for each in left]
            try:
                await self._accounts.tables(place.account).transact(place.table, deletes)
                break
            except OperationFailedError as error:
                del left[error.index]
            except TableMissingError:
                return 0  # the generation is retired, and its table dropped
        return len(left)


def _is_gone(row: Row, gone: GoneContribution) -> bool:
    return is_tombstone(row.entity) and row.entity.get(AT) == gone.version


def _transactions(gone: Iterable[GoneContribution]) -> list[tuple[Place, list[GoneContribution]]]:
    """Up to a hundred of a partition together; a row that is named twice, with two ETags, in two transactions."""
    found: list[tuple[Place, list[GoneContribution]]] = []
    open_at: dict[Place, tuple[list[GoneContribution], set[str]]] = {}
    for each in dict.fromkeys(gone):
        together, row_keys = open_at.get(each.place, ([], set()))
        if not together or len(together) == OPERATIONS_MAX or each.row_key in row_keys:
            together, row_keys = open_at[each.place] = ([], set())
            found.append((each.place, together))
        together.append(each)
        row_keys.add(each.row_key)
    return found
