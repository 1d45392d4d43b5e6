"""The schemas of the status in the OpenAPI document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from shared.web.openapi_schemas import Schema

_TEXT: Final[Schema] = {"type": "string"}
_COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
_RATIO: Final[Schema] = {"type": "number", "minimum": 0}
_CLAIM: Final[Schema] = {"type": "boolean"}
_SECONDS: Final[Schema] = {"type": ["number", "null"], "minimum": 0}
_DOLLARS: Final[Schema] = {"type": ["number", "null"], "minimum": 0}


def status_schema() -> Schema:
    """The whole status. Null is what is not known now, or cannot be told yet."""
    return _object(
        at={"type": "string", "format": "date-time"},
        unknown=_list(_TEXT),
        sources=_list(_source()),
        indexes=_list(_index()),
        tasks=_known(_list(_task())),
        deadLetters=_object(count=_known(_COUNT), hasMore=_CLAIM, reasons=_list(_reason())),
        storage=_object(isReachable=_CLAIM, breaker=_breaker(), accounts=_list(_account())),
        counters=_object(sinceSeconds=_SECONDS, instances=_COUNT),
        prices=_object(date=_TEXT, currency=_TEXT, perMillionTransactions={"type": "number"}),
    )


def history_schema() -> Schema:
    """Points of time in seconds since 1970, each with the lag in seconds."""
    point = _object(atSeconds=_COUNT, lagSeconds=_SECONDS)
    return _object(value=_list(_object(source=_TEXT, points=_list(point))))


def advice_schema() -> Schema:
    """Statistics and advice for each index."""
    top = _object(values={"type": "object"}, entries=_COUNT, share=_RATIO, shards=_COUNT)
    statistics = _object(
        factsSampled=_COUNT,
        entriesSampled=_COUNT,
        ledgerShare=_known(_RATIO),
        entries=_COUNT,
        partitions=_COUNT,
        largestShare=_RATIO,
        top=_list(top),
        entryBytes=_known(_COUNT),
    )
    usage = _object(
        seconds=_COUNT,
        changesPerSecond=_known(_RATIO),
        lookups=_COUNT,
        changesPerLookup=_known(_RATIO),
        rowsReadPerEntry=_known(_RATIO),
    )
    advice = _object(
        code=_TEXT,
        what=_TEXT,
        mend=_TEXT,
        dollarsPerMonth={"type": ["number", "null"]},
        change={"type": ["object", "null"]},
    )
    index = _object(name=_TEXT, generation=_known(_TEXT), statistics=statistics, usage=usage, advice=_list(advice))
    return _object(indexes=_list(index))


def _source() -> Schema:
    return _object(
        name=_TEXT,
        lagSeconds=_SECONDS,
        applied=_COUNT,
        dropped=_COUNT,
        redelivered=_COUNT,
        deadLetters=_known(_COUNT),
        deadLettered=_COUNT,
        transactions=_COUNT,
        dollarsPerMillionChanges=_DOLLARS,
    )


def _index() -> Schema:
    return _object(
        name=_TEXT,
        source=_TEXT,
        state={"enum": ["active", "building", "unknown"]},
        generation=_known(_TEXT),
        lagSeconds=_SECONDS,
        entriesWritten=_COUNT,
        entriesRemoved=_COUNT,
        lookups=_COUNT,
        rowsRead=_COUNT,
        entriesReturned=_COUNT,
        transactions=_object(changes=_known(_COUNT), lookups=_known(_COUNT)),
        dollarsPerMillionEntries=_DOLLARS,
        dollarsPerMillionLookups=_DOLLARS,
        generations=_list(_generation()),
    )


def _generation() -> Schema:
    return _object(
        id=_TEXT,
        state={"enum": ["building", "standby", "serving", "retired"]},
        table=_TEXT,
        enteredAtSeconds=_COUNT,
        builtAtSeconds=_known(_COUNT),
        verifiedAtSeconds=_known(_COUNT),
        differences=_known(_COUNT),
    )


def _task() -> Schema:
    return _object(
        id=_TEXT,
        kind=_TEXT,
        about={"type": "object"},
        state={"enum": ["running", "done", "failed"]},
        startedAtSeconds={"type": "number"},
        endedAtSeconds=_SECONDS,
        problem=_known(_TEXT),
        slices=_COUNT,
        slicesDone=_COUNT,
        counts={"type": "object", "additionalProperties": _COUNT},
    )


def _reason() -> Schema:
    return _object(source=_TEXT, index=_known(_TEXT), kind=_TEXT, count=_COUNT, reason=_TEXT)


def _account() -> Schema:
    return _object(name=_TEXT, transactions=_object(changes=_COUNT, lookups=_COUNT))


def _breaker() -> Schema:
    return _object(
        state={"enum": ["closed", "open", "half-open"]},
        failures=_COUNT,
        openForSeconds=_SECONDS,
        lastError=_known(_TEXT),
        lastOutageSeconds=_SECONDS,
    )


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "required": list(properties), "properties": properties}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _known(schema: Schema) -> dict[str, Any]:
    """What may not be known."""
    return {**schema, "type": [schema["type"], "null"]}
