"""The Table port: what holds for the service in memory holds on the wire, with a key and with tokens."""

from __future__ import annotations

import math
from itertools import product

import pytest

from shared.errors import LimitError, OperationFailedError, TableMissingError
from shared.tables.client import TableClient
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.port import (
    Continuation,
    Delete,
    Entity,
    EntityValue,
    Insert,
    Operation,
    Replace,
    Row,
    RowRange,
    Upsert,
)

Service = MemoryTables | TableClient
STALE = 'W/"stale"'
ONE_OF_EACH: Entity = {
    "text": "ünï😀 \u2028\u2029 '\"{}\r\n",
    "empty": "",
    "digits": "12",
    "lowest": -(2**63),
    "highest": 2**63 - 1,
    "zero": 0,
    "whole": 1.0,
    "tiny": 5e-324,
    "huge": 1.7976931348623157e308,
    "third": 1 / 3,
    "endless": -math.inf,
    "yes": True,
    "no": False,
    "raw": bytes(range(256)),
    "nothing": b"",
}


def entity(row: str, partition: str = "p", **columns: EntityValue) -> Entity:
    """A row of the test's table."""
    return {"PartitionKey": partition, "RowKey": row, **columns}


async def rows_of(tables: Service, table: str, rows: RowRange | None, limit: int | None = None) -> list[str]:
    """The row keys of a range, page after page."""
    found: list[str] = []
    continuation: Continuation | None = None
    while True:
        page = await tables.query(table, rows, limit=limit, continuation=continuation)
        found += [str(row.entity["RowKey"]) for row in page.rows]
        continuation = page.continuation
        if continuation is None:
            return found


async def etag_of(tables: Service, table: str, row: str) -> str:
    """The ETag of a row that is there."""
    found = await tables.get(table, "p", row)
    assert found is not None
    return found.etag


async def failure_of(tables: Service, table: str, *operations: Operation) -> tuple[int, str]:
    """The index and reason with which a transaction fails."""
    with pytest.raises(OperationFailedError) as caught:
        await tables.transact(table, operations)
    assert not caught.value.resent
    return caught.value.index, caught.value.reason


async def test_without_a_range_the_whole_table_is_read(tables: Service, table: str) -> None:
    """Partition after partition in key order, whatever the size of a page."""
    for partition in ("q", "p", "ü", "p 2"):
        await tables.transact(table, [Insert(entity(f"{partition}{row}", partition)) for row in (2, 1, 3)])
    wanted = [f"{partition}{row}" for partition in ("p", "p 2", "q", "ü") for row in (1, 2, 3)]
    for limit in (None, 1, 2, 5):
        assert await rows_of(tables, table, None, limit) == wanted


async def test_a_row_reads_back_as_it_was_written(tables: Service, table: str) -> None:
    """Every type of value keeps its value and its type, by point read and by query."""
    written = {**entity("r"), **ONE_OF_EACH}
    (etag,) = await tables.transact(table, [Insert(written)])
    row = await tables.get(table, "p", "r")
    assert row == Row(written, str(etag))
    assert {name: type(value) for name, value in row.entity.items()} == {
        name: type(value) for name, value in written.items()
    }
    assert (await tables.query(table, RowRange("p"))).rows == (row,)


async def test_not_a_number_is_a_double(tables: Service, table: str) -> None:
    """NaN, which equals nothing, comes back as a float."""
    await tables.transact(table, [Insert(entity("r", x=math.nan))])
    row = await tables.get(table, "p", "r")
    assert row is not None
    assert isinstance(row.entity["x"], float)
    assert math.isnan(row.entity["x"])


async def test_a_row_that_is_not_there_is_none(tables: Service, table: str) -> None:
    """A point read of a free key is no error."""
    assert await tables.get(table, "p", "r") is None


async def test_an_insert_takes_only_a_free_key(tables: Service, table: str) -> None:
    """The second insert of a key fails and changes nothing."""
    await tables.transact(table, [Insert(entity("r", n=1))])
    assert await failure_of(tables, table, Insert(entity("r", n=2))) == (0, "exists")
    row = await tables.get(table, "p", "r")
    assert row is not None
    assert row.entity["n"] == 1


async def test_an_upsert_replaces_the_whole_entity(tables: Service, table: str) -> None:
    """No column of the old entity stays."""
    await tables.transact(table, [Upsert(entity("r", old=1))])
    await tables.transact(table, [Upsert(entity("r", new=2))])
    row = await tables.get(table, "p", "r")
    assert row is not None
    assert row.entity == entity("r", new=2)


async def test_a_replace_needs_the_etag_of_the_row(tables: Service, table: str) -> None:
    """The current ETag works once, an old one and a missing row do not, and '*' takes any row."""
    assert await failure_of(tables, table, Replace(entity("r"), "*")) == (0, "missing")
    (first,) = await tables.transact(table, [Insert(entity("r"))])
    (second,) = await tables.transact(table, [Replace(entity("r", n=2), str(first))])
    assert second != first
    assert await failure_of(tables, table, Replace(entity("r"), str(first))) == (0, "precondition")
    await tables.transact(table, [Replace(entity("r", n=3), "*")])
    row = await tables.get(table, "p", "r")
    assert row is not None
    assert row.entity["n"] == 3


