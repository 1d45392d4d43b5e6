"""An index moves to other storage accounts and its entries expire, while facts change and the host is killed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
import requests
from azure.cosmos import CosmosClient
from azure.data.tables import TableServiceClient

from shared.app.connection_settings import StorageConnection
from shared.app.connections import Connections
from shared.app.parts import Parts
from shared.app.queues_and_blobs import BlobContainer, DelayedQueue
from shared.app.settings import SWEEP_QUEUE, Settings
from shared.app.world import new_id, real_world
from shared.definitions.files import read_definitions
from shared.pipeline.apply.services import Services, Times
from shared.pipeline.concurrency import AtOnce, Staggered
from shared.tables.accounts import Accounts
from tests.e2e import runs
from tests.support import is_running, running, wait_until

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from tests.support import Program

TOWNS = ("Lund", "Oslo", "Rome")
SWEEP_SECONDS = 2
KILLS = 2
MOVE_SECONDS = 150.0
DEFINITIONS = """\
version: 1
sources: {people: {cosmos: {database: test, container: people}, partitionKey: team}}
indexes:
  by-town: {source: people, partition: town, sort: name, project: [n], expire: {path: until, after: 1s}PLACED}
  by-team: {source: people, partition: team, project: keys, placement: {by: hash, accounts: [NORTH, SOUTH]}}
"""
PLACED = ", shards: 2, placement: {by: list, map: {Lund: NORTH}, default: SOUTH}"


class Writing(threading.Thread):
    """Writes facts until it is told to stop: some live for two seconds, some for years, and all move about."""

    def __init__(self, found: dict[str, Any]) -> None:
        super().__init__(daemon=True)
        client = CosmosClient(found["cosmos"]["endpoint"], found["cosmos"]["key"])
        self._container = client.get_database_client("test").get_container_client("people")
        self._is_over = threading.Event()
        self._random = Random(5)
        self.facts: dict[str, dict[str, Any]] = {}

    def run(self) -> None:
        """One version after the other."""
        number = 0
        while not self._is_over.wait(0.01):
            number += 1
            fact = self._random.randrange(150)
            soon = datetime.now(UTC) + timedelta(seconds=1)
            until = soon.isoformat() if self._random.random() < 0.4 else "2040-01-01T00:00:00Z"
            document = {"id": f"{fact:03d}", "team": f"t{fact % 5}", "name": f"n{fact}", "n": number, "until": until}
            document["town"] = self._random.choice(TOWNS)
            self._container.upsert_item(document)
            self.facts[str(document["id"])] = document

    def end(self) -> dict[str, dict[str, Any]]:
        """Stop; the newest version of every fact."""
        self._is_over.set()
        self.join()
        return self.facts

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()


def entries(found: dict[str, Any], town: str) -> dict[str, int]:
    """What a lookup shows, by id."""
    try:
        url = f"{found['http']}/api/indexes/by-town/entries?town={town}&maxpagesize=1000"
        answer = requests.get(url, timeout=20)
        return {entry["id"]: entry["data"]["n"] for entry in answer.json().get("value", ())}
    except requests.ConnectionError:
        return {}


def rows(found: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The rows of what serves, by account."""
    explained = requests.get(f"{found['http']}/api/indexes/by-town/explain?town=Lund", timeout=20).json()
    by_account = {}
    for name, text in connection_strings(found).items():
        with TableServiceClient.from_connection_string(text) as service:
            there = [table.name for table in service.list_tables() if table.name == explained["table"]]
            by_account[name] = [dict(row) for table in there for row in service.get_table_client(table).list_entities()]
    return by_account


def connection_strings(found: dict[str, Any]) -> dict[str, str]:
    """Connection strings of all accounts by name."""
    return {"INDEX_STORAGE": found["storage"]["connectionString"], **found["storage"]["placed"]}


