"""Which periods a lookup reads: the near ones, which may get entries at any moment, and those beyond that have a table.

Far periods are rare (a fact that expires in ten years, a sender whose clock is wrong), so that what the service lists
is kept for a while. Whoever must see a change of their own has it listed afresh.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from shared.keys.periods import UNDATED

if TYPE_CHECKING:
    from collections.abc import Callable

    from shared.keys.periods import Periods
    from shared.lookup.generations import Generation
    from shared.lookup.replicas import Replicas

LISTED_SECONDS: Final = 30.0


class _Listed(NamedTuple):
    at_seconds: float
    starts: frozenset[str]


@dataclass(slots=True)
class PeriodsToRead:
    """Knows the periods of generations."""

    replicas_of: Callable[[str], Replicas]
    _listed: dict[str, _Listed] = field(init=False, default_factory=dict)

    async def of(self, generation: Generation, periods: Periods, now_seconds: float, *, afresh: bool) -> list[str]:
        """What is undated, and every period that may have entries which have not expired; in order."""
        known = self._listed.get(generation.id)
        # A clock that went back says nothing about how old the list is.
        if afresh or known is None or not 0 <= now_seconds - known.at_seconds < LISTED_SECONDS:
            known = _Listed(now_seconds, await self._list(generation, periods))
            self._listed[generation.id] = known
        near = periods.near(now_seconds)
        return [UNDATED, *sorted({*near, *(start for start in known.starts if start > near[0])})]

    async def _list(self, generation: Generation, periods: Periods) -> frozenset[str]:
        found: set[str] = set()
        for account in generation.keys.accounts.accounts:
            names = await self.replicas_of(account).list_tables(f"{generation.table}p")
            found.update(periods.starts_in(names, generation.table))
        return frozenset(found)
