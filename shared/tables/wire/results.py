"""Reads the answers of the Table service for each call: rows, pages, ETags, or the error that an answer means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from shared.errors import TableLeavingError, TableMissingError
from shared.tables.port import Continuation, Page, Row
from shared.tables.wire import batch
from shared.tables.wire.answers import BEING_DELETED, TableAnswer, refusal_of, unreadable
from shared.tables.wire.entity import ETAG_PROPERTY, decode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.tables.port import Operation

_NEXT_PARTITION: Final = "x-ms-continuation-NextPartitionKey"
_NEXT_ROW: Final = "x-ms-continuation-NextRowKey"
_NEXT_TABLE: Final = "x-ms-continuation-NextTableName"


def read_row(answer: TableAnswer, table: str) -> Row | None:
    """The row of a point read, or None when the service says that there is none."""
    if answer.status == 200:
        return _row(_json(answer, table), table)
    refusal = refusal_of(answer)
    if refusal.reason == "missing":
        return None
    raise refusal.error(table)


def read_page(answer: TableAnswer, table: str) -> Page:
    """The page of a query."""
    if answer.status != 200:
        raise refusal_of(answer).error(table)
    fields = _json(answer, table)
    value = fields.get("value") if isinstance(fields, dict) else None
    if not isinstance(value, list):
        raise unreadable(table)
    rows = tuple(_row(fields, table) for fields in value)
    partition = answer.headers.get(_NEXT_PARTITION)
    return Page(rows, None if partition is None else Continuation(partition, answer.headers.get(_NEXT_ROW)))


def read_etags(answer: TableAnswer, table: str, operations: Sequence[Operation]) -> tuple[str | None, ...]:
    """The ETags of a transaction."""
    if answer.status != 202:
        raise refusal_of(answer).error(table)
    return batch.decode(answer.body, table, operations)


def read_created(answer: TableAnswer, table: str) -> bool:
    """Whether the table was created now; False when it was there."""
    if answer.status in {201, 204}:
        return True
    refusal = refusal_of(answer)
    if refusal.reason == "exists":
        return False
    if refusal.code == BEING_DELETED:
        raise TableLeavingError(f"Table {table} is still being deleted: try again in a minute.", outcome_unknown=False)
    raise refusal.error(table)


def read_deleted(answer: TableAnswer, table: str) -> bool:
    """Whether the table was deleted now; False when it was gone."""
    if answer.status == 204:
        return True
    refusal = refusal_of(answer)
    error = refusal.error(table)
    if refusal.reason == "missing" or isinstance(error, TableMissingError):
        return False
    raise error


def read_tables(answer: TableAnswer, table: str) -> tuple[list[str], str | None]:
    """The names on a page of tables, and where the next one begins."""
    if answer.status != 200:
        raise refusal_of(answer).error(table)
    fields = _json(answer, table)
    try:
        names = [str(table["TableName"]) for table in fields["value"]]
    except (KeyError, TypeError) as error:
        raise unreadable(table) from error
    return names, answer.headers.get(_NEXT_TABLE)


def _json(answer: TableAnswer, table: str) -> Any:
    try:
        return orjson.loads(answer.body)
    except orjson.JSONDecodeError as error:
        raise unreadable(table) from error


def _row(fields: Any, table: str) -> Row:
    if not isinstance(fields, dict):
        raise unreadable(table)
    etag = fields.get(ETAG_PROPERTY)
    if not isinstance(etag, str):
        raise unreadable(table)
    try:
        return Row(decode(fields), etag)
    except ValueError as error:
        raise unreadable(table) from error
