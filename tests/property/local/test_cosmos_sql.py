"""The local Cosmos DB's query language, for all inputs: it parses or says where not, and filters right."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local.emulators.cosmos.errors import SqlError
from local.emulators.cosmos.sql.functions import FUNCTIONS
from local.emulators.cosmos.sql.parser import parse_query
from local.emulators.cosmos.sql.plan import query_plan
from local.emulators.cosmos.sql.prepare import prepare
from local.emulators.cosmos.sql.values import UNDEFINED

if TYPE_CHECKING:
    from local.emulators.cosmos.sql.prepare import PreparedQuery

WORDS = (
    *(
        "SELECT",
        "VALUE",
        "TOP",
        "FROM",
        "WHERE",
        "ORDER BY",
        "OFFSET",
        "LIMIT",
        "AND",
        "OR",
        "NOT",
        "IN",
        "BETWEEN",
    ),
    *(
        "LIKE",
        "ESCAPE",
        "AS",
        "ASC",
        "DESC",
        "DISTINCT",
        "GROUP BY",
        "JOIN",
        "NULL",
        "TRUE",
        "UNDEFINED",
        "EXISTS",
    ),
    *(
        "c",
        "c.x",
        'c["y"]',
        "c[0]",
        "root",
        "@p",
        "@",
        "1",
        "2.5",
        "1e999",
        ".5",
        "'s'",
        '"d"',
        "'\\u00e4'",
        "'open",
    ),
    *(
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ".",
        ":",
        "*",
        "=",
        "!=",
        "<>",
        "<",
        ">=",
        "+",
        "-",
        "/",
        "%",
        "||",
        "??",
    ),
    *(
        "COUNT(1)",
        "AVG(c.x)",
        "STARTSWITH(",
        "ARRAY_CONTAINS(c.t, 1)",
        "IS_DEFINED(",
        "--",
        "\n",
        ";",
        "\x00",
        "é",
    ),
)
OPERANDS = (
    "c.x",
    "c.y",
    "c.t",
    "c.t[1].z",
    "c.b",
    "c",
    "c.none",
    "1",
    "-2.5",
    "1e300",
    "0",
    "'a'",
    "''",
    "null",
    "true",
)
BINARY = ("+", "-", "*", "/", "%", "=", "!=", "<", ">=", "AND", "OR", "||", "??", "LIKE")


def expressions(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Expressions made of smaller ones."""
    return st.one_of(
        st.tuples(inner, st.sampled_from(BINARY), inner).map(lambda parts: f"({' '.join(parts)})"),
        st.tuples(inner, inner, inner).map(lambda parts: f"({parts[0]} BETWEEN {parts[1]} AND {parts[2]})"),
        st.tuples(inner, inner).map(lambda parts: f"({parts[0]} NOT IN ({parts[1]}, 1))"),
        st.tuples(inner, inner).map(lambda parts: f"{{'k': {parts[0]}, 'l': [{parts[1]}]}}"),
        st.tuples(inner, inner).map(lambda parts: f"({parts[0]})[{parts[1]}]"),
        st.tuples(st.sampled_from(sorted(FUNCTIONS)), inner, inner, inner).map(_call),
    )


def _call(parts: tuple[str, str, str, str]) -> str:
    name, *arguments = parts
    return f"{name}({', '.join(arguments[: FUNCTIONS[name].most])})"


PARAMETERS = [{"name": "@p", "value": 3}]


SAMPLE = {"id": "i", "x": 2**60, "y": "text", "t": [1, {"z": None}], "b": True}


def parses_or_says_where(text: str) -> None:
    try:
        parse_query(text)
        query = prepare({"query": text, "parameters": PARAMETERS})
        run(query)
        query_plan(query)
    except SqlError as error:
        assert 0 <= error.position <= len(text)
        assert f"position {error.position}" in str(error)


def run(query: PreparedQuery) -> None:
    """Evaluating must never fail: a wrong type gives undefined."""
    query.matches(SAMPLE)
    query.sort_keys(SAMPLE)
    if query.aggregates:
        accumulators = query.accumulators()
        for accumulator, (_, evaluate) in zip(accumulators, query.aggregates, strict=True):
            accumulator.add(evaluate(SAMPLE))
        query.result([accumulator.result() for accumulator in accumulators])
    else:
        query.result(SAMPLE)


@settings(max_examples=500)
@given(st.recursive(st.sampled_from(OPERANDS), expressions, max_leaves=8))
def test_any_expression_has_a_value_or_is_refused(expression: str) -> None:
    """Operators and functions take operands of every type."""
    parses_or_says_where(f"SELECT VALUE {expression} FROM c WHERE ({expression}) = 1 ORDER BY c.x")
    parses_or_says_where(f"SELECT {expression}, MAX({expression}) FROM c")
    parses_or_says_where(f"SELECT SUM({expression}), AVG({expression}) FROM c")


@given(st.text(max_size=60))
def test_any_text_parses_or_is_refused_with_a_position(text: str) -> None:
    """No other exception ever leaves the parser."""
    parses_or_says_where(text)
    parses_or_says_where(f"SELECT * FROM c WHERE {text}")


@settings(max_examples=400)
@given(st.lists(st.sampled_from(WORDS), max_size=25))
def test_any_sequence_of_words_parses_or_is_refused_with_a_position(words: list[str]) -> None:
    """The same for text that looks like queries."""
    parses_or_says_where(" ".join(words))
    parses_or_says_where(f"SELECT {' '.join(words)} FROM c")


