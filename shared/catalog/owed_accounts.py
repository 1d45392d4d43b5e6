"""Storage accounts that are owed entries, as operators and lookups see them: rows of the catalog beside the others.

The debts in the ledger are the truth. These rows sum them up, and the timer that delivers writes them again every time,
so that no reader has to count debts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from shared.tables.port import PARTITION_KEY, ROW_KEY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.tables.port import Entity, Row

PREFIX: Final = "owed:"


@dataclass(frozen=True, slots=True)
class OwedAccount:
    """An account, so many facts that owe it something (`has_more`: at least), since when, and in which generations."""

    account: str
    facts: int
    since_seconds: int
    generations: frozenset[str]
    has_more: bool = False

    @classmethod
    def of(cls, row: Row) -> OwedAccount:
        """What a row holds."""
        entity: Mapping[str, Any] = row.entity
        return cls(
            cast(str, entity[ROW_KEY]).removeprefix(PREFIX),
            entity["facts"],
            entity["since"],
            frozenset(entity["generations"].split()),
            entity["hasMore"],
        )

    def entity(self, partition: str) -> Entity:
        """The row."""
        return {
            PARTITION_KEY: partition,
            ROW_KEY: PREFIX + self.account,
            "facts": self.facts,
            "since": self.since_seconds,
            "generations": " ".join(sorted(self.generations)),
            "hasMore": self.has_more,
            # Versions up to 0.2.0 take every row that they do not know for a source.
            "buckets": 0,
        }
