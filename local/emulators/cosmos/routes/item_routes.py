"""The `docs` of a container: a handler for the collection, and a handler for a single item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from local.emulators.cosmos.data.documents import checked_id
from local.emulators.cosmos.data.items import EtagConditions, ItemOutcome, WriteMode
from local.emulators.cosmos.data.ranges import find_range, last_lsn
from local.emulators.cosmos.data.scope import PARTITION_KEY, whole_key
from local.emulators.cosmos.errors import BadRequestError, MethodNotAllowedError
from local.emulators.cosmos.exchange import Answer
from local.emulators.cosmos.routes.batch import IS_BATCH, Batches
from local.emulators.cosmos.routes.change_feed import ChangeFeed, position_headers
from local.emulators.cosmos.routes.charges import read_charge, write_charge
from local.emulators.cosmos.routes.queries import Queries, is_query

if TYPE_CHECKING:
    from local.emulators.cosmos.data.containers import Container
    from local.emulators.cosmos.data.store import DocumentStore
    from local.emulators.cosmos.exchange import Call
    from local.emulators.cosmos.routes.item_writes import Writes

_IS_UPSERT = "x-ms-documentdb-is-upsert"
_TRIGGERS = ("x-ms-documentdb-pre-trigger-include", "x-ms-documentdb-post-trigger-include")


@dataclass(frozen=True, slots=True)
class ItemRoutes:
    """Answers requests below `docs`."""

    store: DocumentStore
    writes: Writes
    feed: ChangeFeed
    queries: Queries
    batches: Batches

    async def collection(self, call: Call, container: Container) -> Answer:
        """`docs/`: write, query, batch, change feed or list."""
        if call.method == "GET":
            if "a-im" in call.headers:
                return self.feed.read(call, container)
            return await self.queries.read_all(call, container)
        if call.method != "POST":
            raise MethodNotAllowedError(f"{call.method} is not possible on a container's documents.")
        if is_query(call):
            return await self.queries.query(call, container)
        if call.is_set(IS_BATCH):
            return self.batches.run(call, container)
        return self._create(call, container)

    def _create(self, call: Call, container: Container) -> Answer:
        _refuse_triggers(call)
        text = call.headers.get(PARTITION_KEY)
        key = container.partition_key.of_header(text) if text is not None else None
        mode: WriteMode = "upsert" if call.is_set(_IS_UPSERT) else "create"
        body = call.json()
        with self.store.transaction():
            outcome = self.writes.put(container, mode, body, key, _conditions(call))
        return _answer(call, container, outcome)

    def item(self, call: Call, container: Container, item_id: str) -> Answer:
        """`docs/{id}`: read, replace, patch or delete."""
        checked_id(item_id)
        key = whole_key(call, container)
        conditions = _conditions(call)
        if call.method == "GET":
            return self._found(call, container, self.writes.read(container, key, item_id, conditions))
        _refuse_triggers(call)
        body = call.json() if call.method in ("PUT", "PATCH") else None
        with self.store.transaction():
            if call.method == "PUT":
                outcome = self.writes.put(container, "replace", body, key, conditions, item_id)
            elif call.method == "PATCH":
                outcome = self.writes.patch(container, key, item_id, body, conditions)
            elif call.method == "DELETE":
                outcome = self.writes.delete(container, key, item_id, conditions)
            else:
                raise MethodNotAllowedError(f"{call.method} is not possible on an item.")
        return _answer(call, container, outcome)

    def _found(self, call: Call, container: Container, outcome: ItemOutcome) -> Answer:
        """An item, with the position of its range beside its own."""
        answer = _answer(call, container, outcome)
        newest = last_lsn(self.store, container.number, find_range(container.ranges, str(outcome.range_number)))
        answer.headers.update(position_headers(container, outcome.range_number, newest))
        return answer


def _conditions(call: Call) -> EtagConditions:
    return EtagConditions(call.headers.get("if-match"), call.headers.get("if-none-match"))


def _refuse_triggers(call: Call) -> None:
    if any(header in call.headers for header in _TRIGGERS):
        raise BadRequestError("The local Cosmos DB runs no triggers: leave them out.")


def _answer(call: Call, container: Container, outcome: ItemOutcome) -> Answer:
    charge = read_charge if call.method == "GET" else write_charge
    wants_body = call.method == "GET" or not call.prefers_minimal
    answer = Answer(outcome.status, outcome.body if wants_body else b"")
    answer.headers["etag"] = outcome.etag
    answer.headers["x-ms-request-charge"] = str(charge(len(outcome.body)))
    answer.headers["x-ms-item-lsn"] = str(outcome.lsn)
    answer.headers.update(position_headers(container, outcome.range_number, outcome.lsn))
    return answer
