"""What verification asks of the service that holds the facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from shared.definitions.model import Source
    from shared.entries.keys.fact_key import FactKeyValue
    from shared.sources.current_facts import FactPage


class CurrentFacts(Protocol):
    """The facts as they are now."""

    async def read(
        self, source: Source, fact_id: str, partition_key: tuple[FactKeyValue, ...]
    ) -> dict[str, Any] | None:
        """The fact, or None when it is gone; raises `FactsUnavailableError` or `FactsRefusedError`."""

    async def from_feed(
        self, source: Source, fact_id: str, partition_key: tuple[FactKeyValue, ...], since_seconds: int
    ) -> dict[str, Any] | None:
        """The fact with its `_lsn`, which only the feed tells; None when it is gone."""

    async def page(self, source: Source, cursor: str | None, until_seconds: float) -> FactPage:
        """The next facts of the source, from its beginning; those that changed later may be left out."""
