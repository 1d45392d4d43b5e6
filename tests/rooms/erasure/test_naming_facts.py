"""How a fact to erase is named, and what is answered of one that the ledger does not know: in memory, as over HTTP."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from shared.app.parts import Parts
from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.errors import LifecycleRefusedError
from shared.tables.accounts import Accounts
from shared.tables.memory.memory_tables import MemoryTables
from shared.web.api.erasures import ErasureApi
from shared.web.openapi.erasures import erasure_paths
from tests.worlds.world import definitions_of, services_on

DEFINITIONS = """
version: 1
sources:
  people: {cosmos: {database: d, container: people}, deletes: {when: gone}}
  customers: {cosmos: {database: d, container: customers}, partitionKey: customerId, deletes: {when: gone}}
  visits: {cosmos: {database: d, container: visits}, partitionKey: [customerId, id], deletes: {when: gone}}
  events: {eventHub: events}
indexes:
  by-town: {source: people, partition: town, project: keys}
  customers-by-town: {source: customers, partition: town, project: keys}
  visits-by-town: {source: visits, partition: town, project: keys}
  events-by-town: {source: events, partition: town, project: all}
"""


class App:
    """An app in memory."""

    def __init__(self) -> None:
        tables = MemoryTables()
        self._services = services_on(Accounts({DEFAULT_ACCOUNT: tables}), time.time)
        self._parts = Parts(definitions_of(DEFINITIONS), self._services)
        self._sent = 0

    async def write(self, source: str, **document: Any) -> None:
        """A version of a fact arrives."""
        self._sent += 1
        shown = {"_ts": int(time.time()), "_lsn": self._sent, "_etag": f'"{self._sent}"', **document}
        await (await self._parts.ready()).worker.apply_latest(source, [shown])

    async def erase(self, **body: Any) -> dict[str, Any]:
        """The answer over HTTP."""
        await self._parts.ready()
        answer = await ErasureApi(self._parts.eraser).erase(json.dumps(body).encode(), "/api/erasures")
        found: dict[str, Any] = json.loads(answer.body)
        return found


@pytest.fixture
def app() -> App:
    return App()


@pytest.mark.parametrize(("source", "paths"), [("customers", "customerId"), ("visits", "customerId and at id")])
@pytest.mark.parametrize("force", [False, True])
async def test_a_partition_key_that_is_not_the_id_must_be_given(
    app: App, source: str, paths: str, *, force: bool
) -> None:
    """With the id in its place, nothing would be left of any fact."""
    await app.write(source, id="56", customerId="c-1", town="A")
    with pytest.raises(LifecycleRefusedError, match=rf"partitionKey.* {paths}\b") as refused:
        await app.erase(source=source, id="56", force=force)
    assert refused.value.code == "BadRequest"


async def test_a_partition_key_that_is_the_id_or_nothing_need_not_be_given(app: App) -> None:
    """It is known."""
    await app.write("people", id="56", town="A")
    assert (await app.erase(source="people", id="56"))["isDeleted"] is False
    assert (await app.erase(source="events", id="56"))["left"] == []


@pytest.mark.parametrize(("key", "is_needed"), [("id", False), ("customerId", True)])
def test_the_openapi_document_asks_for_a_partition_key_that_every_source_needs(key: str, *, is_needed: bool) -> None:
    """Else a body that fits it is refused."""
    source = f"people: {{cosmos: {{database: d, container: people}}, partitionKey: {key}}}"
    index = "by-town: {source: people, partition: town, project: keys}"
    definitions = definitions_of(f"version: 1\nsources: {{{source}}}\nindexes: {{{index}}}\n")
    call = erasure_paths(definitions)["/api/erasures"]["post"]
    schema = call["requestBody"]["content"]["application/json"]["schema"]
    assert ("partitionKey" in schema["required"]) is is_needed


async def test_a_fact_that_the_ledger_does_not_know_is_not_said_to_be_deleted(app: App) -> None:
    """Nor to be there: it may have been forgotten, and its key may be wrong."""
    await app.write("customers", id="56", customerId="c-1", town="A")
    nothing: dict[str, Any] = {"isDeleted": None, "deletedAt": None, "left": []}
    assert await app.erase(source="customers", id="56", partitionKey="c-2") == nothing
    assert await app.erase(source="customers", id="56", partitionKey="c-2", force=True) == nothing
    assert (await app.erase(source="customers", id="56", partitionKey="c-1"))["isDeleted"] is False


async def test_a_fact_that_was_forced_out_was_deleted_and_then_is_unknown(app: App) -> None:
    """The call that removed it is the last one that knew it."""
    await app.write("people", id="56", town="A")
    await app.write("people", id="56", gone=True)
    assert (await app.erase(source="people", id="56"))["isDeleted"] is True
    forced = await app.erase(source="people", id="56", force=True)
    assert (forced["isDeleted"], forced["left"]) == (True, [])
    assert (await app.erase(source="people", id="56"))["isDeleted"] is None
