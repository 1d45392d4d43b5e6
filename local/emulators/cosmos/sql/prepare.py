"""A query made ready to run: parsed, its parameters filled in, its expressions compiled."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from local.emulators.cosmos.errors import BadRequestError, SqlError
from local.emulators.cosmos.exchange import encode_json
from local.emulators.cosmos.sql import nodes
from local.emulators.cosmos.sql.aggregates import ACCUMULATORS, AggregateCompiler, has_aggregate
from local.emulators.cosmos.sql.evaluate import Compiler
from local.emulators.cosmos.sql.parser import parse_query
from local.emulators.cosmos.sql.values import UNDEFINED, sort_key

if TYPE_CHECKING:
    from local.emulators.cosmos.sql.aggregates import Accumulator
    from local.emulators.cosmos.sql.evaluate import Evaluator


@dataclass(frozen=True, slots=True)
class PreparedQuery:
    """What running a query needs. `offset` and `limit` also stand for TOP; `limit` None means all."""

    parsed: nodes.Query
    fingerprint: int
    project: Evaluator
    where: Evaluator | None
    order: tuple[Evaluator, ...]
    descending: tuple[bool, ...]
    aggregates: tuple[tuple[str, Evaluator], ...]
    offset: int
    limit: int | None

    @property
    def gives_documents(self) -> bool:
        """Whether each result is the document itself, which then need not be serialised again."""
        return isinstance(self.parsed.value, nodes.Root)

    def matches(self, document: Any) -> bool:
        return self.where is None or self.where(document) is True

    def sort_keys(self, document: Any) -> list[tuple[int, Any]]:
        return [sort_key(evaluate(document)) for evaluate in self.order]

    def accumulators(self) -> list[Accumulator]:
        return [ACCUMULATORS[name]() for name, _ in self.aggregates]

    def result(self, document: Any, body: bytes | None = None) -> bytes | None:
        """A document's result as JSON; none when SELECT VALUE is undefined for it."""
        if body is not None and self.gives_documents:
            return body
        value = self.project(document)
        return None if value is UNDEFINED else encode_json(value)


def prepare(spec: Any) -> PreparedQuery:
    """The query in a request's body: `{"query": text, "parameters": [{"name", "value"}]}`."""
    text, parameters = _read(spec)
    parsed = parse_query(text)
    compiler = Compiler(parsed.alias, parameters)
    where = compiler.compile(parsed.where) if parsed.where else None
    order = tuple(compiler.compile(each.expression) for each in parsed.order_by)
    project, aggregates = _projection(parsed, parameters)
    limit = parsed.top or parsed.limit
    return PreparedQuery(
        parsed=parsed,
        fingerprint=_fingerprint(parsed, parameters),
        project=project,
        where=where,
        order=order,
        descending=tuple(each.descending for each in parsed.order_by),
        aggregates=aggregates,
        offset=_count(parsed.offset, parameters) if parsed.offset else 0,
        limit=_count(limit, parameters) if limit else None,
    )


def _fingerprint(parsed: nodes.Query, parameters: dict[str, Any]) -> int:
    """What a continuation must agree with. Clients that merge ordered ranges change the condition between two pages."""
    text = parsed.text
    if parsed.order_by and parsed.where:
        text = text[: parsed.where.start] + text[parsed.where.end :]
    return zlib.crc32(encode_json([text, parameters]))


def _read(spec: Any) -> tuple[str, dict[str, Any]]:
    if not isinstance(spec, dict) or not isinstance(spec.get("query"), str):
        raise BadRequestError('A query must be {"query": "SELECT …", "parameters": [{"name": "@x", "value": 1}]}.')
    listed = spec.get("parameters") or []
    if not isinstance(listed, list):
        raise BadRequestError('"parameters" of a query must be a list.')
    parameters: dict[str, Any] = {}
    for each in listed:
        if not isinstance(each, dict) or not isinstance(each.get("name"), str):
            raise BadRequestError('A query parameter must be {"name": "@x", "value": 1}.')
        parameters[each["name"]] = each.get("value", UNDEFINED)
    return spec["query"], parameters


def _projection(parsed: nodes.Query, parameters: dict[str, Any]) -> tuple[Evaluator, tuple[tuple[str, Evaluator], ...]]:
    """What makes a result: of each document or, with aggregates, of theirs."""
    projection = parsed.projection()
    if not has_aggregate(projection):
        return Compiler(parsed.alias, parameters).compile(projection), ()
    _check_alone(parsed)
    compiler = AggregateCompiler(parsed.alias, parameters)
    return compiler.compile(projection), tuple(compiler.found)


def _check_alone(parsed: nodes.Query) -> None:
    for clause, name in ((parsed.top, "TOP"), (parsed.offset, "OFFSET LIMIT")):
        if clause is not None:
            raise SqlError(f"{name} and aggregates exclude each other in the local Cosmos DB.", clause.start)
    if parsed.order_by:
        raise SqlError("ORDER BY and aggregates exclude each other.", parsed.order_by[0].expression.start)


def _count(expression: nodes.Expression, parameters: dict[str, Any]) -> int:
    """The number after TOP, OFFSET or LIMIT."""
    value = Compiler("", parameters).compile(expression)(None)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise SqlError("TOP, OFFSET and LIMIT take a whole number that is not negative.", expression.start)
    return value
