"""An index as the API describes it: its definition in short, and which generation serves it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, Literal, NotRequired, TypeAlias, TypedDict

from shared.definitions.compare import IdentityJson, identity
from shared.definitions.identity import physical_digests
from shared.definitions.model import Order, PartType

if TYPE_CHECKING:
    from shared.definitions.model import Expire, Index, KeyPart, PartValue, Placement, Source

ServingState: TypeAlias = Literal["serving", "building"]
_UNITS: Final = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))


class KeyPartJson(TypedDict):
    """A part of an index's key."""

    name: str
    path: str
    type: PartType
    order: Order
    fold: Literal["case"] | None
    nulls: Literal["index", "skip"]


class _LayoutJson(TypedDict):
    """Where the entries of an index are, and how long, as its definition says it."""

    hot: NotRequired[dict[str, int]]
    expire: NotRequired[dict[str, str]]
    placement: NotRequired[dict[str, Any]]


class IndexJson(_LayoutJson):
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
    return {**described, **_layout(index)}


def _layout(index: Index) -> _LayoutJson:
    found: _LayoutJson = {}
    if index.hot:
        found["hot"] = {_written(value): shards for value, shards in index.hot}
    if index.expire is not None:
        found["expire"] = _expire(index.expire)
    if index.placement is not None:
        found["placement"] = _placement(index.placement)
    return found


def _expire(expire: Expire) -> dict[str, str]:
    unit, seconds = next(each for each in _UNITS if expire.after_seconds % each[1] == 0)
    written = {"path": expire.path, "after": f"{expire.after_seconds // seconds}{unit}"}
    return written if expire.tables is None else {**written, "tables": expire.tables}


def _placement(placement: Placement) -> dict[str, Any]:
    if placement.by == "hash":
        return {"by": "hash", "accounts": list(placement.accounts)}
    if placement.by == "list":
        values = {_written(value): account for value, account in placement.values}
        return {"by": "list", "map": values, "default": placement.default}
    slices = [
        {
            **({} if each.start is None else {"from": each.start}),
            **({} if each.end is None else {"to": each.end}),
            "account": each.account,
        }
        for each in placement.slices
    ]
    return {"by": "range", "map": slices}


def _written(value: PartValue) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _part(part: KeyPart) -> KeyPartJson:
    return {
        "name": part.name,
        "path": part.path,
        "type": part.type,
        "order": part.order,
        "fold": "case" if part.fold else None,
        "nulls": "index" if part.keeps_nulls else "skip",
    }
