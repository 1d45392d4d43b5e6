"""`expand=fact`: each entry with its fact as it is now. A fact that is gone or has other keys by now is left out.

That makes lookups of references read-fresh: the index says where to look, the fact says whether it is true.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from shared.entries.changes.change import FactReader
from shared.entries.changes.paths import EvaluationError
from shared.entries.keys.fact_key import encode_fact_key, fact_hash
from shared.entries.projection.key_values import KeyValueReader, RefusedValueError, TooManyEntriesError
from shared.errors import UnreadableChangeError
from shared.tables.port import PARTITION_KEY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.lookup.generations import ReadableGeneration
    from shared.lookup.read import NewestRow
    from shared.lookup.results import ReadEntry
    from shared.sources.ports import Facts


class Expander:
    """Fetches and checks the facts of one generation's entries."""

    def __init__(self, generation: ReadableGeneration, facts: Facts) -> None:
        self._source = generation.source
        self._facts = facts
        self._keys = KeyValueReader(generation.index)
        self._reader = FactReader(generation.source)

    async def facts_of(self, entries: Sequence[ReadEntry]) -> list[dict[str, Any] | None]:
        """The fact of each entry, None where it is left out. A fact with several entries is read once."""
        fact_keys = [encode_fact_key(entry.stored.partition_key, entry.stored.id) for entry in entries]
        wanted = {fact_key: entry.stored for fact_key, entry in zip(fact_keys, entries, strict=True)}
        found = await asyncio.gather(
            *(self._facts.read(self._source, stored.id, stored.partition_key) for stored in wanted.values())
        )
        facts = dict(zip(wanted, found, strict=True))
        return [
            self._checked(facts[fact_key], fact_key, entry.row)
            for fact_key, entry in zip(fact_keys, entries, strict=True)
        ]

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
