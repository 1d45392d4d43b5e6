"""Checked definitions in a plain form that loads without pydantic and YAML.

Written beside `indexes.yaml` when it is deployed, used at start when it belongs to that very file. A stale or
foreign one is worth nothing and harms nothing: the digest does not match, and the file itself is loaded.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from shared.definitions.access import access_from_plain
from shared.definitions.identity import CODEC_VERSION
from shared.definitions.model import (
    CosmosContainer,
    Definitions,
    Each,
    Events,
    Expire,
    Index,
    KeyPart,
    Measure,
    Placement,
    RangeSlice,
    Source,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

# Raise it with any change to the model or to what `check` accepts.
_FORMAT: Final = 5


def compile_definitions(text: str, definitions: Definitions) -> str:
    """The plain form of the definitions that were loaded from this text without a fault."""
    plain = {
        "of": _stamp(text),
        "sources": {name: source.plain() for name, source in definitions.sources.items()},
        "indexes": {name: index.plain() for name, index in definitions.indexes.items()},
        "access": definitions.access.plain(),
    }
    return json.dumps(plain, ensure_ascii=False, indent=1)


def from_compiled(text: str, compiled: str) -> Definitions | None:
    """The definitions, or None when the plain form was not made from this text by this version."""
    try:
        plain = json.loads(compiled)
        if plain.pop("of") != _stamp(text):
            return None
        return Definitions(
            {name: source_from_plain(fields) for name, fields in plain["sources"].items()},
            {name: index_from_plain(fields) for name, fields in plain["indexes"].items()},
            access_from_plain(plain["access"]),
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _stamp(text: str) -> str:
    return f"{_FORMAT}.{CODEC_VERSION}.{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def source_from_plain(fields: dict[str, Any]) -> Source:
    """The source that `Source.plain` made these fields of."""
    cosmos, events = fields.pop("cosmos"), fields.pop("events", {})
    return Source(
        cosmos=CosmosContainer(**cosmos) if cosmos else None,
        partition_key=tuple(fields.pop("partition_key")),
        events=_events(**events),
        **fields,
    )


def _events(partition_key: Iterable[str] = (), **fields: Any) -> Events:
    return Events(partition_key=tuple(partition_key), **fields)


def index_from_plain(fields: dict[str, Any]) -> Index:
    """The index that `Index.plain` made these fields of."""
    project: Any = fields.pop("project")
    each, expire, placement = (fields.pop(key) for key in ("each", "expire", "placement"))
    summarize = fields.pop("summarize", None)
    return Index(
        partition=tuple(KeyPart(**part) for part in fields.pop("partition")),
        sort=tuple(KeyPart(**part) for part in fields.pop("sort")),
        project=tuple(project) if isinstance(project, list) else project,
        each=Each(**each) if each else None,
        hot=_pairs(fields.pop("hot")),
        expire=Expire(**expire) if expire else None,
        placement=_placement(placement) if placement else None,
        summarize=None if summarize is None else tuple(Measure(**measure) for measure in summarize),
        **fields,
    )


def _placement(fields: dict[str, Any]) -> Placement:
    return Placement(
        accounts=tuple(fields.pop("accounts")),
        values=_pairs(fields.pop("values")),
        slices=tuple(RangeSlice(**item) for item in fields.pop("slices")),
        **fields,
    )


def _pairs(items: Iterable[list[Any]]) -> tuple[tuple[Any, Any], ...]:
    return tuple((key, value) for key, value in items)
