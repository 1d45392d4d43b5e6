"""What a changed definitions file would do: which indexes are new, gone, built anew or left, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from shared.definitions.generation import generation_id, physical_keys, table_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.definitions.model import Definitions, Source

Effect: TypeAlias = Literal["new index", "removed", "new generation", "no change", "not allowed"]

# These decide which fact a ledger row is about: under one name they must never change.
_IDENTITY: Final = {"id": "id", "partition_key": "partitionKey", "version": "version"}


@dataclass(frozen=True, slots=True)
class Step:
    """What happens to one index, or why a source cannot change as asked."""

    name: str
    effect: Effect
    because: tuple[str, ...] = ()
    generation: str = ""
    table: str = ""


def compare(before: Definitions, after: Definitions) -> tuple[Step, ...]:
    """The steps from one set of definitions to another, forbidden ones first, then by index name."""
    names = sorted(before.indexes.keys() | after.indexes.keys())
    sources = sorted(before.sources.keys() & after.sources.keys())
    refused = [_source_step(before.sources[name], after.sources[name]) for name in sources]
    return (*(step for step in refused if step), *(_index_step(name, before, after) for name in names))


def compare_served(serving: Mapping[str, str | None], after: Definitions) -> tuple[Step, ...]:
    """The steps from what an app serves, generations by index, None while one is built, to definitions."""
    return tuple(_served_step(name, serving, after) for name in sorted(serving.keys() | after.indexes.keys()))


def _served_step(name: str, serving: Mapping[str, str | None], after: Definitions) -> Step:
    if name not in after.indexes:
        return Step(name, "removed")
    index = after.indexes[name]
    generation = generation_id(index, after.sources[index.source])
    table = table_name(index, generation)
    if name not in serving:
        return Step(name, "new index", (), generation, table)
    # One that came back after it was retired has a number behind its id.
    is_same = (serving[name] or "").startswith(generation)
    return Step(name, "no change" if is_same else "new generation", (), generation, table)


def _source_step(before: Source, after: Source) -> Step | None:
    changed = tuple(key for field, key in _IDENTITY.items() if getattr(before, field) != getattr(after, field))
    return Step(after.name, "not allowed", changed) if changed else None


def _index_step(name: str, before: Definitions, after: Definitions) -> Step:
    old, new = _physical(name, before), _physical(name, after)
    if new is None:
        return Step(name, "removed")
    index = after.indexes[name]
    generation = generation_id(index, after.sources[index.source])
    table = table_name(index, generation)
    if old is None:
        return Step(name, "new index", (), generation, table)
    because = tuple(key for key in new if old.get(key) != new[key])
    return Step(name, "new generation" if because else "no change", because, generation, table)


def _physical(name: str, definitions: Definitions) -> dict[str, object] | None:
    index = definitions.indexes.get(name)
    return None if index is None else physical_keys(index, definitions.sources[index.source])