async def test_a_delete_needs_the_etag_of_the_row(tables: Service, table: str) -> None:
    """A stale ETag and a missing row fail; the current ETag and '*' remove the row."""
    assert await failure_of(tables, table, Delete("p", "r")) == (0, "missing")
    (etag,) = await tables.transact(table, [Insert(entity("r"))])
    assert await failure_of(tables, table, Delete("p", "r", STALE)) == (0, "precondition")
    assert await tables.transact(table, [Delete("p", "r", str(etag))]) == (None,)
    await tables.transact(table, [Insert(entity("r"))])
    await tables.transact(table, [Delete("p", "r")])
    assert await tables.get(table, "p", "r") is None


async def test_a_row_inserted_again_has_an_etag_of_its_own(tables: Service, table: str) -> None:
    """The ETag of a deleted row never fits its successor."""
    (first,) = await tables.transact(table, [Insert(entity("r"))])
    await tables.transact(table, [Delete("p", "r")])
    await tables.transact(table, [Insert(entity("r"))])
    assert await failure_of(tables, table, Delete("p", "r", str(first))) == (0, "precondition")


async def test_a_transaction_answers_with_the_etag_of_each_operation(tables: Service, table: str) -> None:
    """Every kind of operation in one transaction; a delete has no ETag."""
    before = await tables.transact(table, [Insert(entity(row)) for row in "abc"])
    etags = await tables.transact(
        table,
        [
            Upsert(entity("a", n=1)),
            Delete("p", "b"),
            Replace(entity("c"), str(before[2])),
            Insert(entity("d")),
        ],
    )
    assert etags[1] is None
    assert [etags[0], etags[2], etags[3]] == [await etag_of(tables, table, row) for row in "acd"]
    assert await rows_of(tables, table, RowRange("p")) == ["a", "c", "d"]


@pytest.mark.parametrize("index", [0, 1, 99])
@pytest.mark.parametrize(
    ("failing", "reason"),
    [
        (Insert(entity("there")), "exists"),
        (Delete("p", "absent"), "missing"),
        (Replace(entity("there"), STALE), "precondition"),
    ],
)
async def test_a_transaction_fails_whole_and_names_the_operation(
    tables: Service, table: str, failing: Operation, reason: str, index: int
) -> None:
    """The other operations leave no trace: no new row, no replaced row, no deleted row."""
    await tables.transact(table, [Insert(entity("there")), Insert(entity("w0000", n=1)), Insert(entity("w0001"))])
    before = (await tables.query(table, RowRange("p"))).rows
    operations: list[Operation] = [Upsert(entity(f"w{n:04}", n=2)) for n in range(100)]
    operations[1] = Delete("p", "w0001")
    operations[index] = failing
    assert await failure_of(tables, table, *operations) == (index, reason)
    assert (await tables.query(table, RowRange("p"))).rows == before


async def test_a_range_has_open_and_closed_ends(tables: Service, table: str) -> None:
    """Bounds select as comparison of strings does, in any page size, and only in their partition."""
    keys = ["", "a", "b", "bb", "c", "d"]
    await tables.transact(table, [Insert(entity(key)) for key in keys])
    await tables.transact(table, [Insert(entity("bb", "p2"))])
    for lower, upper, at_lower, at_upper in product([None, "", "bb"], [None, "c"], [True, False], [True, False]):
        rows = RowRange("p", lower, upper, at_lower, at_upper)
        expected = [
            key
            for key in keys
            if (lower is None or key > lower or (at_lower and key == lower))
            and (upper is None or key < upper or (at_upper and key == upper))
        ]
        assert await rows_of(tables, table, rows) == expected
        assert await rows_of(tables, table, rows, limit=2) == expected


async def test_rows_sort_by_utf16_code_unit(tables: Service, table: str) -> None:
    """A supplementary character sorts before U+FB00, although its code point is higher."""
    keys = ["~", "é", "😀", "\ufb00", "\uffee"]
    await tables.transact(table, [Insert(entity(key)) for key in reversed(keys)])
    assert await rows_of(tables, table, RowRange("p")) == keys
    assert await rows_of(tables, table, RowRange("p", lower="\ufb00")) == keys[3:]
    assert await rows_of(tables, table, RowRange("p", upper="\ufb00")) == keys[:3]


async def test_a_page_has_a_thousand_rows_at_most(tables: Service, table: str) -> None:
    """The 1001st row is on the next page."""
    keys = [f"{n:04}" for n in range(1001)]
    for start in range(0, len(keys), 100):
        await tables.transact(table, [Insert(entity(key)) for key in keys[start : start + 100]])
    page = await tables.query(table, RowRange("p"))
    assert len(page.rows) == 1000
    rest = await tables.query(table, RowRange("p"), continuation=page.continuation)
    assert [row.entity["RowKey"] for row in rest.rows] == ["1000"]
    assert rest.continuation is None


