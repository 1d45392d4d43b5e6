"""The ports of fact reads: a fact by its key for lookups, and what verification asks of the service with the facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from shared.definitions.model import Source
    from shared.entries.keys.fact_key import FactKeyValue
    from shared.sources.current_facts import FactPage


class Facts(Protocol):
    """Reads facts."""

    async def read(
        self, source: Source, fact_id: str, partition_key: tuple[FactKeyValue, ...]
    ) -> dict[str, Any] | None:
        """The fact as it is now, or None when it is gone; raises `FactsUnavailableError` or `FactsRefusedError`."""


class CurrentFacts(Facts, Protocol):
    """Reads facts, one by one and all of them, as they are now."""

    async def from_feed(
        self, source: Source, fact_id: str, partition_key: tuple[FactKeyValue, ...], since_seconds: int
    ) -> dict[str, Any] | None:
        """The fact with its `_lsn`, which only the feed has; None when it is gone."""

    async def page(self, source: Source, cursor: str | None, until_seconds: float) -> FactPage:
        """The next facts of the source, from its beginning; those that changed later may be left out."""
