"""The meaning of single expressions of the query language."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from local.emulators.cosmos.errors import SqlError
from local.emulators.cosmos.sql.prepare import prepare

DOCUMENT = {
    "id": "d",
    "n": 2,
    "f": 2.5,
    "s": "Text",
    "b": True,
    "nil": None,
    "list": [1, {"k": "v", "w": 1}, None],
    "inner": {"deep": {"er": 7}},
    "order": "reserved",
}


def value_of(expression: str) -> Any:
    """The value of an expression for the document; "undefined" when it has none."""
    result = prepare({"query": f"SELECT VALUE {expression} FROM c"}).result(DOCUMENT)
    return "undefined" if result is None else orjson.loads(result)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("c.inner.deep.er", 7),
        ('c["order"]', "reserved"),
        ("c.list[1].k", "v"),
        ("c.list[9]", "undefined"),
        ("c.n.x", "undefined"),
        ("99999999999999999999", 1e20),
        ("c.n + 1 * 3", 5),
        ("(c.n + 1) * 3", 9),
        ("c.n / 4", 0.5),
        ("c.n / 0", "undefined"),
        ("-7 % 3", -1),
        ("-c.n", -2),
        ("c.n + c.s", "undefined"),
        ("c.s || '!'", "Text!"),
        ("c.missing ?? c.nil ?? 1", None),
        ("c.n = 2.0", True),
        ("c.b = 1", False),
        ("c.nil = null", True),
        ("c.missing = null", "undefined"),
        ("c.s != null", True),
        ("c.n < 'a'", "undefined"),
        ("c.list = [1, {'w': 1, 'k': 'v'}, null]", True),
        ("c.missing = 1 AND false", False),
        ("c.missing = 1 OR true", True),
        ("c.missing = 1 OR false", "undefined"),
        ("NOT (c.missing = 1)", "undefined"),
        ("c.n NOT IN (1, 3)", True),
        ("c.f BETWEEN 2 AND 3", True),
        ("c.s LIKE 'T%t'", True),
        ("c.s LIKE 't%'", False),
        ("c.s LIKE '[A-Z]e_t'", True),
        ("c.s LIKE '[^T]%'", False),
        ("'50%' LIKE '50!%' ESCAPE '!'", True),
        ("STARTSWITH(c.s, 'te', true)", True),
        ("ENDSWITH(c.s, 'xt')", True),
        ("CONTAINS(c.n, 'x')", "undefined"),
        ("ARRAY_CONTAINS(c.list, {'k': 'v'})", False),
        ("ARRAY_CONTAINS(c.list, {'k': 'v'}, true)", True),
        ("ARRAY_LENGTH(c.list)", 3),
        ("LOWER(c.s)", "text"),
        ("SUBSTRING(c.s, 1, 2)", "ex"),
        ("INDEX_OF(c.s, 'x')", 2),
        ("IS_PRIMITIVE(c.nil)", True),
        ("IS_NUMBER(c.b)", False),
        ("{'a': c.n, 'b': c.missing, 'c': [c.missing, c.s]}", {"a": 2, "c": ["Text"]}),
        ("'it\\'s \"so\"'", 'it\'s "so"'),
    ],
)
def test_an_expression_has_its_value(expression: str, expected: Any) -> None:
    """Types are strict, undefined spreads as it does in the service."""
    assert value_of(expression) == expected


@pytest.mark.parametrize(
    ("query", "position", "hint"),
    [
        ("SELECT c.order FROM c", 9, '["order"]'),
        ("SELECT * FROM c WHERE NOT c.x = 1", 30, "parentheses"),
        ("SELECT * FROM c WHERE c.x = 1 = 2", 30, "chained"),
        ("SELECT * FROM c ORDER BY LOWER(c.x)", 25, "property paths"),
        ("SELECT c.x, COUNT(1) FROM c", 7, "inside aggregates"),
        ("SELECT c.x, c.y AS x FROM c", 12, "twice"),
        ("SELECT VALUE SUM(c.x, 1) FROM c", 13, "one argument"),
        ("SELECT * FROM c OFFSET 1.5 LIMIT 1", 23, "whole number"),
        ("SELECT TOP 1 * FROM c OFFSET 1 LIMIT 1", 22, "exclude"),
        ("SELECT * FROM c WHERE COUNT(1) > 1", 22, "SELECT only"),
        ("SELECT * FROM c WHERE 'open", 22, "not expected"),
    ],
)
def test_a_refusal_names_place_and_remedy(query: str, position: int, hint: str) -> None:
    """What the service refuses or the subset leaves out is never answered wrongly."""
    with pytest.raises(SqlError, match="position") as refusal:
        prepare({"query": query})
    assert refusal.value.position == position
    assert hint in str(refusal.value)


@pytest.mark.parametrize(
    ("aggregate", "values", "expected"),
    [
        ("COUNT(c.x)", [1, None, "a"], 3),
        ("COUNT(1)", [], 0),
        ("SUM(c.x)", [1, 2.5], 3.5),
        ("SUM(c.x)", [1, "a"], None),
        ("SUM(c.x)", [], 0),
        ("AVG(c.x)", [1, 2], 1.5),
        ("AVG(c.x)", [], None),
        ("MIN(c.x)", [3, "a", True], True),
        ("MAX(c.x)", [3, "a", True], "a"),
        ("MAX(c.x)", [3, [1]], None),
        ("MIN(c.x)", [], None),
    ],
)
def test_an_aggregate_ignores_undefined_and_keeps_types_apart(aggregate: str, values: list[Any], expected: Any) -> None:
    """One value of a wrong type makes a sum undefined; None stands for that here."""
    query = prepare({"query": f"SELECT VALUE {aggregate} FROM c"})
    (accumulator,) = query.accumulators()
    (_, evaluate) = query.aggregates[0]
    for document in ({"x": value} for value in values):
        accumulator.add(evaluate(document))
    if "c.x" in aggregate:
        accumulator.add(evaluate({}))
    result = query.result([accumulator.result()])
    assert (None if result is None else orjson.loads(result)) == expected
