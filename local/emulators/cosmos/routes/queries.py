"""Answers to queries and to "read all items": one page each, or the query's plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from local.emulators.cosmos.data.scan import Scan
from local.emulators.cosmos.data.scope import Scope
from local.emulators.cosmos.errors import BadRequestError
from local.emulators.cosmos.exchange import Answer, answer_feed, answer_json
from local.emulators.cosmos.routes.charges import query_charge
from local.emulators.cosmos.routes.ordering import PlaceOrder, Resume
from local.emulators.cosmos.routes.paging import page_size
from local.emulators.cosmos.routes.query_pages import Continuation, run_page
from local.emulators.cosmos.sql.plan import query_plan, sole_aggregate
from local.emulators.cosmos.sql.prepare import prepare

if TYPE_CHECKING:
    from local.emulators.cosmos.data.clock import Clock
    from local.emulators.cosmos.data.containers import Container
    from local.emulators.cosmos.data.store import DocumentStore
    from local.emulators.cosmos.exchange import Call
    from local.emulators.cosmos.sql.prepare import PreparedQuery

CONTINUATION = "x-ms-continuation"
IS_PLAN = "x-ms-cosmos-is-query-plan-request"
_IS_QUERY = "x-ms-documentdb-isquery"
_CROSSES = "x-ms-documentdb-query-enablecrosspartition"
_RESUME = "resumeFilter"
_EXECUTION = "x-ms-cosmos-query-execution-info"
_EVERYTHING = {"query": "SELECT * FROM c"}


def is_query(call: Call) -> bool:
    """Whether a POST is a query rather than a new resource."""
    content_type = call.headers.get("content-type", "")
    return call.is_set(_IS_QUERY) or call.is_set(IS_PLAN) or content_type.startswith("application/query+json")


@dataclass(frozen=True, slots=True)
class Queries:
    """Runs queries over the items of a container."""

    store: DocumentStore
    clock: Clock

    async def query(self, call: Call, container: Container) -> Answer:
        """One page of the query in the request's body, or its plan."""
        spec = call.json()
        if call.is_set(IS_PLAN):
            return answer_json(200, query_plan(prepare(spec)))
        scope = Scope.of(call, container)
        if scope.only_range is None and not call.is_set(_CROSSES) and scope.low is None:
            raise BadRequestError("Cross partition query is required but disabled: enable it, or name a partition key.")
        return await self._page(call, scope, spec)

    async def read_all(self, call: Call, container: Container) -> Answer:
        """One page of all items."""
        return await self._page(call, Scope.of(call, container), _EVERYTHING)

    async def _page(self, call: Call, scope: Scope, spec: Any) -> Answer:
        query = prepare(spec)
        if query.aggregates and scope.crosses_ranges:
            sole_aggregate(query.parsed)
        token = call.headers.get(CONTINUATION)
        start = Continuation.decode(token, query) if token else None
        given = spec.get(_RESUME)
        resume = None if given is None else Resume.of(given, len(query.order))
        page = await run_page(query, Scan(self.store, self.clock, scope), page_size(call), start, resume)
        answer = answer_feed(scope.container.rid, "Documents", page.rows)
        if page.continuation is not None:
            answer.headers[CONTINUATION] = page.continuation.encode()
        answer.headers["x-ms-request-charge"] = str(query_charge(page.scanned, len(answer.body)))
        answer.headers["x-ms-alt-content-path"] = scope.container.path
        if query.order:
            answer.headers[_EXECUTION] = orjson.dumps(_execution(query)).decode()
        return answer


def _execution(query: PreparedQuery) -> dict[str, bool]:
    """What a client must know to find its place among items with equal sort keys."""
    return {"reverseRidEnabled": False, "reverseIndexScan": PlaceOrder(query.descending).is_reversed}


def query_described(call: Call, rid: str, name: str, described: list[dict[str, Any]]) -> Answer:
    """A list of databases or containers, narrowed by the query in the request's body if there is one."""
    if not is_query(call):
        return answer_feed(rid, name, [orjson.dumps(each) for each in described])
    query = prepare(call.json())
    if query.aggregates or query.order or query.limit is not None:
        raise BadRequestError("Queries of databases and containers select and filter only.")
    results = (query.result(each) for each in described if query.matches(each))
    return answer_feed(rid, name, [result for result in results if result is not None])
