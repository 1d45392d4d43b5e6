"""Totals are the sums of their contributions at every moment: they are added up again after every transaction."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from shared.tables.port import key_of
from tests.simulation.programs import stored_name
from tests.simulation.random_runs.coverage import Coverage, Event
from tests.simulation.steps import ViolationError
from tests.simulation.summary_truth import broken_totals_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shared.entries.projection.generations import SourcePlan
    from shared.tables.memory.calls import Transact
    from shared.tables.memory.store import Store
    from shared.tables.port import Operation


class TotalsWatch:
    """Looks at the partition that a transaction has just changed, if it is one of a summary."""

    def __init__(self, plan: SourcePlan, store: Store, coverage: Coverage) -> None:
        self._tables = {
            stored_name(account, table)
            for generation in plan.generations
            if generation.layout is not None
            for account, table in generation.tables()
        }
        self._store = store
        self._coverage = coverage
        self._is_off = False

    def look(self, call: Transact) -> None:
        """Raise `ViolationError` for a total that is wrong now."""
        if self._is_off or call.table not in self._tables:
            return
        self._coverage[Event.ADDED_UP] += 1
        self._coverage[Event.OTHER_LANE] += any(map(_is_of_other_lane, call.operations))
        partition, _ = key_of(call.operations[0])
        if text := broken_totals_in(call.table, str(partition), self._store):
            raise ViolationError(f"{text} after {call}")

    @contextmanager
    def off(self) -> Iterator[None]:
        """While damage is repaired."""
        self._is_off = True
        try:
            yield
        finally:
            self._is_off = False


def _is_of_other_lane(operation: Operation) -> bool:
    """Whether it writes a total that is not in the first lane of its group."""
    row_key = str(key_of(operation)[1])
    return row_key.startswith("0") and not row_key.endswith("0")
