"""The Table service over HTTP: the port of `port.Tables` on the wire, with guards, retries and counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

import orjson

from shared.errors import SettingError
from shared.tables import limits
from shared.tables.breaker import Breaker
from shared.tables.clock import ServiceClock
from shared.tables.counts import CallKind, Counts
from shared.tables.limiter.calls import CallShape, Priority
from shared.tables.limiter.gate import Gate
from shared.tables.limiter.limiter import Limiter
from shared.tables.port import PARTITION_KEY, ROW_KEY, key_of
from shared.tables.retry import RetryPolicy, Sender, Timing
from shared.tables.wire import batch, results, urls
from shared.tables.wire.sign import KeySigner, Signer, TokenSigner
from shared.tables.wire.transport import Request, Transport, Wire

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType
    from typing import Self

    from shared.tables.port import Continuation, Operation, Page, Row, RowRange
    from shared.tables.wire.account import Account
    from shared.tables.wire.answers import TableAnswer

T = TypeVar("T")

_BATCH_HEADERS: Final = {"Content-Type": batch.CONTENT_TYPE}
_JSON_HEADERS: Final = {"Content-Type": "application/json", "Prefer": "return-no-content"}
_OF_TABLES: Final = CallShape(None, 1, is_write=True)


class TableClient:
    """The tables of one storage account. Use it as an async context manager, or `close` it.

    A call that gets no usable answer is sent again within `policy`. A transaction may therefore be sent twice
    although its first attempt landed: `transact` may then fail with `OperationFailedError.resent`, and the
    error that ends all attempts carries `outcome_unknown`. Clients of one account share a `breaker` and a `gate`, all
    clients of a process a `clock`.
    """

    def __init__(
        self,
        account: Account,
        timing: Timing,
        *,
        policy: RetryPolicy | None = None,
        wire: Wire | None = None,
        counts: Counts | None = None,
        breaker: Breaker | None = None,
        clock: ServiceClock | None = None,
        gate: Gate | None = None,
        priority: Priority = Priority.FEED,
    ) -> None:
        self.counts = counts or Counts()
        self.breaker = breaker or Breaker()
        self.gate = gate or Gate(Limiter(), timing.steady_seconds, timing.sleep)
        self._endpoint = account.endpoint
        self._sender = Sender(policy or RetryPolicy(), timing, self.breaker, self.gate, priority)
        self.clock = clock or ServiceClock(timing.wall_seconds, timing.steady_seconds)
        self._transport = Transport(account.endpoint, _signer(account, timing), wire or Wire(), self.clock)

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
        shape = CallShape((table, partition), 1, is_write=False)
        return await self._call("get", table, Request("GET", path), results.read_row, shape)

    async def transact(self, table: str, operations: Sequence[Operation]) -> tuple[str | None, ...]:
        """Apply all operations or none; the new ETag of each, None for a delete."""
        limits.check_table(table)
        body = batch.encode(operations, f"{self._endpoint}/{table}")
        limits.check_request(len(body))

        def read(answer: TableAnswer, table: str) -> tuple[str | None, ...]:
            return results.read_etags(answer, table, operations)

        shape = CallShape((table, str(key_of(operations[0])[0])), len(operations), is_write=True)
        return await self._call("transact", table, Request("POST", urls.BATCH, body, _BATCH_HEADERS), read, shape)

    async def query(
        self,
        table: str,
        rows: RowRange | None,
        *,
        limit: int | None = None,
        select: Sequence[str] = (),
        continuation: Continuation | None = None,
    ) -> Page:
        """One page of the range, or of the whole table, in key order."""
        limits.check_table(table)
        limits.check_query(rows, limit, select)
        path = urls.query_path(table, rows, limit, select, continuation)
        shape = _shape_of_query(table, rows, limit)
        return await self._call("query", table, Request("GET", path), results.read_page, shape)

    async def create_table(self, table: str) -> bool:
        """Create the table if it is absent; whether this call did it."""
        limits.check_table(table)
        body = orjson.dumps({"TableName": table})
        return await self._call(
            "create", table, Request("POST", urls.TABLES, body, _JSON_HEADERS), results.read_created
        )

    async def delete_table(self, table: str) -> bool:
        """Delete the table with all its rows; whether it was there."""
        limits.check_table(table)
        return await self._call("delete", table, Request("DELETE", urls.table_path(table)), results.read_deleted)

    async def list_tables(self, prefix: str) -> tuple[str, ...]:
        """The names of all tables that begin like this, in order, page by page."""
        limits.check_table(prefix)
        names: list[str] = []
        next_table: str | None = None
        while True:
            request = Request("GET", urls.tables_path(prefix, next_table))
            page, next_table = await self._call("list", prefix, request, results.read_tables)
            names += [name for name in page if name.startswith(prefix)]
            if next_table is None:
                return tuple(sorted(names))

    async def _call(
        self,
        kind: CallKind,
        table: str,
        request: Request,
        read: Callable[[TableAnswer, str], T],
        shape: CallShape = _OF_TABLES,
    ) -> T:
        async def attempt(left_seconds: float) -> T:
            self.counts.add(table, kind)
            return read(await self._transport.send(request, left_seconds), table)

        return await self._sender.send(attempt, shape)


def _shape_of_query(table: str, rows: RowRange | None, limit: int | None) -> CallShape:
    """Without a limit, a range with an end is one entry key, and any other reads whole pages."""
    is_short = rows is not None and rows.upper is not None
    place = None if rows is None else (table, rows.partition)
    return CallShape(place, limit or (1 if is_short else limits.PAGE_ROWS_MAX), is_write=False)


def _signer(account: Account, timing: Timing) -> Signer:
    if account.credential is not None:
        return TokenSigner(account.credential, timing.wall_seconds)
    if account.key is None:
        raise SettingError(f"Storage account {account.name} has neither a key nor a credential: give it one.")
    return KeySigner(account.name, account.key, timing.wall_seconds)
