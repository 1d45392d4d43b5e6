"""Verify, repair and reconcile from the command line on a local run, after an outsider has damaged its tables."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import requests
from azure.cosmos import CosmosClient
from azure.data.tables import TableServiceClient, UpdateMode

from tests.e2e import runs
from tests.e2e.outside_reader import entries
from tests.support import ROOT, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from azure.cosmos import ContainerProxy
    from azure.data.tables import TableClient

# Young changes count at once, and what a repair writes is swept while the test waits.
ENVIRONMENT = {"VERIFY_GRACE_SECONDS": "0", "SWEEP_DELAY_SECONDS": "1"}
INDEX = "customers-by-town"
# Of the sample customers two are deleted, and one lives nowhere.
FACTS, ENTRIES = 60, 57


class Shop:
    """A local run with its samples, seen from outside."""

    def __init__(self, data_folder: Path, found: dict[str, Any]) -> None:
        self._data_folder = data_folder
        self.base = found["http"]
        self.keys = found["keys"]
        self.connection_string = found["storage"]["connectionString"]
        cosmos = CosmosClient(found["cosmos"]["endpoint"], found["cosmos"]["key"])
        self.customers: ContainerProxy = cosmos.get_database_client("shop").get_container_client("customers")
        self._service = TableServiceClient.from_connection_string(self.connection_string)

    def table(self, prefix: str) -> TableClient:
        """A table by the beginning of its name."""
        (name,) = [table.name for table in self._service.list_tables() if table.name.startswith(prefix)]
        return self._service.get_table_client(name)

    def call(self, method: str, address: str, body: str | None = None, key: str = "admin") -> requests.Response:
        """A call with a key."""
        return requests.request(method, address, data=body, headers={"x-functions-key": self.keys[key]}, timeout=30)

    def run(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        """A command's exit code and its report."""
        command = [sys.executable, "-m", "cli", *arguments, INDEX, "--data", str(self._data_folder), "--format", "json"]
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
        assert ended.returncode in (0, 1), ended.stderr
        assert ended.stdout, ended.stderr
        (report,) = json.loads(ended.stdout)
        return ended.returncode, report

    def differences(self, *arguments: str) -> tuple[int, dict[str, int]]:
        """The exit code, and what differs."""
        code, report = self.run(*arguments)
        kinds = ("missing", "stale", "ghost", "unapplied", "orphan")
        return code, {kind: report[kind] for kind in kinds if report[kind]}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """A run whose samples are all indexed."""
    data_folder = tmp_path_factory.mktemp("run") / "data"
    with runs.ready(data_folder, "--auth", environment=ENVIRONMENT) as (_, found):
        shop = Shop(data_folder, found)
        wait_until(lambda: len(entries(shop.connection_string, INDEX)) == ENTRIES, "all samples")
        yield shop


def test_what_an_outsider_damages_is_found_and_repaired_and_nothing_else(shop: Shop) -> None:
    """One row of each kind; afterwards the table is as it was, to the last column."""
    before = entries(shop.connection_string, INDEX)
    assert shop.differences("verify") == (0, {})
    table = shop.table("customersbytown")
    first, second, third, fourth = list(table.list_entities())[:4]
    table.delete_entity(first)
    table.update_entity({**second, "phone": "damaged"}, UpdateMode.REPLACE)
    table.create_entity({**third, "PartitionKey": "Nowhere !"})
    shop.table("Ledger").delete_entity(*_ledger_key(shop, fourth))
    code, report = shop.run("verify")
    assert (code, report["facts"], report["entries"]) == (1, FACTS, ENTRIES)
    ids = {example["kind"]: example["id"] for example in report["examples"]}
    owners = [json.loads(row["_fact"])["id"] for row in (first, second, third, fourth)]
    assert ids == {
        "missing": owners[0],
        "stale": owners[1],
        "ghost": ids["ghost"],
        "unapplied": owners[3],
    }
    assert (report["missing"], report["stale"], report["ghost"], report["unapplied"]) == (1, 1, 2, 1)
    code, report = shop.run("repair")
    assert (code, report["unrepaired"]) == (0, 0)
    assert shop.differences("verify") == (0, {})
    assert entries(shop.connection_string, INDEX) == before
    assert shop.differences("verify", "--sample", "20") == (0, {})


def _ledger_key(shop: Shop, row: dict[str, Any]) -> tuple[str, str]:
    """The key of the ledger row of an entry's fact."""
    fact = json.loads(row["_fact"])
    key = f"{fact['partitionKey'][0]} !{fact['id']} !"
    (found,) = [entity for entity in shop.table("Ledger").list_entities() if entity["RowKey"] == key]
    return found["PartitionKey"], found["RowKey"]


def test_facts_that_were_deleted_are_reconciled(shop: Shop) -> None:
    """A hard delete, which the change feed does not show; the fact can come back."""
    fact = shop.customers.read_item("1", "c-001")
    shop.customers.delete_item(fact, fact["customerId"])
    assert shop.differences("verify") == (1, {"orphan": 1})
    assert shop.differences("repair") == (1, {"orphan": 1})
    assert shop.differences("reconcile") == (0, {"orphan": 1})
    assert shop.differences("verify") == (0, {})
    assert len(entries(shop.connection_string, INDEX)) == ENTRIES - 1
    own = {name: value for name, value in fact.items() if name[0] != "_"}
    shop.customers.create_item(own)
    wait_until(lambda: len(entries(shop.connection_string, INDEX)) == ENTRIES, "the fact is back")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ('{"sample": 0}', 400, "BadSample"),
        ('{"sample": "many"}', 400, "BadRequest"),
        ('{"everything": true}', 400, "BadRequest"),
        ("nonsense", 400, "BadRequest"),
        ('{"budget": 0}', 400, "BadBudget"),
        ('{"generation": "none"}', 409, "NothingToVerify"),
    ],
)
def test_what_cannot_be_verified_is_refused(shop: Shop, body: str, status: int, code: str) -> None:
    """With a documented code; nothing is started."""
    address = f"{shop.base}/api/indexes/{INDEX}/verifications"
    before = shop.call("GET", address).json()
    answer = shop.call("POST", address, body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert shop.call("GET", address).json() == before


def test_a_verification_has_an_address(shop: Shop) -> None:
    """202 says where; there its report is, and one that is none is not found."""
    answer = shop.call("POST", f"{shop.base}/api/indexes/movies-by-actor/verifications", "{}")
    assert answer.status_code == 202
    location = answer.headers["Location"]
    wait_until(lambda: shop.call("GET", location).json()["state"] == "done", "the verification is done")
    assert shop.call("GET", location).json()["total"] == 0
    other = shop.call("GET", f"{location}0")
    assert (other.status_code, other.json()["code"]) == (404, "NoSuchVerification")
    unknown = shop.call("POST", f"{shop.base}/api/indexes/nothing/verifications", "{}")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "IndexNotFound")
    assert shop.call("POST", f"{shop.base}/api/indexes/{INDEX}/verifications", "{}", key="function").status_code == 401
