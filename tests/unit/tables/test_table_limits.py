"""Every limit of the Table service is checked before anything is sent; at the limit nothing is refused."""

from __future__ import annotations

from typing import cast

import pytest

from shared.errors import LimitError
from shared.tables import limits
from shared.tables.port import Delete, Entity, Insert, Operation, Replace, RowRange, Upsert
from shared.tables.wire import batch
from shared.tables.wire.entity import encode


def entity(row: str = "r", partition: str = "p", /, **columns: object) -> Entity:
    """A row with any columns, also such as no type checker would let pass."""
    return cast(Entity, {"PartitionKey": partition, "RowKey": row, **columns})


MIB_OF_COLUMNS = {f"c{n:02}": "x" * 32_000 for n in range(16)}
MIB_IN_BYTES = 4 + 2 * len("pr") + 16 * (8 + 2 * 3 + 4 + 64_000)
TO_THE_LIMIT = (2**20 - MIB_IN_BYTES - 8 - 2 * 3 - 4) // 2


@pytest.mark.parametrize(
    ("operations", "complaint"),
    [
        ([], "0 operations"),
        ([Upsert(entity(str(n))) for n in range(101)], "101 operations"),
        ([Upsert(entity("a")), Upsert(entity("b", "q"))], "two partitions"),
        ([Upsert(entity("a")), Delete("p", "a")], "twice"),
        ([Upsert({"RowKey": "r"})], "PartitionKey is a NoneType"),
        ([Upsert({"PartitionKey": "p"})], "RowKey is a NoneType"),
        ([Upsert({"PartitionKey": "p", "RowKey": 7})], "RowKey is a int"),
        ([Delete("p", "r", "")], "not an ETag"),
        ([Replace(entity(), 'W/"x"\r\nEvil: yes')], "not an ETag"),
        ([Insert(entity(**{f"c{n}": 1 for n in range(253)}))], "253 properties"),
        ([Insert(entity(**{"has space": 1}))], "'has space' is not a property name"),
        ([Insert(entity(**{"1st": 1}))], "'1st' is not a property name"),
        ([Insert(entity(**{"a@odata.type": "Edm.Guid"}))], "not a property name"),
        ([Insert(entity(**{"n" * 256: 1}))], "not a property name"),
        ([Insert(entity(Timestamp="now"))], "'Timestamp' is not a property name"),
        ([Insert(entity(x="x" * 32_769))], "65538 bytes"),
        ([Insert(entity(x="😀" * 16_385))], "65540 bytes"),
        ([Insert(entity(x=b"x" * 65_537))], "65537 bytes"),
        ([Insert(entity(x=2**63))], "64 bits"),
        ([Insert(entity(x=-(2**63) - 1))], "64 bits"),
        ([Insert(entity(x=None))], "NoneType"),
        ([Insert(entity(x=["a"]))], "list"),
        ([Insert(entity(**MIB_OF_COLUMNS, end="x" * (TO_THE_LIMIT + 1)))], "1048577 bytes|1048578 bytes"),
    ],
)
def test_a_transaction_outside_the_limits_is_refused(operations: list[Operation], complaint: str) -> None:
    """The message says which limit, and by how much."""
    with pytest.raises(LimitError, match=complaint):
        batch.encode(operations, "table")


@pytest.mark.parametrize(
    "operations",
    [
        [Upsert(entity(str(n))) for n in range(100)],
        [Insert(entity(**{f"c{n}": 1 for n in range(252)}))],
        [Insert(entity(**{"n" * 255: 1, "größe": 1, "_x": 1}))],
        [Insert(entity(x="x" * 32_768, y="😀" * 16_384, z=b"x" * 65_536))],
        [Insert(entity(x=2**63 - 1, y=-(2**63)))],
        [Insert(entity("x" * 512, "😀" * 256))],
        [Insert(entity(**MIB_OF_COLUMNS, end="x" * TO_THE_LIMIT))],
        [Replace(entity(), "*"), Delete("p", "s", "W/\"datetime'2026-01-01T00%3A00%3A00Z'\"")],
    ],
)
def test_a_transaction_at_the_limits_passes(operations: list[Operation]) -> None:
    """The last value that the service takes is not refused."""
    assert batch.encode(operations, "table")


@pytest.mark.parametrize("key", ["a/b", "a\\b", "a#b", "a?b", "a\tb", "a\x7fb", "a\x9fb", "\ud800", "x" * 513, 7])
def test_a_bad_key_is_refused(key: object) -> None:
    """Forbidden characters, half a surrogate pair, more than 1 KiB, and what is no text."""
    with pytest.raises(LimitError):
        limits.check_key(key, "RowKey")


@pytest.mark.parametrize("table", ["", "ab", "1abc", "a-b", "a" * 64, "tables", "Tables", "a/b"])
def test_a_bad_table_name_is_refused(table: str) -> None:
    """Letters and digits, 3 to 63, a letter first, and not the one reserved name."""
    with pytest.raises(LimitError, match="not a table name"):
        limits.check_table(table)


@pytest.mark.parametrize(
    ("rows", "limit", "select"),
    [
        (RowRange("a/b"), None, ()),
        (RowRange("p", lower="a#"), None, ()),
        (RowRange("p", upper="a?"), None, ()),
        (RowRange("p"), 0, ()),
        (RowRange("p"), 1001, ()),
        (RowRange("p"), None, ("a&$top=1",)),
    ],
)
def test_a_bad_query_is_refused(rows: RowRange, limit: int | None, select: tuple[str, ...]) -> None:
    """Bad keys, impossible page sizes, and names that are none."""
    with pytest.raises(LimitError):
        limits.check_query(rows, limit, select)


def test_a_request_has_less_than_four_mebibytes() -> None:
    """The limit itself is already too much."""
    limits.check_request(4 * 2**20 - 1)
    with pytest.raises(LimitError, match="4194304 bytes"):
        limits.check_request(4 * 2**20)


def test_a_text_without_utf8_cannot_be_sent() -> None:
    """Half a surrogate pair in a value is refused when the entity is encoded."""
    with pytest.raises(LimitError, match="JSON"):
        encode({"PartitionKey": "p", "RowKey": "r", "x": "\ud800"})
