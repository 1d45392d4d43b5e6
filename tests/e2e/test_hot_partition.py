"""A skewed data set from end to end: advice finds the hot partition, and the shards it suggests are applied online."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
import requests
from azure.cosmos import CosmosClient
from azure.data.tables import TableServiceClient

from cli.main import main
from tests.e2e import runs
from tests.support import running, wait_until

if TYPE_CHECKING:
    from pathlib import Path

FACTS = 1500
MOVE_SECONDS = 150.0
DEFINITIONS = """\
version: 1
sources: {people: {cosmos: {database: test, container: people}, partitionKey: team}}
indexes:
  by-town: {source: people, partition: town, sort: name, project: [phone]}
"""


def person(number: int) -> dict[str, Any]:
    """Nine of ten live in Redmond."""
    town = f"Town {number // 10 % 40}" if number % 10 == 0 else "Redmond"
    return {"id": f"{number:05d}", "team": f"t{number % 7}", "town": town, "name": f"n{number:05d}", "phone": "555"}


def load_by_partition(found: dict[str, Any], table: str) -> Counter[str]:
    """How many entries each partition of a table holds, read with the service's own SDK."""
    with TableServiceClient.from_connection_string(found["storage"]["connectionString"]) as service:
        rows = service.get_table_client(table).list_entities(select=["PartitionKey", "_gone"])
        return Counter(row["PartitionKey"] for row in rows if "_gone" not in row)


def get(found: dict[str, Any], path: str) -> dict[str, Any]:
    """The JSON of a call; empty while the host is being restarted."""
    try:
        answer = requests.get(f"{found['http']}/api/{path}", timeout=20)
        return dict(answer.json()) if answer.ok else {}
    except requests.ConnectionError:
        return {}


def ids(found: dict[str, Any], town: str) -> set[str]:
    """Every entry of a town, page by page."""
    seen: set[str] = set()
    page = get(found, f"indexes/by-town/entries?town={town}&maxpagesize=1000")
    while page:
        seen |= {entry["id"] for entry in page["value"]}
        page = requests.get(page["nextLink"], timeout=20).json() if "nextLink" in page else {}
    return seen


class Writing(threading.Thread):
    """Writes facts until it is told to stop: the index moves under live writes."""

    def __init__(self, found: dict[str, Any]) -> None:
        super().__init__(daemon=True)
        client = CosmosClient(found["cosmos"]["endpoint"], found["cosmos"]["key"])
        self._container = client.get_database_client("test").get_container_client("people")
        self._is_over = threading.Event()
        self.written = 0

    def run(self) -> None:
        """One fact after the other: new ones, and old ones that move to Redmond."""
        while not self._is_over.wait(0.05):
            number = FACTS + self.written
            self._container.upsert_item(person(number))
            self._container.upsert_item({**person(self.written % FACTS), "town": "Redmond"})
            self.written += 1

    def end(self) -> int:
        """Stop; how many new facts there are."""
        self._is_over.set()
        self.join()
        return self.written


@pytest.mark.long
def test_a_hot_partition_is_found_and_spread_while_facts_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """90 % in one value: advise says so, rebalance applies what it says, and no lookup misses a fact afterwards."""
    file, data = tmp_path / "indexes.yaml", tmp_path / "data"
    file.write_text(DEFINITIONS)
    (tmp_path / "people.jsonl").write_text("\n".join(json.dumps(person(number)) for number in range(FACTS)))
    with runs.ready(data, "--definitions", str(file)) as (_, found):
        facts = [str(tmp_path / "people.jsonl"), "--source", "people", "--definitions", str(file), "--data", str(data)]
        assert main(["load", *facts]) == 0
        wait_until(lambda: len(ids(found, "Redmond")) == FACTS * 9 // 10, "all facts are indexed", 60)
        capsys.readouterr()

        assert main(["advise", "by-town", "--data", str(data), "--format", "json"]) == 0
        (advice,) = json.loads(capsys.readouterr().out)
        assert (advice["code"], advice["change"]) == ("hot-partition", {"hot": {"Redmond": 16}})
        before = load_by_partition(found, get(found, "indexes/by-town/explain?town=x")["table"])
        assert before["Redmond !"] == FACTS * 9 // 10

        writing = Writing(found)
        writing.start()
        command = [sys.executable, "-m", "cli", "rebalance", "by-town", "--advised", "--apply"]
        arguments = ["--definitions", str(file), "--data", str(data)]
        with running([*command, *arguments], tmp_path / "rebalance.log") as program:
            wait_until(lambda: "hot: {Redmond: 16}" in file.read_text(), "the file is written")
            # A deployment: the supervisor starts the host again, with the changed file.
            os.kill(runs.endpoints(data)["pids"]["host"], signal.SIGTERM)
            assert program.wait(MOVE_SECONDS) == 0, program.output
        wait_until(
            lambda: get(found, "indexes/by-town/explain?town=Redmond").get("shards") == 16, "the new one serves", 60
        )
        new = writing.end()

        everybody = {person(number)["id"]: person(number)["town"] for number in range(FACTS + new)}
        everybody |= {person(number)["id"]: "Redmond" for number in range(min(new, FACTS))}
        expected = {fact for fact, town in everybody.items() if town == "Redmond"}
        wait_until(lambda: ids(found, "Redmond") == expected, "no fact is missing", 60)
        after = load_by_partition(found, get(found, "indexes/by-town/explain?town=x")["table"])
        hot = [count for key, count in after.items() if key.endswith("Redmond !")]
        assert len(hot) == 16
        assert max(hot) < sum(after.values()) * 0.1
        assert main(["advise", "by-town", "--data", str(data), "--format", "json"]) == 0
        assert json.loads(capsys.readouterr().out) == []
