"""What negative controls of summaries share: scenarios in which only a wrong total counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.explore import Explorer
from tests.simulation.programs import Worker, batches_of
from tests.simulation.scenario import Scenario
from tests.simulation.summary_histories import PLAN, versions, workers

if TYPE_CHECKING:
    from shared.tables.memory.store import Store


class Totals(Scenario):
    """Only totals count: a rule that is broken may leave other traces, which prove nothing about it."""

    def problem(self, store: Store) -> str | None:
        """What a lookup would show wrongly, before the sweep or after it."""
        for _ in range(2):
            if text := self._differences(store):
                return text
            self._sweep(store)
        return None


def caught(scenario: Scenario) -> None:
    """Some interleaving shows a wrong total, at the latest at its end."""
    assert isinstance(scenario, Totals)
    report = Explorer(scenario).run()
    assert report.problem is not None
    # Not by what came before: it takes workers that meet, crash or come late.
    assert report.trace


def on_new_group(*specs: str) -> Totals:
    """A worker for each version, on an empty table."""
    changes = versions(*specs)
    return Totals("new", PLAN, changes, workers(changes), crashes=1, faults=1, switches=4)


def on_old_group(*specs: str, before: int) -> Totals:
    """The same after so many versions."""
    changes = versions(*specs)
    prefix = (Worker(PLAN, batches_of(*changes[:before])),)
    return Totals("old", PLAN, changes, workers(changes[before:]), prefix, crashes=1, faults=1, switches=4)
