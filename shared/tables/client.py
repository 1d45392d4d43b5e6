"""The Table service over HTTP: the port of `port.Tables` on the wire, with guards, retries and counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

import orjson

from shared.errors import SettingError, StorageUnavailableError, TableMissingError
from shared.tables import batch, limits, urls
from shared.tables.answers import BEING_DELETED, Answer, refusal_of, unreadable
from shared.tables.counts import CallKind, Counts
from shared.tables.entity import ETAG_PROPERTY, decode
from shared.tables.port import PARTITION_KEY, ROW_KEY, Continuation, Page, Row
from shared.tables.retry import RetryPolicy, Timing, with_retries
from shared.tables.sign import KeySigner, Signer, TokenSigner
from shared.tables.transport import Request, Transport, Wire

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType
    from typing import Self

    from shared.tables.account import Account
    from shared.tables.port import Operation, RowRange

T = TypeVar("T")

_BATCH_HEADERS: Final = {"Content-Type": batch.CONTENT_TYPE}
_JSON_HEADERS: Final = {"Content-Type": "application/json", "Prefer": "return-no-content"}
_NEXT_PARTITION: Final = "x-ms-continuation-NextPartitionKey"
_NEXT_ROW: Final = "x-ms-continuation-NextRowKey"


class TableClient:
    """The tables of one storage account. Use it as an async context manager, or `close` it.

    A call that gets no usable answer is sent again within `policy`. A transaction may therefore be sent twice
    although its first attempt landed: `transact` may then fail with `OperationFailedError.resent`, and the
    error that ends all attempts carries `outcome_unknown`.
    """

    def __init__(
        self,
        account: Account,
        timing: Timing,
        *,
        policy: RetryPolicy | None = None,
        wire: Wire | None = None,
        counts: Counts | None = None,
    ) -> None:
        self.counts = counts or Counts()
        self._endpoint = account.endpoint
        self._timing = timing
        self._policy = policy or RetryPolicy()
        self._transport = Transport(account.endpoint, _signer(account, timing), wire or Wire())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    async def get(self, table: str, partition: str, row: str) -> Row | None:
        """The row with this key, or None."""
        limits.check_table(table)
        limits.check_key(partition, PARTITION_KEY)
        limits.check_key(row, ROW_KEY)
        path = f"/{table}{urls.entity_path(urls.quote_key(partition), urls.quote_key(row))}"
        return await self._call("get", table, Request("GET", path), _read_row)

    async def transact(self, table: str, operations: Sequence[Operation]) -> tuple[str | None, ...]:
        """Apply all operations or none; the new ETag of each, None for a delete."""
        limits.check_table(table)
        limits.check_transaction(operations)
        body = batch.encode(operations, f"{self._endpoint}/{table}")
        limits.check_request(len(body))

        def read(answer: Answer, table: str) -> tuple[str | None, ...]:
            if answer.status != 202:
                raise refusal_of(answer).error(table)
            return batch.decode(answer.body, table, operations)

        return await self._call("transact", table, Request("POST", urls.BATCH, body, _BATCH_HEADERS), read)

    async def query(
        self,
        table: str,
        rows: RowRange,
        *,
        limit: int | None = None,
        select: Sequence[str] = (),
        continuation: Continuation | None = None,
    ) -> Page:
        """One page of the range, in key order."""
        limits.check_table(table)
        limits.check_query(rows, limit, select)
        path = urls.query_path(table, rows, limit, select, continuation)
        return await self._call("query", table, Request("GET", path), _read_page)

    async def create_table(self, table: str) -> bool:
        """Create the table if it is absent; whether this call did it."""
        limits.check_table(table)
        body = orjson.dumps({"TableName": table})
        return await self._call(
            "create", table, Request("POST", urls.TABLES, body, _JSON_HEADERS), _read_created
        )

    async def delete_table(self, table: str) -> bool:
        """Delete the table with all its rows; whether it was there."""
        limits.check_table(table)
        return await self._call("delete", table, Request("DELETE", urls.table_path(table)), _read_deleted)

    async def _call(
        self, kind: CallKind, table: str, request: Request, read: Callable[[Answer, str], T]
    ) -> T:
        async def attempt(left_seconds: float) -> T:
            self.counts.add(table, kind)
            return read(await self._transport.send(request, left_seconds), table)

        return await with_retries(attempt, self._policy, self._timing)


def _signer(account: Account, timing: Timing) -> Signer:
    if account.credential is not None:
        return TokenSigner(account.credential, timing.wall_seconds)
    if account.key is None:
        raise SettingError(f"Storage account {account.name} has neither a key nor a credential: give it one.")
    return KeySigner(account.name, account.key, timing.wall_seconds)


def _read_row(answer: Answer, table: str) -> Row | None:
    if answer.status == 200:
        fields = _json(answer, table)
        return Row(decode(fields), _text(fields, ETAG_PROPERTY, table))
    refusal = refusal_of(answer)
    if refusal.reason == "missing":
        return None
    raise refusal.error(table)


def _read_page(answer: Answer, table: str) -> Page:
    if answer.status != 200:
        raise refusal_of(answer).error(table)
    value = _json(answer, table).get("value")
    if not isinstance(value, list):
        raise unreadable(table)
    rows = tuple(Row(decode(fields), _text(fields, ETAG_PROPERTY, table)) for fields in value)
    partition = answer.headers.get(_NEXT_PARTITION)
    return Page(
        rows, Continuation(partition, answer.headers.get(_NEXT_ROW)) if partition is not None else None
    )


def _read_created(answer: Answer, table: str) -> bool:
    if answer.status in {201, 204}:
        return True
    refusal = refusal_of(answer)
    if refusal.reason == "exists":
        return False
    if refusal.code == BEING_DELETED:
        raise StorageUnavailableError(
            f"Table {table} is still being deleted: try again in a minute.", outcome_unknown=False
        )
    raise refusal.error(table)


def _read_deleted(answer: Answer, table: str) -> bool:
    if answer.status == 204:
        return True
    refusal = refusal_of(answer)
    error = refusal.error(table)
    if refusal.reason == "missing" or isinstance(error, TableMissingError):
        return False
    raise error


def _json(answer: Answer, table: str) -> dict[str, Any]:
    try:
        fields = orjson.loads(answer.body)
    except orjson.JSONDecodeError as error:
        raise unreadable(table) from error
    if not isinstance(fields, dict):
        raise unreadable(table)
    return fields


def _text(fields: dict[str, Any], name: str, table: str) -> str:
    text = fields.get(name)
    if not isinstance(text, str):
        raise unreadable(table)
    return text
