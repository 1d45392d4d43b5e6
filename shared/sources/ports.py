"""The port of fact reads: a fact by its key, whatever service holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from shared.definitions.model import Source
    from shared.entries.keys.fact_key import FactKeyValue


class Facts(Protocol):
    """Reads facts."""

    async def read(
        self, source: Source, fact_id: str, partition_key: tuple[FactKeyValue, ...]
    ) -> dict[str, Any] | None:
        """The fact as it is now, or None when it is gone; raises `FactsUnavailableError` or `FactsRefusedError`."""
