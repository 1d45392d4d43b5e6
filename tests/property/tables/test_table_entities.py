"""Entities survive the wire's JSON, and a change set cannot be broken by what is in them."""

from __future__ import annotations

import orjson
from hypothesis import assume, given
from hypothesis import strategies as st

from shared.tables.port import Entity, Insert, Upsert
from shared.tables.wire.batch import encode as encode_batch
from shared.tables.wire.entity import decode, encode

texts = st.text(st.characters(codec="utf-8"))
keys = st.text(st.characters(codec="utf-8", exclude_characters="/\\#?", exclude_categories=["Cc"]), max_size=64)
names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
values = st.one_of(
    texts,
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.booleans(),
    st.binary(),
)
entities: st.SearchStrategy[Entity] = st.builds(
    lambda partition, row, columns: {**columns, "PartitionKey": partition, "RowKey": row},
    keys,
    keys,
    st.dictionaries(names, values, max_size=6),
)


@given(entities)
def test_an_entity_survives_the_wire(entity: Entity) -> None:
    """Values and types are the same after JSON and back."""
    found = decode(orjson.loads(encode(entity)))
    typed = [{name: (type(value), repr(value)) for name, value in each.items()} for each in (found, entity)]
    assert typed[0] == typed[1]


@given(entities, keys)
def test_a_change_set_has_as_many_parts_as_operations(entity: Entity, row: str) -> None:
    """No key and no value can start a line of its own, so none can pose as a boundary or a header."""
    assume(row != entity["RowKey"])
    other = {**entity, "RowKey": row}
    lines = encode_batch([Insert(entity), Upsert(other)], "https://a.table.core.windows.net/t").splitlines()
    assert lines.count(b"--changeset_index_tables") == 2
    assert sum(line.startswith((b"POST ", b"PUT ")) and line.endswith(b" HTTP/1.1") for line in lines) == 2
    bodies = [decode(orjson.loads(line)) for line in lines if line.startswith(b"{")]
    assert [body["RowKey"] for body in bodies] == [entity["RowKey"], row]
