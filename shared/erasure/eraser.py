"""Forces out what is left of a deleted fact, before its time.

The order: index rows, dead letters, reports, and the ledger row last, since it has the keys that lead to the others.
After a crash the call is made again. What changed since it was read stays, and so does a contribution that still
counts; then the ledger row stays with them, and the answer says that they are left.

It gives up what the rest was kept for:
- A request that is still on its way can bring a row back, which nothing hides and no ledger row knows: within the sweep
  delay of the delete.
- An older change that comes again (a lagging partition of a hub, a replay, a build) brings the fact back, since nothing
  remembers that it was deleted. A verification finds both.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from shared.erasure.remains import shown
from shared.errors import LifecycleRefusedError, OperationFailedError, TableMissingError
from shared.pipeline.ledger.rows import LEDGER_TABLE
from shared.tables.port import Delete

if TYPE_CHECKING:
    from shared.erasure.remains import FactAddress, LeftRow, Remains, RemainsFinder, Remnant
    from shared.pipeline.apply.services import Services
    from shared.verification.rows import VerificationRows

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WhatIsLeft:
    """What is left of a fact. `is_deleted` is None when the ledger does not know it: forgotten, or never there."""

    is_deleted: bool | None
    deleted_at_seconds: int | None
    remnants: tuple[Remnant, ...]


class Eraser:
    """Shows and forces out what is left of facts."""

    def __init__(self, finder: RemainsFinder, services: Services, verifications: VerificationRows) -> None:
        self._finder = finder
        self._services = services
        self._verifications = verifications

    async def look(self, fact: FactAddress) -> WhatIsLeft:
        """What is left of a fact."""
        found = await self._finder.find(fact)
        is_deleted = None if found.ledger is None else not found.is_there
        return WhatIsLeft(is_deleted, found.row.deleted_at_seconds, tuple(shown(found, self._services)))

    async def erase(self, fact: FactAddress) -> WhatIsLeft:
        """Force everything out, and say what is left all the same; raises `LifecycleRefusedError` for a fact that is
        there, or that owes its removal to an account that is down."""
        found = await self._finder.find(fact)
        if found.is_there:
            raise LifecycleRefusedError(
                "NotDeleted", "The fact is not deleted, as far as the ledger knows: delete it where it lives, and wait."
            )
        if found.row.debts:
            raise LifecycleRefusedError(
                "StillOwed", f"Its removal is owed to {', '.join(sorted(found.row.debts))}: wait until that answers."
            )
        await self._erase(found)
        _log.info("What was left of a fact was erased", extra={"source": fact.source})
        left = await self.look(fact)
        if found.ledger is None or left.is_deleted is not None:
            return left
        # It was known until now.
        return replace(left, is_deleted=True, deleted_at_seconds=found.row.deleted_at_seconds)

    async def _erase(self, found: Remains) -> None:
        # Of an entry key the newest comes first in the list, and goes last: no row is shown that another one hid.
        gone = [await self._is_gone(row) for row in reversed(found.rows)]
        store = self._services.dead_letter_store()
        for dead_letter in found.dead_letters:
            await store.remove(dead_letter)
        for index, task in found.verifications:
            await self._verifications.forget_fact(index, task, found.fact_key)
        if found.ledger is not None and all(gone):
            with suppress(OperationFailedError):
                delete = Delete(found.partition, found.fact_key, found.ledger.etag)
                await self._services.accounts.main.transact(LEDGER_TABLE, [delete])

    async def _is_gone(self, row: LeftRow) -> bool:
        """Delete a row, unless it counts or has changed; whether it is gone."""
        if row.counts:
            return False
        delete = Delete(row.place.partition, row.row_key, row.etag)
        try:
            await self._services.accounts.tables(row.place.account).transact(row.place.table, [delete])
        except OperationFailedError:
            return False
        except TableMissingError:
            pass  # its rows went with it
        return True
