"""Readers that page with the real lookups while everything goes on. What is there throughout must be read."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import orjson

from shared.entries.keys.index_keys import split_row_key
from shared.entries.projection.generations import place_of
from shared.entries.rows.entry_row import is_expired, is_tombstone
from shared.inputs.page_tokens import PageTokens
from shared.lookup.generations import DefinedGenerations
from shared.lookup.lookups import Lookups
from shared.lookup.reading.periods import LISTED_SECONDS
from shared.lookup.reading.replicas import Replicas
from shared.tables.wire.entity import decode
from tests.simulation.programs import EveryAccount, accounts, stored_name
from tests.simulation.random_runs.clock import SKEW_MAX
from tests.simulation.random_runs.coverage import Coverage, Event
from tests.simulation.random_runs.feed import STEADY
from tests.simulation.random_runs.group_readers import GroupReader, Groups
from tests.simulation.random_runs.indexes import QUESTIONS, SUMMARIES
from tests.simulation.steps import ViolationError, interleaved
from tests.simulation.truth import tables_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from collections.abc import Set as AbstractSet
    from random import Random

    from shared.entries.projection.generations import Generation
    from shared.tables.memory.store import Store
    from tests.simulation.random_runs.clock import Clock
    from tests.simulation.random_runs.indexes import Code
    from tests.simulation.random_runs.scheduler import Scheduler

_PLACED: Final = ("ONE", "TWO")
# A part of the partition, and the value that is asked for.
Question: TypeAlias = tuple[str, str]


def new_lookups(code: Code, clock: Callable[[], float]) -> Lookups:
    """The lookups of a process, over every account."""
    tables = EveryAccount()
    return Lookups(
        DefinedGenerations(code.definitions),
        Replicas(accounts().main),
        PageTokens(b"key"),
        placed={name: Replicas(tables[name]) for name in _PLACED},
        now_seconds=clock,
        new_run_all=lambda: interleaved,
    )


@dataclass(slots=True, eq=False)
class Partition:
    """The part of an index that a reader asks for, with what it has shown ever since the reader began."""

    generation: Generation
    value: str
    store: Store
    now: Callable[[], float]
    # Tables that lookups need not know yet.
    unlisted: AbstractSet[str]
    # Fact and entry key of each entry that was there at every moment, and the periods that it was in.
    there: dict[tuple[str, str], set[str]] = field(init=False)
    writes: int = 0

    def __post_init__(self) -> None:
        self.there = {key: {partition} for key, partition in self._shown()}

    def look_again(self, table: str) -> None:
        """After a write to a table: what is not shown any more is not there throughout."""
        if self.generation.table in table:
            self.writes += 1
            self._keep_shown()

    def end(self) -> None:
        """What expires while the reader reads is not there throughout."""
        self._keep_shown()

    def _keep_shown(self) -> None:
        shown = dict(self._shown())
        self.there = {key: places | {shown[key]} for key, places in self.there.items() if key in shown}

    def _shown(self) -> Iterator[tuple[tuple[str, str], str]]:
        """Entries that every clock takes for shown."""
        for table in tables_in(self.store, self.generation):
            if table in self.unlisted:
                continue
            for partition in self.store.partition_keys(table):
                if self._is_asked(partition):
                    place = place_of(self.generation, partition)
                    if stored_name(place.account, place.table) == table:
                        yield from self._in_partition(table, partition)

    def _is_asked(self, partition: str) -> bool:
        """Shard and period come before the value."""
        return f" {partition}".endswith(f" {self.value} !")

    def _in_partition(self, table: str, partition: str) -> Iterator[tuple[tuple[str, str], str]]:
        newest: set[str] = set()
        bodies = {key: stored.body for key, stored in self.store.partition(table, partition).items()}
        # Of the rows of an entry key, the newest sorts first.
        for key in sorted(key for key, body in bodies.items() if body is not None):
            entry_key, _ = split_row_key(key)
            if entry_key not in newest:
                newest.add(entry_key)
                entity = _entity(bodies[key])
                if not is_tombstone(entity) and not is_expired(entity, self.now() + 2 * SKEW_MAX):
                    yield (json.loads(entity["_fact"])["id"], entry_key), partition


@lru_cache(maxsize=4096)
def _entity(body: bytes) -> Any:
    return decode(orjson.loads(body))


@dataclass(slots=True, eq=False)
class Reader:
    """Reads a part of an index from its beginning to its end."""

    lookups: Lookups
    part: Partition
    page_size: int
    coverage: Coverage

    async def __call__(self) -> None:
        """Raise `ViolationError` for an entry that is there throughout and was not read."""
        name = self.part.generation.index.name
        asked: dict[str, str] | None = {QUESTIONS[name][0]: self.part.value, "maxpagesize": str(self.page_size)}
        ids: list[str] = []
        while asked is not None:
            page = await self.lookups.find(name, asked)
            self.coverage[Event.READ_PAGE] += 1
            ids += [str(entry["id"]) for entry in page.entries]
            asked = page.next_parameters
        self.part.end()
        self._check(ids)

    def _check(self, ids: list[str]) -> None:
        self.coverage[Event.READ] += 1
        self.coverage[Event.READ_BESIDE_WRITES] += self.part.writes > 0
        self.coverage[Event.MOVED_PERIOD] += any(len(places) > 1 for places in self.part.there.values())
        what = f"a reader of {self.part.generation.index.name} with pages of {self.page_size}"
        if missed := {fact for fact, _ in self.part.there} - set(ids):
            raise ViolationError(f"{what} missed {sorted(missed)}: it saw {ids}")
        # What moves is seen twice for a moment.
        if ids.count(STEADY[0]) > 1:
            raise ViolationError(f"{what} saw {STEADY[0]} {ids.count(STEADY[0])} times: {ids}")


class Readers:
    """The readers of a run, in two processes whose lookups remember what they have seen."""

    def __init__(self, code: Code, random: Random, store: Store, clock: Clock, scheduler: Scheduler) -> None:
        self._random = random
        self._store = store
        self._clock = clock
        self._scheduler = scheduler
        self._lookups = [new_lookups(code, clock.of_process()) for _ in range(2)]
        self._reading: list[Reader | GroupReader] = []
        self._made_at: dict[str, float] = {}
        scheduler.on_write = self._look_again

    def start(self, code: Code) -> None:
        """Some process begins to read some index."""
        names = [name for name in QUESTIONS if name in code.definitions.indexes]
        # What moves from table to table is read more often.
        dated = [name for name in names if code.definitions.indexes[name].expire]
        name = self._random.choice([*names, *dated])
        # Of an index in two generations, the one that the definitions say serves.
        generation = [found for found in code.plan.generations if found.index.name == name][-1]
        size = self._random.choice([1, 1, 2, 3, 50])
        lookups, coverage = self._random.choice(self._lookups), self._scheduler.coverage
        reader: Reader | GroupReader
        if name in SUMMARIES:
            reader = GroupReader(lookups, Groups(generation, QUESTIONS[name], self._store), size, coverage)
        else:
            part = Partition(generation, QUESTIONS[name][1], self._store, self._clock, self._unlisted())
            reader = Reader(lookups, part, size, coverage)
        self._reading.append(reader)
        self._scheduler.start(reader, f"reader of {name}", lambda _: self._reading.remove(reader), crashes=False)

    def _unlisted(self) -> set[str]:
        """Tables of far periods that are so young that lookups may not have listed them."""
        since = self._clock.now - LISTED_SECONDS
        return {table for table, made_at in self._made_at.items() if made_at >= since}

    def _look_again(self, table: str) -> None:
        if table in self._store.tables():
            self._made_at.setdefault(table, self._clock.now)
        for reader in self._reading:
            reader.part.look_again(table)
