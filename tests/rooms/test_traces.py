"""A change and a lookup go down through the rooms and come back; they do not jump between them.

A room is a folder directly below `shared/`. Every call of a function of `shared` is recorded, and a switch is a call in
another room than the call before it. The limits only go down: a higher one says that two rooms share one idea.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from inspect import CO_COROUTINE, CO_GENERATOR
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import shared
from shared.app.parts import Parts
from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.lookup.lookups import new_lookups
from shared.monitoring import telemetry
from shared.tables.accounts import Accounts
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.retry import Timing
from shared.web.access import Rights
from shared.web.answers import answer_or_problem
from shared.web.api.lookups import LookupApi
from tests.worlds.world import TOWNS, definitions_of, services_on

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from types import FrameType

    from shared.pipeline.outcome import BatchOutcome

T = TypeVar("T")

SWITCHES_OF_A_MOVE: Final = 22
SWITCHES_OF_A_LOOKUP: Final = 20

NOW_SECONDS: Final = 1_800_000_000.0
URL: Final = "http://h/api/indexes/by-town/entries?town=Oslo&name.ge=a&maxpagesize=10"
_SHARED: Final = Path(shared.__file__).parent


class Trace:
    """The calls of functions of `shared` while some work is awaited, in order; resumed coroutines do not count."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        # Kept, so that no other frame gets the same identity.
        self._suspended: dict[int, FrameType] = {}

    async def of(self, work: Awaitable[T]) -> T:
        """What the work gives."""
        sys.setprofile(self._note)
        try:
            return await work
        finally:
            sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event != "call" or not path.is_relative_to(_SHARED) or id(frame) in self._suspended:
            return
        if frame.f_code.co_flags & (CO_COROUTINE | CO_GENERATOR):
            self._suspended[id(frame)] = frame
        room = path.relative_to(_SHARED).parts[0]
        self.calls.append(f"{room}: {path.stem}.{frame.f_code.co_qualname}")

    @property
    def switches(self) -> int:
        """How often a call is in another room than the call before it."""
        rooms = [call.partition(":")[0] for call in self.calls]
        return sum(before != after for before, after in pairwise(rooms))


def _report(source: str, outcome: BatchOutcome) -> None:
    """As the app does."""
    telemetry.batch_applied(source, outcome.numbers())


async def _sleep(_: float) -> None:
    return


class _App:
    """A worker and lookups over one Table service in memory."""

    def __init__(self) -> None:
        definitions, tables = definitions_of(TOWNS), MemoryTables()
        timing = Timing(lambda: NOW_SECONDS, lambda: NOW_SECONDS, _sleep, lambda: 0.5)
        services = services_on(Accounts({DEFAULT_ACCOUNT: tables}), lambda: NOW_SECONDS)
        self.parts = Parts(definitions, replace(services, report=_report))
        lookups = new_lookups(definitions, [tables], bytes(32), timing, 30, now_seconds=lambda: NOW_SECONDS)
        self.lookups = LookupApi(definitions, lookups.generations, lookups, Rights(definitions.access, None))

    async def apply(self, trace: Trace, town: str, seconds: int) -> None:
        """A version of one fact, as the trigger delivers it."""
        document = {"id": "f", "town": town, "name": "ann", "phone": "1", "_ts": seconds, "_lsn": seconds}
        await trace.of(self.parts.worker.apply_latest("people", [{**document, "_etag": f'"{seconds}"', "_rid": "r"}]))

    async def find(self, trace: Trace) -> bytes:
        """A lookup, as it is answered on HTTP."""
        answer = await trace.of(answer_or_problem(self.lookups.entries("by-town", URL, None)))
        assert answer.status == 200
        return answer.body


async def test_a_fact_that_moves_switches_rooms_seldom() -> None:
    app = _App()
    await app.parts.ready()
    # What only the first call does is done: imports, caches, the catalog.
    await app.apply(Trace(), "Seattle", 1_700_000_000)
    trace = Trace()
    await app.apply(trace, "Oslo", 1_700_000_001)
    assert trace.switches <= SWITCHES_OF_A_MOVE, "\n".join(trace.calls)


async def test_a_lookup_switches_rooms_seldom() -> None:
    app = _App()
    await app.parts.ready()
    await app.apply(Trace(), "Oslo", 1_700_000_000)
    first = await app.find(Trace())
    trace = Trace()
    assert await app.find(trace) == first
    assert b'"ann"' in first
    assert trace.switches <= SWITCHES_OF_A_LOOKUP, "\n".join(trace.calls)