async def walk(found: dict[str, Any], file: Path) -> None:
    """What the timer does, in another process than the host: find expired entries, for the host's sweep to remove."""
    texts = connection_strings(found)
    main = StorageConnection("main", connection_string=texts["INDEX_STORAGE"])
    connections = Connections(Settings(), real_world())
    clients = {
        name: connections.table_client(StorageConnection(name, connection_string=text)) for name, text in texts.items()
    }
    queue, blobs = connections.queue_client(main, SWEEP_QUEUE), connections.container_client(main, "dead-letters")
    services = Services(
        accounts=Accounts(clients),
        blobs=BlobContainer(blobs, new_id),
        sweep_queue=DelayedQueue(queue, SWEEP_SECONDS),
        run_all=AtOnce(),
        run_buckets=Staggered(),
        now_seconds=time.time,
        take_transactions=lambda: 0,
        report=lambda source, outcome: None,
        times=Times(sweep_delay_seconds=SWEEP_SECONDS),
    )
    try:
        parts = await Parts(read_definitions(file).require(), services).ready()
        await parts.maintenance.find_expired()
    finally:
        await queue.close()
        await blobs.close()
        for client in clients.values():
            await client.close()


def answers(found: dict[str, Any]) -> bool:
    """Whether the host is up."""
    try:
        return requests.get(f"{found['http']}/api/health/ready", timeout=20).ok
    except requests.ConnectionError:
        return False


def kill_host(found: dict[str, Any], data: Path) -> None:
    """Kill the host once it is up; the supervisor starts it again."""
    wait_until(lambda: answers(found) and is_running(runs.endpoints(data)["pids"]["host"]), "the host is up", 60)
    os.kill(runs.endpoints(data)["pids"]["host"], signal.SIGKILL)


def has_begun(program: Program) -> bool:
    """Whether `apply` has started a build, or has ended."""
    return "building" in program.output or program.process.poll() is not None


def is_shown(found: dict[str, Any], town: str, wanted: dict[str, int]) -> bool:
    """Whether a lookup shows exactly this."""
    return entries(found, town) == wanted


@pytest.mark.long
def test_an_index_moves_and_expires_under_live_writes_and_kills(tmp_path: Path) -> None:
    """In the end every lookup equals the newest facts, each account has its towns, and nothing expired is left."""
    file, data = tmp_path / "indexes.yaml", tmp_path / "data"
    file.write_text(DEFINITIONS.replace("PLACED", ""))
    settings = {"SWEEP_DELAY_SECONDS": str(SWEEP_SECONDS)}
    with runs.ready(data, "--definitions", str(file), environment=settings) as (_, found), Writing(found) as writing:
        wait_until(lambda: any(entries(found, town) for town in TOWNS), "something is indexed")
        file.write_text(DEFINITIONS.replace("PLACED", PLACED))
        kill_host(found, data)
        command = [sys.executable, "-m", "cli", "apply", "by-town", "--data", str(data)]
        output = tmp_path / "apply.log"
        # Once before the build begins, once in the midst of it.
        for _ in range(KILLS):
            wait_until(lambda: answers(found), "the host is back", 60)
            with running(command, output) as program:
                wait_until(partial(has_begun, program), "a build")
                asyncio.run(walk(found, file))
                kill_host(found, data)
                program.wait(MOVE_SECONDS)

        def is_switched() -> bool:
            """What a killed host has claimed and not written is a difference, until its lease runs out and its batch
            comes again."""
            wait_until(lambda: answers(found), "the host is back", 60)
            with running(command, output) as program:
                return program.wait(MOVE_SECONDS) == 0

        wait_until(is_switched, "the index is switched", MOVE_SECONDS)
        facts = writing.end()
        lasting = {fact: document for fact, document in facts.items() if document["until"].startswith("2040")}
        for town in TOWNS:
            wanted = {fact: document["n"] for fact, document in lasting.items() if document["town"] == town}
            wait_until(partial(is_shown, found, town, wanted), f"{town} is right", 60)

        def is_clean() -> bool:
            asyncio.run(walk(found, file))
            times = [row["_expires"].value for there in rows(found).values() for row in there if "_expires" in row]
            return not any(expires < time.time() for expires in times)

        wait_until(is_clean, "nothing expired is left", 60)
        placed = {name: {str(row["PartitionKey"])[4:] for row in there} for name, there in rows(found).items()}
        assert placed == {"INDEX_STORAGE": set(), "NORTH": {"Lund !"}, "SOUTH": {"Oslo !", "Rome !"}}
