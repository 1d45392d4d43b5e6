"""Columns: any JSON document comes back as it was, within the limits of the Table service."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.entries.keys.fact_key import MISSING
from shared.entries.rows.columns import (
    KEY,
    document_columns,
    entity_bytes,
    fact_columns,
    is_column_name,
    put_text,
    read_columns,
    take_text,
)
from shared.entries.rows.json_text import NotJsonError, dumps, loads
from tests.property.strategies import documents, json_values, long_texts, texts

PROPERTY_UNITS_MAX = 32 * 1024


def same(left: Any, right: Any) -> bool:
    """Equal with types: 1 is not 1.0, 0.0 is not -0.0."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


def stored(document: dict[str, Any]) -> dict[str, Any]:
    """A whole row: what the service adds, what we add, and the document."""
    columns = {
        "PartitionKey": "p",
        "RowKey": "r",
        "Timestamp": "t",
        **fact_columns("1", ["c"]),
        **document_columns(document),
    }
    put_text(columns, KEY, "{}")
    return columns


@given(documents)
@example({"a": -0.0, "b": 0.0, "c": 1.0, "d": 1})
@example({"a": 2**63, "b": 2**63 - 1, "c": -(2**63), "d": 10**30})
@example({"PartitionKey": 1, "RowKey": 2, "Timestamp": 3, "timestamp": 4, "_fact": 5, "_json": 6, "": 7})
@example({"a": "\x00", "b": "\uffff", "c": "\u2028", "d": "\x85", "e": {"f": "\uffff"}})
@example({"a": None, "b": {"c": None}})
def test_every_document_comes_back_as_it_was(document: dict[str, Any]) -> None:
    """Value for value, with types, under every name."""
    assert same(read_columns(stored(document)).document, document)


@given(documents)
def test_columns_are_what_the_service_takes(document: dict[str, Any]) -> None:
    """Native scalars under valid names, nothing else."""
    for name, value in document_columns(document).items():
        assert is_column_name(name) or name.startswith("_json")
        assert isinstance(value, (str, float, bool)) or -(2**63) <= value < 2**63


@given(st.text() | long_texts, st.integers(1, 3))
def test_long_texts_are_split_and_joined(text: str, factor: int) -> None:
    """No piece is over 64 KiB as the service counts, and no piece is lost."""
    whole = text * (factor * 40_000 // max(1, len(text)))
    columns: dict[str, Any] = {}
    put_text(columns, "_json", whole)
    assert all(len(piece.encode("utf-16-le")) <= 2 * PROPERTY_UNITS_MAX for piece in columns.values())
    assert take_text(columns, "_json") == whole


@given(st.lists(st.none() | st.just(MISSING) | st.booleans() | st.integers() | texts, max_size=3), texts)
def test_the_fact_comes_back_as_it_was(partition_key: list[Any], fact_id: str) -> None:
    """Id and partition key, with null, missing and the types kept apart."""
    columns = fact_columns(fact_id, partition_key)
    put_text(columns, KEY, "{}")
    entry = read_columns(columns)
    assert (entry.id, list(map(repr, entry.partition_key))) == (fact_id, list(map(repr, partition_key)))


@given(json_values)
def test_json_text_comes_back_as_it_was(value: Any) -> None:
    """Also integers of any size."""
    assert same(loads(dumps(value)), value)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (math.nan, "NaN"),
        ([None, math.inf], "NaN"),
        ({"a": [10**30, math.nan]}, "not JSON compliant"),
        ("\ud800", "lone surrogate"),
        ({"\udfff": 1}, "lone surrogate"),
        ([10**30, "\ud800"], "lone surrogate"),
        ({1, 2}, "not JSON serializable"),
    ],
)
def test_what_has_no_json_is_refused(value: Any, reason: str) -> None:
    """Never written as something else."""
    with pytest.raises(NotJsonError, match=reason):
        dumps(value)


def test_a_document_too_deep_for_json_is_refused() -> None:
    """As a dead letter, not as a crash."""
    value: Any = 1
    for _ in range(100_000):
        value = [value]
    with pytest.raises(NotJsonError, match="nested too deeply"):
        dumps(value)


def test_300_properties_are_250_at_most() -> None:
    """The service takes 252 of our own; what is over goes into the JSON text."""
    document = {f"field{number}": number for number in range(300)}
    columns = document_columns(document)
    assert len(columns) <= 240
    assert read_columns(stored(document)).document == document


def test_scalars_are_native_columns() -> None:
    """Any Table tool can read them."""
    document = {"s": "text", "i": 5, "d": 1.5, "b": True, "n": None, "o": {"x": 1}, "with space": 1}
    assert document_columns(document) == {
        "s": "text",
        "i": 5,
        "d": 1.5,
        "b": True,
        "_json": '{"n":null,"o":{"x":1},"with space":1}',
    }


def test_the_size_of_a_row_is_counted_in_utf_16() -> None:
    """Two bytes per unit of names and texts, 8 for a number, 12 of overhead."""
    assert entity_bytes({"ab": "x" * 1000}) - entity_bytes({}) == 12 + 4 + 2000
    assert entity_bytes({"a": 1}) - entity_bytes({}) == 12 + 2 + 8


def test_a_row_that_is_no_entry_is_refused() -> None:
    """A tombstone or a stranger's row has no fact."""
    with pytest.raises(NotJsonError, match="lacks _key"):
        read_columns({"PartitionKey": "p", "RowKey": "r"})
