"""A version of a fact that a caller has seen: the caller wants to read its own write."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SeenVersion:
    """A version of a fact that a caller knows of: by Cosmos DB's `_etag` and `_ts`, or by its declared clock."""

    fact_key: str
    etag: str | None = None
    ts_seconds: int | None = None
    declared_clock: str | None = None