@pytest.mark.parametrize("opening", ["(", "-", "NOT ", "[", '{"a":', "c[", "ABS("])
def test_deep_nesting_is_refused_not_overflown(opening: str) -> None:
    """The depth limit comes before Python's."""
    with pytest.raises(SqlError, match=r"nested|expected|NOT"):
        parse_query(f"SELECT VALUE {opening * 5000} FROM c")


@pytest.mark.parametrize("operator", ["AND", "OR"])
def test_long_conditions_are_answered(operator: str) -> None:
    """Hundreds of conditions in a row are no nesting."""
    query = prepare({"query": f"SELECT * FROM c WHERE {f' {operator} '.join(['c.x = 1'] * 3000)}"})
    assert query.matches({"x": 1})


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.5, -1.5, 2.0]),
    st.sampled_from(["", "a", "ab", "b", "A", "1", "true", "%", "_"]),
)
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=2), st.dictionaries(st.just("z"), SCALARS, max_size=1))
DOCUMENTS = st.fixed_dictionaries({"id": st.just("i")}, optional={"x": VALUES, "y": VALUES})
OPERATORS = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
FIELDS = st.sampled_from(["x", "y", "missing"])


def kind(value: Any) -> str:
    """JSON's type of a Python value."""
    if value is UNDEFINED:
        return "undefined"
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def brute_compare(operator: str, left: Any, right: Any) -> Any:
    """The meaning of a comparison, written down without any of the evaluator's code."""
    if "undefined" in (kind(left), kind(right)):
        return None
    if operator in ("=", "!="):
        is_equal = typed(left) == typed(right)
        return is_equal == (operator == "=")
    if kind(left) != kind(right) or kind(left) in ("array", "object"):
        return None
    if left is None:
        return operator in ("<=", ">=")
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[operator]


def typed(value: Any) -> Any:
    """A form in which Python's equality is JSON's."""
    if isinstance(value, list):
        return ("array", [typed(each) for each in value])
    if isinstance(value, dict):
        return ("object", {name: typed(each) for name, each in value.items()})
    return (kind(value), value)


@st.composite
def predicates(draw: st.DrawFn, depth: int = 2) -> tuple[str, Any]:
    """A condition as text, and a function that gives True, False or None (undefined) for a document."""
    shape = draw(st.sampled_from(["compare", "compare", "in", "between", "defined", "and", "or", "not"]))
    if depth == 0 or shape in ("compare", "in", "between", "defined"):
        return draw(leaves(shape if depth else "compare"))
    left, left_of = draw(predicates(depth - 1))
    if shape == "not":
        return f"NOT ({left})", lambda document: _not(left_of(document))
    right, right_of = draw(predicates(depth - 1))
    combine = _and if shape == "and" else _or
    return f"({left}) {shape} ({right})", lambda document: combine(left_of(document), right_of(document))


@st.composite
def leaves(draw: st.DrawFn, shape: str) -> tuple[str, Any]:
    field = draw(FIELDS)
    first, second = draw(SCALARS), draw(SCALARS)
    one, other = orjson.dumps(first).decode(), orjson.dumps(second).decode()
    if shape == "in":
        return f"c.{field} IN ({one}, {other})", lambda document: _or_defined(
            document.get(field, UNDEFINED), first, second
        )
    if shape == "between":
        return f"c.{field} BETWEEN {one} AND {other}", lambda document: _and(
            brute_compare(">=", document.get(field, UNDEFINED), first),
            brute_compare("<=", document.get(field, UNDEFINED), second),
        )
    if shape == "defined":
        return f"IS_DEFINED(c.{field})", lambda document: field in document
    operator = draw(OPERATORS)
    return f"c.{field} {operator} {one}", lambda document: brute_compare(
        operator, document.get(field, UNDEFINED), first
    )


def _or_defined(value: Any, first: Any, second: Any) -> Any:
    if value is UNDEFINED:
        return None
    return typed(value) in (typed(first), typed(second))


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _and(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is False:
        return False
    return None if None in (left, right) else True


def _or(left: bool | None, right: bool | None) -> bool | None:
    if left or right:
        return True
    return None if None in (left, right) else False


@settings(max_examples=300)
@given(predicates(), st.lists(DOCUMENTS, max_size=8))
def test_filters_agree_with_brute_force(predicate: tuple[str, Any], documents: list[dict[str, Any]]) -> None:
    """WHERE keeps exactly the documents for which the condition is true, not those where it is undefined."""
    text, brute = predicate
    query = prepare({"query": f"SELECT * FROM c WHERE {text}"})
    assert [query.matches(document) for document in documents] == [brute(document) is True for document in documents]


def test_like_stays_quick_on_hostile_patterns() -> None:
    """A pattern of many % over a text that almost fits does not try all ways."""
    query = prepare({"query": f"SELECT * FROM c WHERE c.x LIKE '{'%a' * 40}%b'"})
    assert not query.matches({"x": "a" * 20_000})


@settings(max_examples=300)
@given(st.text("ab%_.", max_size=6), st.text("ab%_.\n", max_size=8))
def test_like_agrees_with_brute_force(pattern: str, text: str) -> None:
    """% is any text, _ one character, everything else itself."""
    query = prepare(
        {
            "query": "SELECT * FROM c WHERE c.x LIKE @p",
            "parameters": [{"name": "@p", "value": pattern}],
        }
    )
    regex = "".join({"%": ".*", "_": "."}.get(character, re.escape(character)) for character in pattern)
    assert query.matches({"x": text}) == (re.fullmatch(regex, text, re.DOTALL) is not None)
