"""Expressions: the dotted fast path and JMESPath give the same values, and truth is our own."""

from __future__ import annotations

import json
from typing import Any

import jmespath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.definitions.field_paths import quoted, segments
from shared.entries.changes.paths import EvaluationError, compile_condition, compile_path
from tests.property.strategies import json_values, texts

names = st.sampled_from(["a", "b", "_c", "D1", "Major Genre", 'qu"ote', "back\\slash", "é", ""]) | texts
documents = st.dictionaries(names, json_values | st.dictionaries(names, json_values, max_size=4), max_size=4)


@st.composite
def paths_into(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A document and a dotted path that often leads somewhere in it."""
    document = draw(documents)
    steps: list[str] = []
    value: Any = document
    for _ in range(draw(st.integers(1, 3))):
        known = list(value) if isinstance(value, dict) and value else []
        name = draw(st.sampled_from(known) | names if known else names)
        steps.append(name)
        value = value.get(name) if isinstance(value, dict) else None
    return ".".join(map(quoted, steps)), document


@given(paths_into())
def test_the_dotted_fast_path_agrees_with_jmespath(drawn: tuple[str, dict[str, Any]]) -> None:
    """For every path of plain and quoted names, on every document."""
    path, document = drawn
    assert segments(path) is not None
    assert compile_path(path)(document) == jmespath.search(path, document)


@given(st.lists(names, min_size=1, max_size=4))
def test_a_quoted_path_gives_back_its_names(steps: list[str]) -> None:
    """Whatever the names contain: dots, quotes, backslashes."""
    assert segments(".".join(map(quoted, steps))) == tuple(steps)


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", "a..b", "a b", "a-b", "1a", "a[0]", "a.*", "'a'", '"a', '"\\x"'])
def test_what_is_no_dotted_path_is_left_to_jmespath(text: str) -> None:
    """The fast path takes nothing that it does not understand."""
    assert segments(text) is None


@given(json_values)
def test_truth_is_the_same_for_a_field_and_for_an_expression(value: Any) -> None:
    """false, null, 0, "", [] and {} are false, everything else is true."""
    falsy = value in (None, False, 0, "", [], {})
    for text in ("field", "field || `null`", "field && field", "[field][0]"):
        assert compile_condition(text)({"field": value}) is not falsy


@pytest.mark.parametrize("text", ["!count", "!(count && active)", "active && !count", "[!count][0]"])
def test_zero_is_false_inside_an_expression_too(text: str) -> None:
    """JMESPath alone would call 0 true, and `!count` false."""
    assert compile_condition(text)({"count": 0, "active": True})
    assert not compile_condition(text)({"count": 1, "active": True})


def test_values_of_expressions_are_plain_jmespath() -> None:
    """Only `where` and `when` have a truth of their own."""
    document = {"zero": 0, "other": "x", "items": [{"n": 1}, {"n": 2}]}
    for text in (
        "zero || other",
        "items[?n > `1`].n | [0]",
        "length(items)",
        "items[*].n",
        "max(items[*].n)",
    ):
        assert json.dumps(compile_path(text)(document)) == json.dumps(jmespath.search(text, document))


@pytest.mark.parametrize("text", ["length(n)", "abs(text)", "sum(items)", "join(n, items)", "sort_by(items, &n)"])
def test_an_expression_that_fails_says_so(text: str) -> None:
    """As one error of our own, whatever the library raises."""
    with pytest.raises(EvaluationError):
        compile_path(text)({"n": 5, "text": "x", "items": ["a", 1]})
