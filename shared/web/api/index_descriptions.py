"""An index as the API describes it: its definition in short, and which generation serves it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NotRequired, TypeAlias, TypedDict

from shared.definitions.compare import IdentityJson, identity
from shared.definitions.identity import physical_digests
from shared.definitions.model import Order, PartType

if TYPE_CHECKING:
    from shared.definitions.model import Index, KeyPart, Source

ServingState: TypeAlias = Literal["serving", "building"]


class KeyPartJson(TypedDict):
    """A part of an index's key."""

    name: str
    path: str
    type: PartType
    order: Order
    fold: Literal["case"] | None
    nulls: Literal["index", "skip"]


class IndexJson(TypedDict):
    """An index; `generation` is null while none serves yet. `digests` say, key by key, what decides its rows."""

    name: str
    source: str
    identity: IdentityJson
    partition: list[KeyPartJson]
    sort: list[KeyPartJson]
    project: Literal["all", "keys"] | list[str]
    shards: int
    state: ServingState
    generation: str | None
    digests: dict[str, str]
    each: NotRequired[dict[str, str]]
    where: NotRequired[str]
    summarize: NotRequired[dict[str, str | dict[str, str]]]


class IndexListJson(TypedDict):
    """All indexes."""

    value: list[IndexJson]


def describe(index: Index, source: Source, state: ServingState, generation: str | None) -> IndexJson:
    """An index as JSON; `generation` is None while none serves yet."""
    described: IndexJson = {
        "name": index.name,
        "source": index.source,
        "identity": identity(source),
        "partition": [_part(part) for part in index.partition],
        "sort": [_part(part) for part in index.sort],
        "project": index.project if isinstance(index.project, str) else list(index.project),
        "shards": index.shards,
        "state": state,
        "generation": generation,
        "digests": physical_digests(index, source),
    }
    if index.each is not None:
        described["each"] = {index.each.name: index.each.path}
    if index.where is not None:
        described["where"] = index.where
    if index.summarize is not None:
        described["summarize"] = {measure.name: measure.written for measure in index.summarize}
    return described


def _part(part: KeyPart) -> KeyPartJson:
    return {
        "name": part.name,
        "path": part.path,
        "type": part.type,
        "order": part.order,
        "fold": "case" if part.fold else None,
        "nulls": "index" if part.keeps_nulls else "skip",
    }
