"""All that could hold up the feed, at once: a change is found in less than twice the time that it takes alone."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import statistics
import threading
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import aiohttp
import pytest
import requests
from azure.cosmos import CosmosClient
from azure.cosmos.aio import CosmosClient as AsyncCosmosClient

from shared.sources.upload import upload
from tests.e2e import runs
from tests.support import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

DEFINITIONS = """
version: 1
sources: {people: {cosmos: {database: test, container: people}, partitionKey: team}}
indexes:
  by-town: {source: people, partition: town, sort: name, project: [phone]}
"""
ANOTHER = "  by-name: {source: people, partition: name, project: [phone]}\n"
FACTS = 1000
PROBES = 9
WAITING = 1000
POISON_PER_SECOND = 20
SLOW_READERS = 10
NEVER = json.dumps({"id": "never", "partitionKey": "t", "_etag": '"0"', "_ts": 4_000_000_000})


def person(identity: str, town: str, name: object) -> dict[str, Any]:
    """A fact."""
    return {"id": identity, "team": "t", "town": town, "name": name, "phone": "1" * 500}


class Crowded:
    """A local run, and those who crowd it until they are told to stop."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.url = found["http"]
        self._cosmos = found["cosmos"]
        client = CosmosClient(self._cosmos["endpoint"], self._cosmos["key"])
        self._people = client.get_database_client("test").get_container_client("people")
        self._probes = 0
        self._over = threading.Event()
        self.counts = dict.fromkeys(("poison", "waited", "read"), 0)

    async def fill(self) -> None:
        """One large page of facts."""
        async with AsyncCosmosClient(self._cosmos["endpoint"], self._cosmos["key"]) as client:
            container = client.get_database_client("test").get_container_client("people")
            await upload(container, (person(str(number), "big", f"n{number}") for number in range(FACTS)))

    def write(self, identity: str, town: str, name: object) -> None:
        """A fact; a name that is an object fits no index."""
        self._people.upsert_item(person(identity, town, name))

    def call(self, method: str, path: str, **arguments: Any) -> requests.Response:
        """A call of the app."""
        return requests.request(method, f"{self.url}/api/indexes/{path}", timeout=60, **arguments)

    def is_defined(self, index: str) -> bool:
        """Whether the app knows an index."""
        with contextlib.suppress(requests.ConnectionError):
            return self.call("GET", f"{index}/builds").json().get("defined") is not None
        return False

    def lag(self) -> float:
        """How long it takes until a change is found, in the middle of several."""
        return statistics.median([self._probe() for _ in range(PROBES)])

    def _probe(self) -> float:
        self._probes += 1
        town = f"probe{self._probes}"
        self.write(town, town, "n")
        began = time.monotonic()
        wait_until(lambda: bool(self.call("GET", f"by-town/entries?town={town}").json().get("value")), "it is found")
        return time.monotonic() - began

    @contextlib.contextmanager
    def crowd(self) -> Iterator[None]:
        """Poison, waiting readers and slow ones, for as long as the block."""
        doing: list[Callable[[], None]] = [self._flood, self._wait_for_ever, *[self._read_slowly] * SLOW_READERS]
        threads = [threading.Thread(target=target, daemon=True) for target in doing]
        for thread in threads:
            thread.start()
        try:
            wait_until(lambda: all(self.counts.values()), "the crowd is there")
            yield
        finally:
            self._over.set()
            for thread in threads:
                thread.join()

    def _flood(self) -> None:
        while not self._over.wait(1 / POISON_PER_SECOND):
            self.counts["poison"] += 1
            self.write(f"poison{self.counts['poison']}", "big", {"not": "a name"})

    def _read_slowly(self) -> None:
        """A page of all there is, a few bytes at a time."""
        address = urlsplit(self.url)
        while not self._over.is_set():
            with socket.create_connection((address.hostname, address.port), timeout=60) as connection:
                path = "/api/indexes/by-town/entries?town=big&maxpagesize=1000"
                connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
                while connection.recv(2000) and not self._over.wait(0.05):
                    self.counts["read"] += 1

    def _wait_for_ever(self) -> None:
        async def wait(session: aiohttp.ClientSession) -> None:
            while not self._over.is_set():
                path = f"/api/indexes/by-town/entries?town=none&sees={quote(NEVER)}"
                async with session.get(self.url + path) as answer:
                    await answer.read()
                self.counts["waited"] += 1
                await asyncio.sleep(5)  # all but a hundred are answered at once

        async def all_of_them() -> None:
            connector = aiohttp.TCPConnector(limit=0)
            async with aiohttp.ClientSession(connector=connector) as session:
                await asyncio.gather(*[wait(session) for _ in range(WAITING)], return_exceptions=True)

        asyncio.run(all_of_them())


@pytest.mark.long
def test_a_crowd_does_not_hold_up_the_feed(tmp_path: Path) -> None:
    """A poison flood, slow readers of pages, a thousand waiting lookups, a verification and a build."""
    file, data = tmp_path / "indexes.yaml", tmp_path / "data"
    file.write_text(DEFINITIONS)
    with runs.ready(data, "--definitions", str(file)) as (_, found):
        run = Crowded(found)
        asyncio.run(run.fill())
        wait_until(lambda: run.call("GET", "by-town/count?town=big").json().get("count") == FACTS, "all are found", 60)
        file.write_text(DEFINITIONS + ANOTHER)
        before = found["pids"]["host"]
        os.kill(before, signal.SIGKILL)
        wait_until(lambda: runs.endpoints(data).get("pids", {}).get("host", before) != before, "a new host", 60)
        wait_until(lambda: run.is_defined("by-name"), "the new index is registered", 60)
        alone = run.lag()
        with run.crowd():
            started = [
                run.call("POST", path, json={"budget": 100}).status_code
                for path in ("by-name/builds", "by-town/verifications")
            ]
            beside = run.lag()
        assert started == [202, 202]
        assert beside < 2 * alone, run.counts
