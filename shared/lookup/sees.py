"""Read your own write: what a caller has seen, and a bounded wait until the index has it, too."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from shared.definitions.values import is_encodable
from shared.errors import NotSeenYetError
from shared.keys.fact import MISSING, FactKeyValue, encode_fact_key, is_fact_key_value
from shared.keys.versions import declared_clock

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from shared.definitions.model import Source
    from shared.lookup.generations import Generation

_FIRST_WAIT_SECONDS: Final = 0.02
_LONGEST_WAIT_SECONDS: Final = 0.5
_OF_COSMOS: Final = ("_etag", "_ts")


@dataclass(frozen=True, slots=True)
class Sighting:
    """A version of a fact that a caller knows of: by Cosmos DB's `_etag` and `_ts`, or by its declared clock."""

    fact_key: str
    etag: str | None = None
    ts_seconds: int | None = None
    declared_clock: str | None = None


class LedgerView(Protocol):
    """What lookups ask of the ledger."""

    async def has_applied(self, sighting: Sighting, generation: Generation) -> bool:
        """Whether this generation's part has that change or a newer one, and its rows are written."""


@dataclass(frozen=True, slots=True)
class OwnWrites:
    """Waits for changes that callers have seen: on which ledger, how long, and on which clock."""

    ledger: LedgerView
    patience_seconds: float
    steady_seconds: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]

    async def wait(self, sighting: Sighting, generation: Generation) -> None:
        """Return as soon as the index has the change; raises `NotSeenYetError` when that is not in time."""
        deadline = self.steady_seconds() + self.patience_seconds
        wait_seconds = _FIRST_WAIT_SECONDS
        while not await self.ledger.has_applied(sighting, generation):
            left_seconds = deadline - self.steady_seconds()
            if left_seconds <= 0:
                raise NotSeenYetError(
                    f'The change has not reached index "{generation.index.name}" within {self.patience_seconds:g} s; '
                    "ask again, or look up without `sees`."
                )
            await self.sleep(min(wait_seconds, left_seconds))
            wait_seconds = min(2 * wait_seconds, _LONGEST_WAIT_SECONDS)


def seen(item: Mapping[str, Any], partition_key: object = None, version: object = None) -> str:
    """The value of `sees` for an item that a Cosmos DB write answered with, or for a declared version.

    `partition_key` is the item's own partition key value, or the list of them for a hierarchical one.
    """
    sighting: dict[str, Any] = {"id": item["id"], "partitionKey": partition_key}
    if version is not None:
        sighting["version"] = version
    else:
        sighting |= {name: item[name] for name in _OF_COSMOS}
    return json.dumps(sighting, separators=(",", ":"))


def read_sighting(source: Source, text: str) -> Sighting | str:
    """The sighting in the value of `sees`, or what is wrong with it."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return "is not JSON; send {id, partitionKey, _etag, _ts} of the write's answer, percent-encoded"
    if not isinstance(fields, dict):
        return "is not a JSON object; send {id, partitionKey, _etag, _ts} of the write's answer"
    known = {"id", "partitionKey", "version", *_OF_COSMOS}
    if unknown := sorted(fields.keys() - known):
        return f"has an unknown member {unknown[0]!a}; known are {', '.join(sorted(known))}"
    fact_key = _fact_key(source, fields)
    if fact_key is None:
        return f"needs an id and {_wanted_keys(source)}"
    return _versioned(source, fact_key, fields)


def _wanted_keys(source: Source) -> str:
    count = len(source.partition_key)
    if count == 0:
        return "no partitionKey"
    return "a partitionKey" if count == 1 else f"a partitionKey: a list of {count} values"


def _fact_key(source: Source, fields: Mapping[str, Any]) -> str | None:
    """The fact key, or None when id or partition key are not what the source has."""
    fact_id, given = fields.get("id"), fields.get("partitionKey")
    if not isinstance(fact_id, str) or not fact_id or not is_encodable(fact_id):
        return None
    count = len(source.partition_key)
    if count == 0:
        return encode_fact_key((), fact_id) if given is None else None
    values = given if isinstance(given, list) and count > 1 else [given]
    key: list[FactKeyValue] = [MISSING if value == {} else value for value in values]
    if len(key) != count or not all(map(is_fact_key_value, key)):
        return None
    return encode_fact_key(key, fact_id)


def _versioned(source: Source, fact_key: str, fields: Mapping[str, Any]) -> Sighting | str:
    if source.version is not None:
        clock = declared_clock(fields.get("version"))
        return (
            f"needs the fact's version (`{source.version}`)"
            if clock is None
            else Sighting(fact_key, declared_clock=clock)
        )
    if source.cosmos is None:
        return f'is of no use: source "{source.name}" declares no version, so a caller cannot know one'
    etag, ts_seconds = fields.get("_etag"), fields.get("_ts")
    if not isinstance(etag, str) or type(ts_seconds) is not int or not 0 <= ts_seconds < 10**15:
        return "needs _etag and _ts of the write's answer"
    return Sighting(fact_key, etag=etag, ts_seconds=ts_seconds)
