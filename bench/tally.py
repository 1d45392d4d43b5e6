"""Counts what the pipeline asks of the Table service, apart for the ledger and for the index tables."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeVar

from shared.pipeline.ledger_rows import LEDGER_TABLE

if TYPE_CHECKING:
    from shared.tables.calls import Call
    from shared.tables.store import Store

T = TypeVar("T")
LEDGER, ENTRY = "ledger", "entry"


class Tally:
    """A carrier that performs every call at once, and counts requests, entities and bytes written."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    async def carry(self, call: Call[T], store: Store) -> T:
        """The answer, once counted: a request that fails is on the bill, too."""
        whose = LEDGER if call.table == LEDGER_TABLE else ENTRY
        self._counts[f"{whose} transactions"] += 1
        self._counts[f"{whose} entities"] += len(getattr(call, "operations", ())) or 1
        return call.perform(store)

    def take(self) -> dict[str, int]:
        """The counts since the last call."""
        counts = {f"{whose} {what}": 0 for whose in (LEDGER, ENTRY) for what in ("transactions", "entities")}
        counts |= self._counts
        self._counts.clear()
        return counts