async def test_a_query_may_select_columns(tables: Service, table: str) -> None:
    """The keys come along; a column that a row lacks is left out."""
    await tables.transact(table, [Insert(entity("r", a=1, b="x")), Insert(entity("s", b="y"))])
    page = await tables.query(table, RowRange("p"), select=("a",))
    assert [row.entity for row in page.rows] == [entity("r", a=1), entity("s")]


async def test_a_missing_table_is_said_to_be_missing(tables: Service, table_name: str) -> None:
    """A read, a query and a transaction all say so; none takes it for a missing row."""
    with pytest.raises(TableMissingError, match=table_name):
        await tables.get(table_name, "p", "r")
    with pytest.raises(TableMissingError, match=table_name):
        await tables.query(table_name, RowRange("p"))
    with pytest.raises(TableMissingError, match=table_name):
        await tables.transact(table_name, [Delete("p", "r")])


async def test_tables_are_created_and_deleted_once(tables: Service, table_name: str) -> None:
    """The second time neither does anything, and neither is an error."""
    assert await tables.create_table(table_name)
    assert not await tables.create_table(table_name)
    assert await tables.delete_table(table_name)
    assert not await tables.delete_table(table_name)


HOSTILE_KEYS = [
    "",
    " ",
    "'",
    "''",
    "' or '1' eq '1",
    "a')&$top=1",
    "100%",
    "%27",
    "%2F..%2F",
    "a+b&c=d;e,f",
    '{}[]()!*"<>|^`~@:$=',
    "Ünïcödé 東京 😀",
    "\u00a0\u200b\ufeff",
    "{'PartitionKey':'x'}",
    "--changeset_index_tables--",
    "x" * 512,
]


@pytest.mark.parametrize("key", HOSTILE_KEYS)
async def test_no_key_escapes_its_quotes(tables: Service, table: str, key: str) -> None:
    """Any legal key is found by point read, range and ETag, deletes itself, and touches no other row."""
    await tables.transact(table, [Insert(entity("other", key)), Upsert(entity(key, key, n=1))])
    row = await tables.get(table, key, key)
    assert row is not None
    assert row.entity == entity(key, key, n=1)
    found = await tables.query(table, RowRange(key, key, key, upper_inclusive=True))
    assert found.rows == (row,)
    await tables.transact(table, [Replace(entity(key, key, n=2), row.etag)])
    await tables.transact(table, [Delete(key, key)])
    assert await rows_of(tables, table, RowRange(key)) == ["other"]


async def test_what_breaks_a_limit_is_not_sent(tables: Service, table: str) -> None:
    """The guards stand before the service and its counters."""
    sent = tables.counts.total()
    with pytest.raises(LimitError):
        await tables.transact(table, [])
    with pytest.raises(LimitError):
        await tables.transact(table, [Upsert(entity(str(n), x="x" * 32_000, y="y" * 32_000)) for n in range(90)])
    with pytest.raises(LimitError):
        await tables.query(table, RowRange("p"), limit=0)
    with pytest.raises(LimitError):
        await tables.get(table, "p", "a/b")
    with pytest.raises(LimitError):
        await tables.create_table("no-dashes")
    assert tables.counts.total() == sent


async def test_every_call_is_counted_by_table_and_kind(tables: Service, table: str) -> None:
    """A transaction of many operations is one storage transaction, and so is one that fails."""
    await tables.transact(table, [Insert(entity("a")), Insert(entity("b"))])
    await failure_of(tables, table, Insert(entity("a")))
    await tables.get(table, "p", "a")
    await tables.query(table, RowRange("p"))
    await tables.delete_table(table)
    assert tables.counts.by_table_and_kind() == {
        (table, "create"): 1,
        (table, "transact"): 2,
        (table, "get"): 1,
        (table, "query"): 1,
        (table, "delete"): 1,
    }


async def test_tables_are_listed_by_how_their_names_begin(tables: Service, table: str) -> None:
    """In order; one that is deleted is not listed any more, and a prefix is not a pattern."""
    names = [f"{table}p2027{month:02d}01" for month in (2, 1, 12)]
    for name in names:
        assert await tables.create_table(name)
    assert await tables.list_tables(f"{table}p") == tuple(sorted(names))
    assert await tables.list_tables(f"{table}p202701") == (names[1],)
    assert await tables.list_tables(table) == (table, *sorted(names))
    assert await tables.list_tables(f"{table}q") == ()
    assert await tables.delete_table(names[1])
    assert await tables.list_tables(f"{table}p") == (names[0], names[2])
    for name in names:
        await tables.delete_table(name)
    for bad in ("", "ab", "a' or TableName ge '"):
        with pytest.raises(LimitError):
            await tables.list_tables(bad)
