"""Read your own write: what a caller has seen, and a bounded wait until the index has it, too."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, Protocol

from shared.entries.changes.seen_version import SeenVersion
from shared.entries.keys.fact_key import MISSING, FactKeyValue, encode_fact_key, is_encodable, is_fact_key_value
from shared.entries.keys.versions import declared_clock
from shared.errors import NotSeenYetError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from shared.definitions.model import Source
    from shared.lookup.generations import ReadableGeneration

# Lookups of one instance that wait for a change at the same time.
WAITING_MAX: Final = 100
_FIRST_WAIT_SECONDS: Final = 0.02
_LONGEST_WAIT_SECONDS: Final = 0.5
_OF_COSMOS: Final = ("_etag", "_ts")
_ONE_VALUE: Final = "one value, no list: text, a number, true, false, null, or {} for none"


class AppliedChanges(Protocol):
    """What lookups ask of the ledger."""

    async def has_applied(self, seen: SeenVersion, generation: ReadableGeneration) -> bool:
        """Whether this generation has that change or a newer one, and its rows are written."""


class WriteWaiter:
    """Waits for changes that callers have seen: on which ledger, how long, and on which clock.

    Only so many wait at the same time, because each asks the ledger about twice a second. The others get an answer at
    once, from one look at the ledger.
    """

    def __init__(
        self,
        ledger: AppliedChanges,
        patience_seconds: float,
        steady_seconds: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._ledger = ledger
        self._patience_seconds = patience_seconds
        self._steady_seconds = steady_seconds
        self._sleep = sleep
        self._waiting = 0

    async def wait(self, seen: SeenVersion, generation: ReadableGeneration) -> None:
        """Return as soon as the index has the change; raises `NotSeenYetError` when that is not in time, or when too
        many wait already."""
        if await self._ledger.has_applied(seen, generation):
            return
        if self._waiting >= WAITING_MAX:
            raise NotSeenYetError(
                f'The change has not reached index "{generation.index.name}", and {WAITING_MAX} lookups already wait '
                'for theirs; ask again, or look up without "sees".'
            )
        self._waiting += 1
        try:
            await self._wait(seen, generation)
        finally:
            self._waiting -= 1

    async def _wait(self, seen: SeenVersion, generation: ReadableGeneration) -> None:
        deadline = self._steady_seconds() + self._patience_seconds
        wait_seconds = _FIRST_WAIT_SECONDS
        while (left_seconds := deadline - self._steady_seconds()) > 0:
            await self._sleep(min(wait_seconds, left_seconds))
            if await self._ledger.has_applied(seen, generation):
                return
            wait_seconds = min(2 * wait_seconds, _LONGEST_WAIT_SECONDS)
        raise NotSeenYetError(
            f'The change has not reached index "{generation.index.name}" within {self._patience_seconds:g} s; '
            'ask again, or look up without "sees".'
        )


def sees_value(item: Mapping[str, Any], partition_key: object = None, version: object = None) -> str:
    """The value of `sees` for an item that a Cosmos DB write answered with, or for a declared version.

    `partition_key` is the item's own partition key value, or the list of them for a hierarchical one.
    """
    members: dict[str, Any] = {"id": item["id"], "partitionKey": partition_key}
    if version is not None:
        members["version"] = version
    else:
        members |= {name: item[name] for name in _OF_COSMOS}
    return json.dumps(members, separators=(",", ":"))


def read_sees_value(source: Source, text: str) -> SeenVersion | str:
    """The version in the value of `sees`, or what is wrong with it."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return "is not JSON; send {id, partitionKey, _etag, _ts} of the write's answer (percent-encoded in an address)"
    if not isinstance(fields, dict):
        return "is not a JSON object; send {id, partitionKey, _etag, _ts} of the write's answer"
    known = {"id", "partitionKey", "version", *_OF_COSMOS}
    if unknown := sorted(fields.keys() - known):
        return f"has an unknown member {unknown[0]!a}; known are {', '.join(sorted(known))}"
    try:
        return _versioned(source, _fact_key(source, fields), fields)
    except _WrongMemberError as wrong:
        return str(wrong)


class _WrongMemberError(ValueError):
    """A member is missing, or is not what it must be; the text says which, and what to send."""


def _member(fields: Mapping[str, Any], name: str, is_right: Callable[[Any], bool], meaning: str) -> Any:
    """A member that must be there; raises `_WrongMemberError`."""
    if name not in fields:
        raise _WrongMemberError(f"has no {name}: it must be {meaning}")
    if not is_right(fields[name]):
        raise _WrongMemberError(f"has a wrong {name}: it must be {meaning}")
    return fields[name]


def _fact_key(source: Source, fields: Mapping[str, Any]) -> str:
    fact_id = _member(fields, "id", _is_text, "text that is not empty")
    count = len(source.partition_key)
    if count == 0:
        if fields.get("partitionKey") is not None:
            raise _WrongMemberError(f'has a partitionKey: leave it out, because source "{source.name}" has none')
        return encode_fact_key((), fact_id)
    if count == 1:
        return encode_fact_key(_key([_member(fields, "partitionKey", _is_value, _ONE_VALUE)]), fact_id)

    def are_values(given: Any) -> bool:
        return isinstance(given, list) and len(given) == count and all(map(_is_value, given))

    values = _member(fields, "partitionKey", are_values, f"a list of {count} values")
    return encode_fact_key(_key(values), fact_id)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value) and is_encodable(value)


def _is_value(value: Any) -> bool:
    return value == {} or is_fact_key_value(value)


def _key(values: Sequence[Any]) -> list[FactKeyValue]:
    """The values of a partition key; one that the fact lacks is written as Cosmos DB writes it."""
    return [MISSING if value == {} else value for value in values]


def _versioned(source: Source, fact_key: str, fields: Mapping[str, Any]) -> SeenVersion | str:
    if source.version is not None:
        meaning = f'the fact\'s "{source.version}", a number from 0 up or an ISO 8601 time'
        version = _member(fields, "version", lambda value: declared_clock(value) is not None, meaning)
        return SeenVersion(fact_key, declared_clock=declared_clock(version))
    if source.cosmos is None:
        return f'does not apply here: source "{source.name}" declares no version, so a caller cannot know one'
    etag = _member(fields, "_etag", _is_text, "text, the _etag of the write's answer")
    ts_seconds = _member(fields, "_ts", _is_time, "a whole number from 0 up, the _ts of the write's answer")
    return SeenVersion(fact_key, etag=_quoted(etag), ts_seconds=ts_seconds)


def _is_time(value: Any) -> bool:
    return type(value) is int and 0 <= value < 10**15


def _quoted(etag: str) -> str:
    """Cosmos DB's ETags have quotes inside, which are easily lost on the way."""
    return etag if etag.startswith('"') else f'"{etag}"'
