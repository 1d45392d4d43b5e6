"""Which periods a lookup reads: the near ones, which may get entries at any moment, and those beyond that have a table.

Far periods are rare (a fact that expires in ten years, a sender whose clock is wrong), so that what the service lists
is kept for a while. For a caller that must see its own write it is listed afresh.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from shared.entries.keys.periods import UNDATED

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from shared.entries.keys.periods import Periods
    from shared.lookup.generations import ReadableGeneration
    from shared.lookup.reading.replicas import Replicas

LISTED_SECONDS: Final = 30.0


class _Listed(NamedTuple):
    at_seconds: float
    starts: frozenset[str]


@dataclass(slots=True)
class PeriodsToRead:
    """Knows the periods of generations, in each account by itself: one that is down does not concern the others."""

    replicas_of: Callable[[str], Replicas]
    _listed: dict[tuple[str, str], _Listed] = field(init=False, default_factory=dict)

    async def of(
        self,
        generation: ReadableGeneration,
        accounts: AbstractSet[str],
        periods: Periods,
        now_seconds: float,
        *,
        afresh: bool,
    ) -> list[str]:
        """What is undated, and every period that may have entries in these accounts, unless it is over; in order."""
        near = periods.near(now_seconds)
        starts = set(near)
        for account in sorted(accounts):
            listed = await self._list(generation, account, periods, now_seconds, afresh=afresh)
            starts.update(start for start in listed if start > near[0])
        return [UNDATED, *sorted(starts)]

    async def _list(
        self, generation: ReadableGeneration, account: str, periods: Periods, now_seconds: float, *, afresh: bool
    ) -> frozenset[str]:
        known = self._listed.get((generation.id, account))
        # A clock that went back says nothing about how old the list is.
        if afresh or known is None or not 0 <= now_seconds - known.at_seconds < LISTED_SECONDS:
            names = await self.replicas_of(account).list_tables(f"{generation.table}p")
            known = _Listed(now_seconds, frozenset(periods.starts_in(names, generation.table)))
            self._listed[generation.id, account] = known
        return known.starts
