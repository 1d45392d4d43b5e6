"""The change feed of one range: the newest version of each item, or all versions with deletes.

A continuation is the sequence number of the last change that was read, as an ETag. A page that is not full
hands out the number of the newest change that is stored, whether or not it was in scope: everything up to
it was looked at. A transaction is never divided: a page that would end inside one is larger than it should be.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import orjson

from local.emulators.cosmos.data.ranges import last_lsn
from local.emulators.cosmos.data.scope import Scope
from local.emulators.cosmos.errors import BadRequestError
from local.emulators.cosmos.exchange import Answer, answer_feed
from local.emulators.cosmos.routes.charges import feed_charge
from local.emulators.cosmos.routes.paging import fitting, page_size

if TYPE_CHECKING:
    from local.emulators.cosmos.data.clock import Clock
    from local.emulators.cosmos.data.containers import Container
    from local.emulators.cosmos.data.partition_key import PartitionKeyDefinition
    from local.emulators.cosmos.data.store import DocumentStore
    from local.emulators.cosmos.exchange import Call

_LATEST = (
    "SELECT v.lsn, coalesce(v.batch_lsn, v.lsn), v.body FROM items i JOIN versions v"
    " ON v.container = i.container AND v.range = i.range AND v.lsn = i.lsn"
    " WHERE {scope} AND (i.expires IS NULL OR i.expires > ?) AND v.ts >= ? AND i.lsn > ? AND i.lsn <= ?"
    " ORDER BY i.lsn LIMIT ?"
)
_ALL_VERSIONS = (
    "SELECT v.lsn, coalesce(v.batch_lsn, v.lsn), v.body, v.ts, v.operation,"
    " coalesce(p.batch_lsn, v.previous_lsn), v.key, v.id, p.body FROM versions v"
    " LEFT JOIN versions p ON p.container = v.container AND p.range = v.range AND p.lsn = v.previous_lsn"
    " WHERE {scope} AND v.ts >= ? AND v.lsn > ? AND v.lsn <= ? ORDER BY v.lsn LIMIT ?"
)
_NO_END = 2**62
_NO_LIMIT = -1


@dataclass(frozen=True, slots=True)
class ChangeFeed:
    """Reads the change feeds of all containers."""

    store: DocumentStore
    clock: Clock
    gives_previous: bool

    def read(self, call: Call, container: Container) -> Answer:
        """One page of the feed that the request describes: 200 with changes, or 304 when there are none."""
        scope = Scope.of(call, container)
        home = scope.only_range
        if home is None:
            raise BadRequestError("A change feed is read range by range: name one, or a partition key.")
        newest = last_lsn(self.store, container.number, home)
        after = _start(call, newest)
        size = page_size(call)
        if call.headers["a-im"].lower().startswith("full-fidelity"):
            changes = self._all_versions(scope, after, call, size)
        else:
            changes = self._latest(scope, after, call, size)
        rows = changes[: _whole_transactions(changes, fitting(row for _, row in changes))]
        is_full = len(rows) >= size or len(rows) < len(changes)
        answer = answer_feed(container.rid, "Documents", [row for _, row in rows]) if rows else Answer(304)
        answer.headers["etag"] = f'"{rows[-1][0] if is_full else newest}"'
        answer.headers["x-ms-item-count"] = str(len(rows))
        answer.headers["x-ms-request-charge"] = str(feed_charge(len(answer.body)))
        answer.headers.update(position_headers(container, home.number, newest))
        return answer

    def _latest(self, scope: Scope, after: int, call: Call, size: int) -> list[tuple[int, bytes]]:
        conditions, values = scope.of_items()
        known = (*values, self.clock.timestamp(), _since(call))
        rows = self._rows(_LATEST.format(scope=conditions), known, after, size)
        return [(lsn, b'%b,"_lsn":%d}' % (body[:-1], lsn)) for _, lsn, body in rows]

    def _all_versions(self, scope: Scope, after: int, call: Call, size: int) -> list[tuple[int, bytes]]:
        if "if-none-match" not in call.headers:
            raise BadRequestError(
                "You must read the change feed from within the retention period. All versions start from now or from a "
                "continuation."
            )
        conditions, values = scope.of_versions()
        rows = self._rows(_ALL_VERSIONS.format(scope=conditions), (*values, _since(call)), after, size)
        definition = scope.container.partition_key
        return [(row[1], self._version(definition, *row[1:])) for row in rows]

    def _rows(self, statement: str, known: tuple[Any, ...], after: int, size: int) -> list[tuple[Any, ...]]:
        """As many rows as asked for, and the rest of the last one's transaction; they begin with both numbers."""
        rows = self.store.execute(statement, (*known, after, _NO_END, size)).fetchall()
        if rows:
            own_lsn, transaction_end = rows[-1][:2]
            rows += self.store.execute(statement, (*known, own_lsn, transaction_end, _NO_LIMIT))
        return rows

    def _version(
        self, definition: PartitionKeyDefinition, lsn: int, body: bytes | None, ts: int, operation: str,
        previous_lsn: int, key: str | None, item_id: str | None, previous: bytes | None,
    ) -> bytes:  # fmt: skip
        metadata: dict[str, Any] = {
            "operationType": "delete" if body is None else operation,
            "lsn": lsn,
            "crts": ts,
            "previousImageLSN": previous_lsn,
            "timeToLiveExpired": operation == "expire",
        }
        if key is not None:
            metadata |= {"id": item_id, "partitionKey": definition.names(definition.of_header(key))}
        parts = b'{"current":%b,"metadata":%b' % (body or b"{}", orjson.dumps(metadata))
        if self.gives_previous and previous is not None:
            parts += b',"previous":%b' % previous
        return parts + b"}"


def _whole_transactions(changes: list[tuple[int, bytes]], count: int) -> int:
    """So many changes, and the rest of the last one's transaction."""
    while 0 < count < len(changes) and changes[count][0] == changes[count - 1][0]:
        count += 1
    return count


def position_headers(container: Container, range_number: int, lsn: int) -> dict[str, str]:
    """The headers that give a client the range and the position of an answer."""
    return {
        "x-ms-session-token": f"{range_number}:-1#{lsn}",
        "lsn": str(lsn),
        "x-ms-documentdb-partitionkeyrangeid": str(range_number),
        "x-ms-alt-content-path": container.path,
    }


def _start(call: Call, newest: int) -> int:
    """The change after which to read: from the ETag, from now on (`*`), or from the beginning."""
    etag = call.headers.get("if-none-match")
    if etag is None:
        return 0
    if etag == "*":
        return newest
    text = etag.strip('"')
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise BadRequestError(f"{etag!r} is not a continuation of a change feed: start from the beginning.")
    return int(text)


def _since(call: Call) -> int:
    text = call.headers.get("if-modified-since")
    if text is None:
        return 0
    try:
        moment = parsedate_to_datetime(text)
        return int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp())
    except (ValueError, OverflowError) as error:
        raise BadRequestError(f"If-Modified-Since {text!r} is not an RFC 1123 date.") from error
