"""Closes dead letters that are outdated though no worker has noticed: a timer's walk, with a part of them in each run.

A worker that puts a dead letter looks afterwards whether it is due. But it may end in between while another worker has
acknowledged the fact's newer versions, so that no batch comes again; or its put lands late, when nothing else follows.

A ledger row never goes back to an older version, and a dead letter is put after its version is claimed. So what is
outdated once stays outdated, and needs no other look than that of a worker that knows nothing of what is written.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Final

from shared.entries.keys.fact_key import encode_fact_key, fact_hash
from shared.pipeline.concurrency import all_of
from shared.pipeline.dead_letters.due import DueCheck, is_due
from shared.pipeline.dead_letters.rows import DEAD_LETTER_TABLE, SUMMARY, stored_dead_letter
from shared.pipeline.ledger.rows import ledger_partition
from shared.tables.port import RowRange
from shared.tasks.bookmarks import Bookmark, Bookmarks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shared.entries.projection.generations import SourcePlan
    from shared.pipeline.concurrency import RunAll
    from shared.pipeline.dead_letters.rows import StoredDeadLetter
    from shared.pipeline.dead_letters.store import DeadLetterStore
    from shared.tables.port import Row, Tables

# Per run and source, of a thousand dead letters each: reading the ledger row of each takes a minute or two.
PAGES: Final = 20
_WALK: Final = "outdated dead letters"

_log = logging.getLogger(__name__)


class OutdatedWalk:
    """Walks through the dead letters of every source, round after round."""

    def __init__(self, tables: Tables, dead_letters: DeadLetterStore, run_all: RunAll) -> None:
        self._tables = tables
        self._dead_letters = dead_letters
        self._run_all = run_all
        self._bookmarks = Bookmarks(tables, _WALK)

    async def close(self, plans: Iterable[SourcePlan], pages: int = PAGES) -> int:
        """Continue through at most `pages` of each source; return how many dead letters were closed."""
        closed = sum([await self._close(plan, pages) for plan in plans])
        _log.info("Outdated dead letters closed", extra={"closed": closed})
        return closed

    async def _close(self, plan: SourcePlan, pages: int) -> int:
        closed, continuation = 0, (await self._bookmarks.read(plan.source)).continuation
        for _ in range(pages):
            page = await self._tables.query(
                DEAD_LETTER_TABLE, RowRange(plan.source), select=SUMMARY, continuation=continuation
            )
            looks = [partial(self._close_outdated, plan, row) for row in page.rows]
            closed += sum(await all_of(self._run_all, looks))
            continuation = page.continuation
            if continuation is None:
                break
        await self._bookmarks.keep(plan.source, Bookmark(continuation=continuation))
        return closed

    async def _close_outdated(self, plan: SourcePlan, row: Row) -> bool:
        dead_letter = await self._with_fact(stored_dead_letter(row))
        if dead_letter is None or dead_letter.fact_id is None:
            return False
        fact_key = encode_fact_key(dead_letter.partition_key, dead_letter.fact_id)
        key = (ledger_partition(plan.source, fact_hash(fact_key), plan.buckets), fact_key)
        check = DueCheck(fact_key, key, dead_letter.version, dead_letter.index, was_put=False, has_written=_not_known)
        look = partial(is_due, self._tables, plan, check)
        # Nearly all of them are due: then the dead letter itself need not be read again.
        return not await look(dead_letter.version) and await self._dead_letters.close(
            dead_letter.source, dead_letter.id, look
        )

    async def _with_fact(self, dead_letter: StoredDeadLetter) -> StoredDeadLetter | None:
        """A very long id is not in the summary. None for what could not be read, or is gone."""
        if dead_letter.is_unreadable:
            return None
        if dead_letter.fact_id is not None:
            return dead_letter
        row = await self._tables.get(DEAD_LETTER_TABLE, dead_letter.source, dead_letter.id)
        return None if row is None else stored_dead_letter(row)


def _not_known(generation: str, version: str) -> bool:
    """Whether the entries of a version are written: only the worker that did it knows."""
    return False
