"""Lanes in simulations: workers that keep apart, and a reader that adds the lanes of a group up one by one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from shared.inputs.page_tokens import PageTokens
from shared.lookup.generations import DefinedGenerations
from shared.lookup.lookups import Lookups
from shared.lookup.reading.replicas import Replicas
from shared.pipeline.summaries.lanes import Lanes
from shared.tables.memory.calls import Query
from shared.tables.memory.memory_tables import MemoryTables
from tests.simulation.steps import Stopping, ViolationError, interleaved

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.definitions.model import Definitions
    from shared.entries.projection.generations import Place
    from shared.tables.memory.calls import Call
    from shared.tables.memory.store import Store

T = TypeVar("T")


class LanesFrom(Lanes):
    """Those of a worker that begins in another lane than the first, as if it had met others before."""

    def __init__(self, first: int) -> None:
        super().__init__()
        self._first = first

    def lane_of(self, place: Place, sort: str) -> int:
        """The lane for new contributions to a group."""
        return self._lanes.get((place, sort), self._first)


class RowByRow:
    """A carrier that stops at every call, and whose pages have one row: Azure may end a page anywhere."""

    async def carry(self, call: Call[T], store: Store) -> T:
        """The answer that the scheduler gives."""
        any_call: Any = call
        if isinstance(any_call, Query):
            any_call = replace(any_call, limit=1)
        return cast(T, await Stopping().carry(any_call, store))


@dataclass(frozen=True, slots=True)
class GroupReader:
    """Looks groups up beside workers. No group ever has more facts than this."""

    definitions: Definitions
    index: str
    parameters: Mapping[str, str]
    measure: str
    most: int

    async def __call__(self) -> None:
        """Raise `ViolationError` for a fact that is counted twice."""
        lookups = Lookups(
            DefinedGenerations(self.definitions),
            Replicas(MemoryTables(carrier=RowByRow())),
            PageTokens(b"key"),
            new_run_all=lambda: interleaved,
        )
        page = await lookups.find(self.index, self.parameters)
        for entry in page.entries:
            if entry["data"][self.measure] > self.most:
                raise ViolationError(f"a reader of {self.index} counted a fact twice: {entry}")

    def __str__(self) -> str:
        return "group reader"
