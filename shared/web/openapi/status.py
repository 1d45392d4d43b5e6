"""The schemas of the status in the OpenAPI document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shared.web.openapi.schema_parts import CLAIM, COUNT, INSTANT, TEXT, list_of, object_of, or_null

if TYPE_CHECKING:
    from shared.web.openapi.schemas import Schema

_RATIO: Final[Schema] = {"type": "number", "minimum": 0}
_SECONDS: Final[Schema] = {"type": ["number", "null"], "minimum": 0}
_DOLLARS: Final[Schema] = {"type": ["number", "null"], "minimum": 0}


def status_schema() -> Schema:
    """The whole status. Null is what is not known now, or cannot be told yet."""
    return object_of(
        at=INSTANT,
        unknown=list_of(TEXT),
        sources=list_of(_source()),
        indexes=list_of(_index()),
        tasks=or_null(list_of(_task())),
        deadLetters=object_of(count=or_null(COUNT), hasMore=CLAIM, reasons=list_of(_reason())),
        storage=object_of(isReachable=CLAIM, breaker=_breaker(), accounts=list_of(_account())),
        counters=object_of(sinceSeconds=_SECONDS, instances=COUNT),
        prices=object_of(date=TEXT, currency=TEXT, perMillionTransactions={"type": "number"}),
    )


def history_schema() -> Schema:
    """Points of time in seconds since 1970, each with the lag in seconds."""
    point = object_of(atSeconds=COUNT, lagSeconds=_SECONDS)
    return object_of(value=list_of(object_of(source=TEXT, points=list_of(point))))


def advice_schema() -> Schema:
    """Statistics and advice for each index."""
    top = object_of(values={"type": "object"}, entries=COUNT, share=_RATIO, shards=COUNT)
    statistics = object_of(
        factsSampled=COUNT,
        entriesSampled=COUNT,
        ledgerShare=or_null(_RATIO),
        entries=COUNT,
        partitions=COUNT,
        largestShare=_RATIO,
        top=list_of(top),
        entryBytes=or_null(COUNT),
    )
    usage = object_of(
        seconds=COUNT,
        changesPerSecond=or_null(_RATIO),
        lookups=COUNT,
        changesPerLookup=or_null(_RATIO),
        rowsReadPerEntry=or_null(_RATIO),
    )
    advice = object_of(
        code=TEXT,
        what=TEXT,
        mend=TEXT,
        dollarsPerMonth={"type": ["number", "null"]},
        change={"type": ["object", "null"]},
    )
    index = object_of(name=TEXT, generation=or_null(TEXT), statistics=statistics, usage=usage, advice=list_of(advice))
    return object_of(indexes=list_of(index))


def _source() -> Schema:
    return object_of(
        name=TEXT,
        lagSeconds=_SECONDS,
        applied=COUNT,
        dropped=COUNT,
        redelivered=COUNT,
        deadLetters=or_null(COUNT),
        deadLettered=COUNT,
        transactions=COUNT,
        dollarsPerMillionChanges=_DOLLARS,
    )


def _index() -> Schema:
    return object_of(
        name=TEXT,
        source=TEXT,
        state={"enum": ["serving", "building", "unknown"]},
        generation=or_null(TEXT),
        lagSeconds=_SECONDS,
        entriesWritten=COUNT,
        entriesRemoved=COUNT,
        lookups=COUNT,
        rowsRead=COUNT,
        entriesReturned=COUNT,
        transactions=object_of(changes=or_null(COUNT), lookups=or_null(COUNT)),
        dollarsPerMillionEntries=_DOLLARS,
        dollarsPerMillionLookups=_DOLLARS,
        generations=list_of(_generation()),
    )


def _generation() -> Schema:
    return object_of(
        id=TEXT,
        state={"enum": ["building", "standby", "serving", "retired"]},
        table=TEXT,
        enteredAtSeconds=COUNT,
        builtAtSeconds=or_null(COUNT),
        verifiedAtSeconds=or_null(COUNT),
        differences=or_null(COUNT),
    )


def _task() -> Schema:
    return object_of(
        id=TEXT,
        kind=TEXT,
        about={"type": "object"},
        state={"enum": ["running", "done", "failed"]},
        startedAtSeconds={"type": "number"},
        endedAtSeconds=_SECONDS,
        problem=or_null(TEXT),
        slices=COUNT,
        slicesDone=COUNT,
        counts={"type": "object", "additionalProperties": COUNT},
    )


def _reason() -> Schema:
    return object_of(source=TEXT, index=or_null(TEXT), kind=TEXT, count=COUNT, reason=TEXT)


def _account() -> Schema:
    return object_of(name=TEXT, transactions=object_of(changes=COUNT, lookups=COUNT))


def _breaker() -> Schema:
    return object_of(
        state={"enum": ["closed", "open", "half-open"]},
        failures=COUNT,
        openForSeconds=_SECONDS,
        lastError=or_null(TEXT),
        lastOutageSeconds=_SECONDS,
    )
