"""Index accounts that go down and come back while everything runs, and what the processes believe of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.entries.keys.placement import DEFAULT_ACCOUNT
from tests.simulation.outages import end_outages, is_down, set_down
from tests.simulation.random_runs.coverage import Coverage, Event

if TYPE_CHECKING:
    from random import Random

    from shared.entries.projection.generations import SourcePlan
    from shared.tables.memory.store import Store

_GOES_DOWN = 0.004
_COMES_BACK = 0.03
_BELIEF_CHANGES = 0.02


class AccountsDown:
    """Which accounts are down, and which ones are believed to be: right as a rule, and wrong now and then."""

    def __init__(self, random: Random, store: Store, coverage: Coverage) -> None:
        self.believed: set[str] = set()
        self._random = random
        self._store = store
        self._coverage = coverage

    def step(self, plan: SourcePlan) -> None:
        """Perhaps an account goes down or comes back, and perhaps somebody notices, or errs."""
        for account in sorted(plan.accounts - {DEFAULT_ACCOUNT}):
            down = is_down(self._store, account)
            if self._random.random() < (_COMES_BACK if down else _GOES_DOWN):
                set_down(self._store, account, down=not down)
                self._coverage[Event.OUTAGE] += not down
            if self._random.random() < _BELIEF_CHANGES:
                is_right = self._random.random() < 0.8
                (self.believed.add if down == is_right else self.believed.discard)(account)

    def end(self) -> None:
        """Every account answers."""
        end_outages(self._store)
        self.believed.clear()
