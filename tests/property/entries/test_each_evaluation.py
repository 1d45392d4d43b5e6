"""Keys of facts, with and without `each`: evaluating once per fact and counting steps change no result."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jmespath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jmespath.exceptions import JMESPathError

from shared.definitions.instants import unix_seconds
from shared.definitions.loading.load import load
from shared.definitions.values import COERCIONS, Refused, to_datetime
from shared.entries.changes.paths import EvaluationError, compile_condition, compile_path
from shared.entries.keys.index_keys import IndexKeys
from shared.entries.keys.limits import SORT_UNITS, cut_to_fit
from shared.entries.projection.key_values import EntryKeyValues, KeyValueReader, RefusedValueError
from tests.property.strategies import json_values

if TYPE_CHECKING:
    from shared.definitions.model import Index, PartValue

TIMES = ["2026-01-01T00:00:00Z", "2026-02-03T04:05:06.5+02:00", "soon"]
scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b", "x" * 700])
items = st.fixed_dictionaries({}, optional={"n": scalars, "q": st.integers(-2, 2), "at": st.sampled_from(TIMES)})
documents = st.fixed_dictionaries(
    {},
    optional={
        "a": scalars,
        "b": st.fixed_dictionaries({}, optional={"c": scalars}),
        "items": st.lists(items | scalars, max_size=6) | items | scalars,
        "tags": st.lists(scalars, max_size=6),
        "item": scalars,
        "at": st.sampled_from(TIMES),
    },
)
OF_FACT = ["a", "b.c", "items[0].n", "sum(items[].q)", "length(tags)", "a || b.c", "to_string(tags)", "max(tags)"]
OF_ELEMENT = ["item", "item.n", "item.q", "item.n || a", "[item.q, sum(items[].q)] | sum(@)", "to_string(item)"]
CONDITIONS = [
    "a",
    "!a",
    "item",
    "item.q > `0`",
    "length(tags) > `1`",
    "a == item.n",
    "items[?q == `0`]",
    "tags == items",
]
EXPIRIES = ["at", "item.at", "items[0].at", "item.at || at"]
ARRAYS = ["items", "tags", "items[]", "items[?q > `-1`]", "[a, b.c]", "tags[:3]"]


@st.composite
def indexes(draw: st.DrawFn) -> Index:
    """An index of any such expressions."""
    part = st.builds(
        lambda path, kind, nulls: {"path": path, "type": kind, **({"nulls": "index"} if nulls else {})},
        st.sampled_from(OF_FACT + OF_ELEMENT),
        st.sampled_from(["string", "integer"]),
        st.booleans(),
    )
    parts = [{**part, "name": f"p{number}"} for number, part in enumerate(draw(st.lists(part, min_size=1, max_size=3)))]
    body: dict[str, Any] = {"source": "s", "partition": parts[:1], "sort": parts[1:], "project": "keys"}
    if draw(st.booleans()):
        body["each"] = {"item": draw(st.sampled_from(ARRAYS))}
    if draw(st.booleans()):
        body["where"] = draw(st.sampled_from(CONDITIONS))
    if draw(st.booleans()):
        body["expire"] = {"path": draw(st.sampled_from(EXPIRIES)), "after": "1d"}
    source = {"cosmos": {"database": "d", "container": "c"}, "partitionKey": "pk"}
    return load(json.dumps({"version": 1, "sources": {"s": source}, "indexes": {"i": body}})).require().indexes["i"]


def keys_one_by_one(index: Index, document: dict[str, Any]) -> list[EntryKeyValues]:
    """The plain rule: everything is evaluated for every element, on the fact with the element in it."""
    if index.each is None:
        key = _key(index, document, None)
        return [] if key is None else [key]
    listed = compile_path(index.each.path)(document)
    elements = [] if listed is None else listed if isinstance(listed, list) else [listed]
    found: dict[tuple[str, str], EntryKeyValues] = {}
    for element in elements:
        key = _key(index, {**document, index.each.name: element}, element)
        if key is not None:
            found.setdefault((key.partition, key.sort), key)
    return list(found.values())


def _key(index: Index, root: dict[str, Any], element: Any) -> EntryKeyValues | None:
    if index.where is not None and not compile_condition(index.where)(root):
        return None
    keys = IndexKeys(index)
    codecs = keys.partition_codecs + keys.sort_codecs
    found = [compile_path(codec.part.path)(root) for codec in codecs]
    if any(value is None and not codec.part.keeps_nulls for codec, value in zip(codecs, found, strict=True)):
        return None
    values: dict[str, PartValue | None] = {}
    texts = []
    for codec, value in zip(codecs, found, strict=True):
        typed = None if value is None else COERCIONS[codec.part.type](value)
        if isinstance(typed, Refused):
            raise RefusedValueError
        values[codec.part.name] = typed
        texts.append(codec.encode(typed))
    split = len(index.partition)
    return EntryKeyValues(
        cut_to_fit("".join(texts[:split]), keys.shards.partition_units),
        cut_to_fit("".join(texts[split:]), SORT_UNITS),
        values,
        element,
        _expires_seconds(index, root),
    )


def _expires_seconds(index: Index, root: dict[str, Any]) -> int | None:
    if index.expire is None or (value := compile_path(index.expire.path)(root)) is None:
        return None
    instant = to_datetime(value)
    if not isinstance(instant, str):
        raise RefusedValueError
    return unix_seconds(instant) + index.expire.after_seconds


@settings(max_examples=500)
@given(indexes(), documents)
def test_the_keys_are_those_of_evaluating_everything_for_each_element(index: Index, document: dict[str, Any]) -> None:
    """The same keys in the same order with the same values, or an error of the same kind."""
    reader = KeyValueReader(index)
    try:
        wanted = keys_one_by_one(index, document)
    except (EvaluationError, RefusedValueError):
        with pytest.raises((EvaluationError, RefusedValueError)):
            reader.keys(document)
    else:
        assert reader.keys(document) == wanted
        assert [list(key.values) for key in reader.keys(document)] == [list(key.values) for key in wanted]


PATHS = [
    *("a[]", "a[][]", "a[*].b", "*.b", "a.*", "a[::-1]", "a[1:]", "a[?b]", "a[?b == a]", "a[?@ > `0`]", "@ == a"),
    *("sort(a)", "sort_by(a, &b)", "max_by(a, &b)", "min_by(a, &@)", "max(a)", "min(a)", "sum(a)", "avg(a)", "keys(@)"),
    *("values(@)", "merge(@, a)", "to_string(@)", "to_number(a)", "contains(a, b)", "join(',', a)", "reverse(a)"),
    *("map(&b, a)", "length(a)", "type(a)", "not_null(a, b)", "to_array(a)", "starts_with(a, b)", "{x: a, y: b}"),
    *("[a, b][]", "a && b", "a || b", "!a", "a != b", "a <= b", "contains()", "ceil(a)", "a | b", "a[0]", "`[1]`[]"),
]


@settings(max_examples=1000)
@given(st.sampled_from(PATHS), st.dictionaries(st.sampled_from("ab"), json_values, max_size=2))
def test_counting_changes_no_value_of_an_expression(text: str, document: dict[str, Any]) -> None:
    """Every kind of node and every function, as the library evaluates it."""
    try:
        wanted = jmespath.search(text, document)
    except (JMESPathError, TypeError, ValueError, ArithmeticError):
        with pytest.raises(EvaluationError):
            compile_path(text)(document)
    else:
        assert repr(compile_path(text)(document)) == repr(wanted)
