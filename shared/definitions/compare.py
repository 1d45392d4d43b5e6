"""What a changed definitions file would do: which indexes are new, gone, built anew or left, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypedDict

from shared.definitions.identity import generation_id, physical_digests, physical_keys, table_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.definitions.model import Definitions, Source

Identity: TypeAlias = "Mapping[str, object]"
Effect: TypeAlias = Literal["new index", "removed", "new generation", "no change", "not allowed"]

# What orders the versions of facts when no `version` is declared; no path has a space in it.
_FEED_CLOCK: Final = "of Cosmos DB"
_HUB_CLOCK: Final = "of Event Hubs"
_DEBEZIUM_CLOCK: Final = "of Debezium"


class IdentityJson(TypedDict):
    """What must never change under a source's name."""

    id: str
    partitionKey: list[str]
    version: str


@dataclass(frozen=True, slots=True)
class MigrationStep:
    """What happens to one index, or why a source cannot change as asked."""

    name: str
    effect: Effect
    because: tuple[str, ...] = ()
    generation: str = ""
    table: str = ""


def compare(before: Definitions, after: Definitions) -> tuple[MigrationStep, ...]:
    """The steps from one set of definitions to another, forbidden ones first, then by index name."""
    names = sorted(before.indexes.keys() | after.indexes.keys())
    sources = sorted(before.sources.keys() & after.sources.keys())
    refused = [_identity_step(name, identity(before.sources[name]), after.sources[name]) for name in sources]
    return (*(step for step in refused if step), *(_index_step(name, before, after) for name in names))


def compare_served(
    serving: Mapping[str, str | None],
    identities: Mapping[str, Identity],
    after: Definitions,
    digests: Mapping[str, Mapping[str, str]] | None = None,
) -> tuple[MigrationStep, ...]:
    """The steps from what an app serves to definitions: forbidden ones first, then by index name.

    `serving` has the app's generations by index, None while one is built; `identities` its sources by name; `digests`
    what decides the rows of an index, as `physical_digests` gives it.
    """
    sources = sorted(identities.keys() & after.sources.keys())
    refused = [_identity_step(name, identities[name], after.sources[name]) for name in sources]
    steps = [
        _served_step(name, serving, after, (digests or {}).get(name, {}))
        for name in sorted(serving.keys() | after.indexes.keys())
    ]
    return (*(step for step in refused if step), *steps)


def identity(source: Source) -> IdentityJson:
    """What tells the facts of a source apart and orders their versions: under one name it must never change.

    It decides which fact a ledger row is about, and whether a change is newer than what the row knows.
    """
    return {"id": source.id, "partitionKey": list(source.partition_key), "version": source.version or _clock(source)}


def _clock(source: Source) -> str:
    """What orders the versions of a source that declares none."""
    if source.cosmos is not None:
        return _FEED_CLOCK
    return _DEBEZIUM_CLOCK if source.events.form == "debezium" else _HUB_CLOCK


def changed_identity(before: Identity, after: Source) -> tuple[str, ...]:
    """The keys in which a source differs from what it was before."""
    return tuple(key for key, value in identity(after).items() if before.get(key, value) != value)


def _served_step(
    name: str, serving: Mapping[str, str | None], after: Definitions, digests: Mapping[str, str]
) -> MigrationStep:
    if name not in after.indexes:
        return MigrationStep(name, "removed")
    index = after.indexes[name]
    generation = generation_id(index, after.sources[index.source])
    table = table_name(index, generation)
    if name not in serving:
        return MigrationStep(name, "new index", (), generation, table)
    # One that came back after it was retired has a number behind its id.
    if (serving[name] or "").startswith(generation):
        return MigrationStep(name, "no change", (), generation, table)
    new = physical_digests(index, after.sources[index.source])
    # An app of an older version does not say them.
    because = tuple(key for key in sorted(new.keys() | digests.keys()) if digests and digests.get(key) != new.get(key))
    return MigrationStep(name, "new generation", because, generation, table)


def _identity_step(name: str, before: Identity, after: Source) -> MigrationStep | None:
    changed = changed_identity(before, after)
    return MigrationStep(name, "not allowed", changed) if changed else None


def _index_step(name: str, before: Definitions, after: Definitions) -> MigrationStep:
    old, new = _physical(name, before), _physical(name, after)
    if new is None:
        return MigrationStep(name, "removed")
    index = after.indexes[name]
    generation = generation_id(index, after.sources[index.source])
    table = table_name(index, generation)
    if old is None:
        return MigrationStep(name, "new index", (), generation, table)
    because = tuple(key for key in new if old.get(key) != new[key])
    return MigrationStep(name, "new generation" if because else "no change", because, generation, table)


def _physical(name: str, definitions: Definitions) -> dict[str, object] | None:
    index = definitions.indexes.get(name)
    return None if index is None else physical_keys(index, definitions.sources[index.source])
