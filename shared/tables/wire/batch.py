"""Transactions on the wire: a change set in multipart/mixed, and the answer to it.

Written and read by hand, because a MIME library costs more than ten times as much CPU per entity. The boundaries
can be constant: a boundary begins a line, and neither one-line JSON nor a percent-encoded URL can begin one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NoReturn

from shared.errors import OperationFailedError
from shared.tables.limits import check_entity, check_transaction
from shared.tables.port import PARTITION_KEY, ROW_KEY, Delete, Insert, Replace, key_of
from shared.tables.wire.answers import Refusal, read_error, unreadable
from shared.tables.wire.entity import encode as encode_entity
from shared.tables.wire.urls import quote_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.tables.port import Entity, Operation

CONTENT_TYPE: Final = "multipart/mixed; boundary=batch_index_tables"

_OPEN: Final = b"--batch_index_tables\r\nContent-Type: multipart/mixed; boundary=changeset_index_tables\r\n\r\n"
_PART: Final = (
    b"--changeset_index_tables\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
)
_END: Final = b"\r\n"
_CLOSE: Final = b"--changeset_index_tables--\r\n--batch_index_tables--\r\n"
_ACCEPT: Final = " HTTP/1.1\r\nAccept: application/json;odata=minimalmetadata\r\nDataServiceVersion: 3.0;\r\n"
_JSON: Final = _ACCEPT + "Content-Type: application/json\r\nPrefer: return-no-content\r\n"

_STATUS_LINE: Final = b"\r\nHTTP/1.1 "
_ETAG: Final = re.compile(rb"\r\n[Ee][Tt][Aa][Gg]: *([!-~]+)\r\n")
_INDEX: Final = re.compile(r"(\d{1,3}):")


def encode(operations: Sequence[Operation], table_url: str) -> bytes:
    """The body of the request that sends these operations to a table; raises `LimitError` for what it would refuse."""
    check_transaction(operations)
    heads = _Heads(table_url, str(key_of(operations[0])[0]))
    parts = [_OPEN]
    for operation in operations:
        parts += (_PART, heads.of(operation), b"" if isinstance(operation, Delete) else _json(operation.entity), _END)
    parts.append(_CLOSE)
    return _on_one_line(b"".join(parts))


class _Heads:
    """Request lines and headers of operations on one partition; what they share is made once."""

    def __init__(self, table_url: str, partition: str) -> None:
        self._insert = f"POST {table_url}{_JSON}\r\n".encode()
        self._entity = f"{table_url}({PARTITION_KEY}='{quote_key(partition)}',{ROW_KEY}='"

    def of(self, operation: Operation) -> bytes:
        """The lines of one operation, up to its body."""
        if isinstance(operation, Insert):
            return self._insert
        url = f"{self._entity}{quote_key(str(key_of(operation)[1]))}')"
        if isinstance(operation, Delete):
            return f"DELETE {url}{_ACCEPT}If-Match: {operation.etag}\r\n\r\n".encode()
        condition = f"If-Match: {operation.etag}\r\n" if isinstance(operation, Replace) else ""
        return f"PUT {url}{_JSON}{condition}\r\n".encode()


def _json(entity: Entity) -> bytes:
    encoded = encode_entity(entity)
    check_entity(entity, len(encoded))
    return encoded


def _on_one_line(body: bytes) -> bytes:
    """JSON may hold U+2028 and U+2029 as they are, but Azurite takes them for the end of an entity."""
    # One byte is found forty times as fast as three, and few bodies have it: this saves 5 % of a batch's CPU.
    if b"\xe2" not in body:
        return body
    return body.replace(b"\xe2\x80\xa8", rb"\u2028").replace(b"\xe2\x80\xa9", rb"\u2029")


def decode(body: bytes, table: str, operations: Sequence[Operation]) -> tuple[str | None, ...]:
    """The new ETag of each operation in the answer; raises what the answer says otherwise."""
    parts = body.split(_STATUS_LINE)[1:]
    for part in parts:
        if part[:1] != b"2":
            _raise_failure(part, table, operations)
    if len(parts) != len(operations):
        raise unreadable(table)
    return tuple(
        None if isinstance(operation, Delete) else _etag(part, table)
        for part, operation in zip(parts, operations, strict=True)
    )


def _etag(part: bytes, table: str) -> str:
    found = _ETAG.search(part)
    if found is None:
        raise unreadable(table)
    return found.group(1).decode("ascii")


def _raise_failure(part: bytes, table: str, operations: Sequence[Operation]) -> NoReturn:
    """Raise the error of a failed transaction, whose message begins with the operation's index."""
    code, message = read_error(part[part.find(b"{") : part.rfind(b"}") + 1])
    status = part[:3]
    refusal = Refusal(int(status) if status.isdigit() else 500, code, message)
    index = _INDEX.match(message)
    if refusal.reason is not None and index is not None and int(index.group(1)) < len(operations):
        raise OperationFailedError(table, int(index.group(1)), refusal.reason)
    if refusal.reason is not None:
        raise unreadable(table)
    raise refusal.error(table)
