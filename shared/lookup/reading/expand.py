"""`expand=fact`: each entry with its fact as it is now. A fact that is gone or has other keys by now is left out.

That makes lookups of references read-fresh: the index says where to look, the fact says whether it is true.
"""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from shared.entries.changes.change import FactReader
from shared.entries.changes.paths import EvaluationError
from shared.entries.keys.fact_key import encode_fact_key, fact_hash
from shared.entries.projection.key_values import KeyValueReader, RefusedValueError, TooManyEntriesError
from shared.errors import UnreadableChangeError
from shared.lookup.reading.results import answer_size
from shared.tables.port import PARTITION_KEY

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from shared.entries.rows.columns import StoredEntry
    from shared.lookup.generations import ReadableGeneration
    from shared.lookup.reading.results import ReadEntry
    from shared.lookup.reading.stretches import NewestRow
    from shared.sources.ports import Facts

READ_AHEAD: Final = 8


class _ReadAhead:
    """Reads facts in order, a few ahead of the one that is asked for: a fact takes up to 2 MB, and more in memory."""

    def __init__(
        self,
        read: Callable[[StoredEntry], Awaitable[dict[str, Any] | None]],
        wanted: Mapping[str, StoredEntry],
        ahead: int,
    ) -> None:
        self._read = read
        self._ahead = ahead
        self._wanted = iter(wanted.items())
        self._known: dict[str, tuple[dict[str, Any] | None, int]] = {}
        self._started: dict[str, asyncio.Task[dict[str, Any] | None]] = {}

    async def fact(self, fact_key: str) -> tuple[dict[str, Any] | None, int]:
        """A fact and its size in an answer."""
        if fact_key not in self._known:
            self._start()
            fact = await self._started.pop(fact_key)
            self._known[fact_key] = fact, 0 if fact is None else answer_size(fact)
        return self._known[fact_key]

    def _start(self) -> None:
        for fact_key, stored in islice(self._wanted, self._ahead - len(self._started)):
            self._started[fact_key] = asyncio.ensure_future(self._read(stored))

    async def close(self) -> None:
        """End what was read ahead in vain."""
        for task in self._started.values():
            task.cancel()
        await asyncio.gather(*self._started.values(), return_exceptions=True)


class Expander:
    """Fetches and checks the facts of one generation's entries."""

    def __init__(self, generation: ReadableGeneration, facts: Facts, read_ahead: int = READ_AHEAD) -> None:
        self._read_ahead = read_ahead
        self._source = generation.source
        self._facts = facts
        self._keys = KeyValueReader(generation.index)
        self._reader = FactReader(generation.source)

    async def facts_of(self, entries: Sequence[ReadEntry], takes: Callable[[int], bool]) -> list[dict[str, Any] | None]:
        """The fact of each entry in order, None where it is left out, up to the first whose size is not taken. A fact
        with several entries is read once."""
        fact_keys = [encode_fact_key(entry.stored.partition_key, entry.stored.id) for entry in entries]
        wanted = {fact_key: entry.stored for fact_key, entry in zip(fact_keys, entries, strict=True)}
        reading = _ReadAhead(self._read, wanted, self._read_ahead)
        found: list[dict[str, Any] | None] = []
        try:
            for fact_key, entry in zip(fact_keys, entries, strict=True):
                fact, size = await reading.fact(fact_key)
                if not takes(size):
                    break
                found.append(self._checked(fact, fact_key, entry.row))
        finally:
            await reading.close()
        return found

    async def _read(self, stored: StoredEntry) -> dict[str, Any] | None:
        return await self._facts.read(self._source, stored.id, stored.partition_key)

    def _checked(self, fact: dict[str, Any] | None, fact_key: str, row: NewestRow) -> dict[str, Any] | None:
        """The fact, if it still has the key that its entry stands under."""
        if fact is None:
            return None
        try:
            if self._reader.is_deleted(fact):
                return None
            keys = self._keys.keys(fact)
        except (EvaluationError, RefusedValueError, TooManyEntriesError, UnreadableChangeError):
            # It no longer fits the index; the pipeline makes a dead letter of that change.
            return None
        shard, shards = fact_hash(fact_key), self._keys.shards
        # A time of expiry that has changed is no change of the key: the index may not have seen it yet.
        places = {
            (shards.without_period(shards.partition_key(key.partition, shard)), key.sort + fact_key) for key in keys
        }
        return fact if (shards.without_period(str(row.entity[PARTITION_KEY])), row.entry_key) in places else None
