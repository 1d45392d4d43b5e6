"""The host is killed at every storage call of a batch; after its restart the index tables are exactly right."""

from __future__ import annotations

import contextlib
import json
import re
import uuid
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from azure.cosmos import CosmosClient, PartitionKey

from local.process import ports
from tests.contract.cosmos.server import LocalCosmos
from tests.e2e.killing_proxy import KillingProxy
from tests.e2e.outside_reader import entries, groups
from tests.support import ROOT, Program, listens, local_command, running, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DEFINITIONS = """
version: 1
sources:
  {name}: {{cosmos: {{database: {name}, container: people}}, partitionKey: team, deletes: {{when: gone}}}}
indexes:
  {name}-by-town: {{source: {name}, partition: town, sort: name, project: [phone]}}
  {name}-by-tag: {{source: {name}, each: {{tag: tags}}, partition: tag, project: keys}}
  {name}-spent: {{source: {name}, partition: town, summarize: {{people: facts, spent: {{sum: spent}}}}}}
"""
# More than the calls of the batch below: the last rounds kill nothing, which is a case, too.
CALLS = 30
QUICK = (1, 4, 7, 11)


@dataclass(frozen=True)
class Setup:
    """One set of containers, tables and definitions, and what it takes to run a host on them."""

    name: str
    folder: Path
    container: Any
    proxy: KillingProxy
    storage: str
    settings: dict[str, str]

    @contextlib.contextmanager
    def host(self, log: str) -> Iterator[Program]:
        """The project's app in a process of its own."""
        (port,) = ports.any_free(1)
        command = local_command("host", "--app", str(ROOT), "--port", str(port), "--watch-stdin")
        with running(command, self.folder / log, self.settings) as program:
            wait_until(lambda: listens(port) or program.process.poll() is not None, "the host listens")
            yield program

    def write(self, versions: list[dict[str, Any]]) -> None:
        """Write facts, in order."""
        for fact in versions:
            self.container.upsert_item(fact)

    def is_exact(self, facts: list[dict[str, Any]]) -> bool:
        """Whether both indexes have just what these facts say."""
        there = [fact for fact in facts if not fact.get("gone")]
        by_town = {
            (e["key"]["town"], e["id"], e["data"]["phone"]) for e in entries(self.storage, f"{self.name}-by-town")
        }
        by_tag = {(e["key"]["tag"], e["id"]) for e in entries(self.storage, f"{self.name}-by-tag")}
        spent: dict[str, list[Decimal]] = {}
        for fact in there:
            spent.setdefault(fact["town"], []).append(Decimal(str(fact["spent"])))
        return (
            by_town == {(fact["town"], fact["id"], fact["phone"]) for fact in there}
            and by_tag == {(tag, fact["id"]) for fact in there for tag in fact["tags"]}
            and groups(self.storage, f"{self.name}-spent")
            == {
                json.dumps({"town": town}, separators=(",", ":")): (len(each), {"spent": sum(each)})
                for town, each in spent.items()
            }
        )


def person(number: int, **fields: Any) -> dict[str, Any]:
    """A fact."""
    base = {
        "id": f"p{number}",
        "team": "t",
        "town": f"town{number % 2}",
        "name": "N",
        "phone": "1",
        "tags": ["a", "b"],
        "spent": number / 10,
    }
    return {**base, **fields}


FIRST = [person(number) for number in range(6)]
# In place, moved, deleted, a tag lost and one gained, unchanged, new.
SECOND = [
    person(0, phone="2"),
    person(1, town="moved"),
    person(2, gone=True),
    person(3, tags=["b", "c"]),
    person(4),
    person(6),
]
LAST = [*SECOND, person(5)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCosmos]:
    """One Cosmos DB for all rounds."""
    started = LocalCosmos(tmp_path_factory.mktemp("cosmos"), ("--partitions", "1")).start()
    yield started
    started.stop()


@pytest.fixture
def setup(server: LocalCosmos, azurite: str, tmp_path: Path) -> Iterator[Setup]:
    """A database and tables of this round's own."""
    name = f"k{uuid.uuid4().hex[:10]}"
    database = CosmosClient(server.endpoint, server.key).create_database(name)
    database.create_container("leases", PartitionKey("/id"))
    container = database.create_container("people", PartitionKey("/team"))
    (tmp_path / "indexes.yaml").write_text(DEFINITIONS.format(name=name))
    table_port = int(re.findall(r"TableEndpoint=http://127.0.0.1:(\d+)/", azurite)[0])
    with KillingProxy(table_port) as proxy:
        settings = {
            "AzureWebJobsStorage": azurite,
            "INDEX_STORAGE": azurite.replace(f":{table_port}/", f":{proxy.port}/"),
            "INDEX_DEFINITIONS": str(tmp_path / "indexes.yaml"),
            "COSMOS": f"AccountEndpoint={server.endpoint};AccountKey={server.key};",
            "FEED_POLL_DELAY_MS": "50",
            "LOCAL_LEASE_EXPIRY_SECONDS": "1",
        }
        yield Setup(name, tmp_path, container, proxy, azurite, settings)


def kill_at(setup: Setup, call: int, *, forwards_last: bool) -> None:
    """Index the first facts; kill the host at a call while it applies the second ones; restart and compare."""
    setup.write(FIRST)
    with setup.host("first.log"):
        wait_until(lambda: _is_ready(setup, FIRST), "the first facts are indexed")
    setup.write(SECOND)
    with setup.host("second.log") as program:
        setup.proxy.arm(program.process, call, forwards_last=forwards_last)
        wait_until(
            lambda: program.process.poll() is not None or _is_ready(setup, LAST), "a kill, or the end of the batch"
        )
    setup.proxy.arm(None, 0, forwards_last=False)
    with setup.host("third.log"):
        wait_until(lambda: setup.is_exact(LAST), "every index is exactly right")


def _is_ready(setup: Setup, facts: list[dict[str, Any]]) -> bool:
    with contextlib.suppress(ValueError):  # the tables are not there yet
        return setup.is_exact(facts)
    return False


@pytest.mark.parametrize("call", QUICK)
def test_a_kill_at_a_storage_call_is_healed_by_the_restart(setup: Setup, call: int) -> None:
    """The request was never sent; some of the calls of a batch."""
    kill_at(setup, call, forwards_last=False)


@pytest.mark.long
@pytest.mark.parametrize("forwards_last", [False, True])
@pytest.mark.parametrize("call", range(1, CALLS))
def test_a_kill_at_any_storage_call_is_healed_by_the_restart(setup: Setup, call: int, *, forwards_last: bool) -> None:
    """Over the whole batch; the request was never sent, or it landed and its answer was lost."""
    kill_at(setup, call, forwards_last=forwards_last)
