"""Query plans: how a client that asks every range itself must rewrite a query and merge the answers.

The local server answers whole queries directly; clients ask for a plan when they are told to, and .NET
always does. The rewritten text is put together from pieces of the original, so nothing in it changes
meaning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from local.emulators.cosmos.errors import SqlError
from local.emulators.cosmos.sql import nodes

if TYPE_CHECKING:
    from local.emulators.cosmos.sql.prepare import PreparedQuery

_NAMES = {"COUNT": "Count", "SUM": "Sum", "MIN": "Min", "MAX": "Max", "AVG": "Average"}
# Clients put their own resume condition here, or `true`.
_RESUME_FILTER = "{documentdb-formattableorderbyquery-filter}"


def query_plan(query: PreparedQuery) -> dict[str, Any]:
    """The answer to a plan request."""
    parsed = query.parsed
    aggregates: list[str] = []
    rewritten = ""
    if query.aggregates:
        aggregate = sole_aggregate(parsed)
        aggregates, rewritten = [_NAMES[aggregate.name]], _rewrite_aggregate(parsed, aggregate)
    elif parsed.order_by:
        rewritten = _rewrite_ordered(query)
    elif parsed.offset:
        rewritten = _rewrite_window(query)
    return {
        "partitionedQueryExecutionInfoVersion": 2,
        "queryInfo": {
            "distinctType": "None",
            "top": query.limit if parsed.top else None,
            "offset": query.offset if parsed.offset else None,
            "limit": query.limit if parsed.limit else None,
            "orderBy": ["Descending" if each.descending else "Ascending" for each in parsed.order_by],
            "orderByExpressions": [parsed.source(each.expression) for each in parsed.order_by],
            "groupByExpressions": [],
            "groupByAliases": [],
            "aggregates": aggregates,
            "groupByAliasToAggregateType": {},
            "rewrittenQuery": rewritten,
            "hasSelectValue": parsed.value is not None and not parsed.selects_all,
            "dCountInfo": None,
            "hasNonStreamingOrderBy": False,
        },
        "queryRanges": [{"min": "", "max": "FF", "isMinInclusive": True, "isMaxInclusive": False}],
    }


def sole_aggregate(parsed: nodes.Query) -> nodes.Aggregate:
    """The aggregate of a query that can be merged from several ranges; others are refused, as in the service."""
    if isinstance(parsed.value, nodes.Aggregate):
        return parsed.value
    place = parsed.columns[0].expression.start if parsed.columns else 0
    raise SqlError("Cross partition query only supports 'VALUE <AggregateFunc>' for aggregates: select one.", place)


def _rewrite_aggregate(parsed: nodes.Query, aggregate: nodes.Aggregate) -> str:
    """What each range must give so that the client can merge; `item2` is the newer form."""
    whole, argument = parsed.source(aggregate), parsed.source(aggregate.argument)
    fields = f'"item": {whole}'
    if aggregate.name == "AVG":
        fields = f'"item": {{"sum": SUM({argument}), "count": COUNT({argument})}}'
    elif aggregate.name in ("MIN", "MAX"):
        fields += f', "item2": {{"{aggregate.name.lower()}": {whole}, "count": COUNT({argument})}}'
    return f"SELECT VALUE [{{{fields}}}] FROM {parsed.alias}{_where(parsed)}"


def _rewrite_ordered(query: PreparedQuery) -> str:
    parsed = query.parsed
    keys = ", ".join(f'{{"item": {parsed.source(each.expression)}}}' for each in parsed.order_by)
    order = ", ".join(
        f"{parsed.source(each.expression)} {'DESC' if each.descending else 'ASC'}" for each in parsed.order_by
    )
    filters = f" WHERE ({_RESUME_FILTER})"
    if parsed.where is not None:
        filters = f" WHERE ({parsed.source(parsed.where)}) AND ({_RESUME_FILTER})"
    return (
        f"SELECT {_top(query)}{parsed.alias}._rid, [{keys}] AS orderByItems, {_payload(parsed)} AS payload"
        f" FROM {parsed.alias}{filters} ORDER BY {order}{_window(query)}"
    )


def _payload(parsed: nodes.Query) -> str:
    if parsed.selects_all:
        return parsed.alias
    if parsed.value is not None:
        return parsed.source(parsed.value)
    fields = (f"{orjson.dumps(column.name).decode()}: {parsed.source(column.expression)}" for column in parsed.columns)
    return f"{{{', '.join(fields)}}}"


def _rewrite_window(query: PreparedQuery) -> str:
    """Without an order: every range gives its first results up to the end of the window."""
    parsed = query.parsed
    selection = "*" if parsed.selects_all else f"VALUE {_payload(parsed)}"
    return f"SELECT {selection} FROM {parsed.alias}{_where(parsed)}{_window(query)}"


def _where(parsed: nodes.Query) -> str:
    return f" WHERE {parsed.source(parsed.where)}" if parsed.where is not None else ""


def _top(query: PreparedQuery) -> str:
    return f"TOP {query.limit} " if query.parsed.top else ""


def _window(query: PreparedQuery) -> str:
    return f" OFFSET 0 LIMIT {query.offset + (query.limit or 0)}" if query.parsed.offset else ""
