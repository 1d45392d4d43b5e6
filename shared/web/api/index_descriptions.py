"""What the API tells about an index: its definition in short, and which generation serves it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shared.definitions.compare import identity

if TYPE_CHECKING:
    from shared.definitions.model import Index, KeyPart, Source


def describe(index: Index, source: Source, state: str, generation: str | None) -> dict[str, Any]:
    """An index as JSON; `generation` is None while none serves yet."""
    described: dict[str, Any] = {
        "name": index.name,
        "source": index.source,
        "identity": identity(source),
        "partition": [_part(part) for part in index.partition],
        "sort": [_part(part) for part in index.sort],
        "project": index.project if isinstance(index.project, str) else list(index.project),
        "shards": index.shards,
        "state": state,
        "generation": generation,
    }
    if index.each is not None:
        described["each"] = {index.each.name: index.each.path}
    if index.where is not None:
        described["where"] = index.where
    return described


def _part(part: KeyPart) -> dict[str, Any]:
    return {
        "name": part.name,
        "path": part.path,
        "type": part.type,
        "order": part.order,
        "fold": "case" if part.fold else None,
        "nulls": "index" if part.keeps_nulls else "skip",
    }
