"""Two apps, each with an index storage of its own, keep indexes of one container: each sees every change."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from azure.cosmos import CosmosClient

from tests.e2e import runs
from tests.e2e.hosts import Host
from tests.e2e.outside_reader import entries
from tests.support import wait_until

if TYPE_CHECKING:
    from pathlib import Path

DEFINITIONS = """\
version: 1
sources: {people: {cosmos: {database: test, container: people}, partitionKey: team}}
indexes:
  by-town: {source: people, partition: town, project: keys}
"""
# Of the first app alone: it makes the local run bring a second storage account.
PLACED = "  by-team: {source: people, partition: team, project: keys, placement: {by: hash, accounts: [NORTH]}}\n"
FACTS = 40


def ids(storage: str) -> set[str]:
    """The facts in an app's index; none while its table is not there."""
    try:
        return {entry["id"] for entry in entries(storage, "by-town")}
    except ValueError:
        return set()


def has_all(storage: str) -> bool:
    """Whether every fact is there."""
    return len(ids(storage)) == FACTS


def test_two_apps_do_not_share_the_changes_of_a_container(tmp_path: Path) -> None:
    """A staging app beside production: the leases of each belong to its own ledger."""
    (tmp_path / "first.yaml").write_text(DEFINITIONS + PLACED)
    (tmp_path / "second.yaml").write_text(DEFINITIONS)
    with runs.ready(tmp_path / "data", "--definitions", str(tmp_path / "first.yaml")) as (_, found):
        cosmos, storage, other = (
            found["cosmos"],
            found["storage"]["connectionString"],
            found["storage"]["placed"]["NORTH"],
        )
        settings = {
            "AzureWebJobsStorage": other,
            "INDEX_STORAGE": other,
            "INDEX_DEFINITIONS": str(tmp_path / "second.yaml"),
            "COSMOS": f"AccountEndpoint={cosmos['endpoint']};AccountKey={cosmos['key']};",
            "FEED_POLL_DELAY_MS": "200",
        }
        second = Host("second", tmp_path, settings)
        second.start()
        try:
            people = (
                CosmosClient(cosmos["endpoint"], cosmos["key"])
                .get_database_client("test")
                .get_container_client("people")
            )
            for number in range(FACTS):
                people.upsert_item({"id": str(number), "team": f"t{number}", "town": "Lund"})
            for account in (storage, other):
                wait_until(partial(has_all, account), "every fact is in each app's index")
        finally:
            second.stop()
