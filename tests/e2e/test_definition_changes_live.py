"""A definition changes twice under 5 000 facts that change live, while the host is killed: no lookup is ever wrong."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
import requests
from azure.cosmos import CosmosClient as SyncCosmosClient
from azure.cosmos.aio import CosmosClient

from shared.sources.upload import upload
from tests.e2e import runs
from tests.support import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FACTS = 5000
TOWNS = 25
DEFINITIONS = """
version: 1
sources: {people: {cosmos: {database: test, container: people}, partitionKey: team}}
indexes:
  by-town: {source: people, partition: town, sort: SORT, project: [FIELD]}
"""
# Each projects another field, so that an answer tells which generation gave it.
VERSIONS = [("name", "phone"), ("name", "email"), ("email", "fax")]
FIELDS = [name for _, name in VERSIONS]
# A host that was killed leaves a claim behind; another host takes over a minute later, at the next turn of a timer.
TAKEOVER_SECONDS = 480.0


def fact(number: int, revision: int) -> dict[str, Any]:
    """A fact in one of its versions: every revision moves it to the next town."""
    values = {name: f"{name} {revision}" for name in FIELDS}
    town = f"town {(number + revision) % TOWNS}"
    return {"id": str(number), "team": f"t{number % 50}", "town": town, "name": f"n{number:05}", **values}


@dataclass(slots=True)
class Facts:
    """What the facts are, and were: the newest revision that was written, or is being written, of each."""

    revisions: list[int] = field(default_factory=lambda: [0] * FACTS)

    def is_true(self, entry: dict[str, Any], town: str) -> bool:
        """Whether an entry shows a revision of its fact that there was, where it was then."""
        number = int(entry["id"])
        ((name, text),) = entry["data"].items()
        revision = int(str(text).rpartition(" ")[2])
        return (
            revision <= self.revisions[number]
            and entry["data"] == {name: fact(number, revision)[name]}
            and (fact(number, revision)["town"] == town == entry["key"]["town"])
        )


class Load(threading.Thread):
    """Something that happens so many times a second until it is stopped; what it raised is raised by `stop`."""

    def __init__(self, turn: Callable[[random.Random], None], per_second: float) -> None:
        super().__init__(daemon=True)
        self._pace_seconds = 1 / per_second
        self._turn = turn
        self._stopped = threading.Event()
        self._error: BaseException | None = None
        self.turns = 0

    def run(self) -> None:
        generator = random.Random(7)
        try:
            while not self._stopped.wait(self._pace_seconds):
                self._turn(generator)
                self.turns += 1
        except BaseException as error:
            self._error = error

    def stop(self) -> None:
        """End it."""
        self._stopped.set()
        self.join()
        if self._error is not None:
            raise self._error


class World:
    """A local run, its facts, and lookups of them."""

    def __init__(self, data: Path, file: Path, found: dict[str, Any]) -> None:
        self._data, self._file = data, file
        self.found = found
        self.facts = Facts()
        self.fields_seen: set[str] = set()
        client = SyncCosmosClient(found["cosmos"]["endpoint"], found["cosmos"]["key"])
        self._container = client.get_database_client("test").get_container_client("people")

    async def fill(self) -> None:
        """All facts in their first version."""
        async with CosmosClient(self.found["cosmos"]["endpoint"], self.found["cosmos"]["key"]) as client:
            container = client.get_database_client("test").get_container_client("people")
            await upload(container, (fact(number, 0) for number in range(FACTS)))

    def change(self, generator: random.Random) -> None:
        """One fact moves on."""
        number = generator.randrange(FACTS)
        self.facts.revisions[number] += 1
        self._container.upsert_item(fact(number, self.facts.revisions[number]))

    def look(self, generator: random.Random) -> None:
        """One page of a town: of one generation, every entry true. While the host restarts there is no answer."""
        town = f"town {generator.randrange(TOWNS)}"
        entries = self.page(town)
        if entries is None:
            return
        fields = {name for entry in entries for name in entry["data"]}
        assert len(fields) <= 1, fields
        self.fields_seen |= fields
        wrong = [entry for entry in entries if not self.facts.is_true(entry, town)]
        assert not wrong, wrong[:3]

    def page(self, town: str) -> list[dict[str, Any]] | None:
        """The entries of a town; None when the app does not answer now."""
        address = f"{self.found['http']}/api/indexes/by-town/entries"
        try:
            answer = requests.get(address, params={"town": town, "maxpagesize": "1000"}, timeout=30)
        except requests.ConnectionError:
            return None
        if answer.status_code == 503:
            return None
        assert answer.status_code == 200, answer.text
        entries: list[dict[str, Any]] = answer.json()["value"]
        return entries

    def everything(self) -> dict[int, dict[str, Any]] | None:
        """All entries, by the fact's number; None when the app does not answer, or a fact is there twice."""
        found: dict[int, dict[str, Any]] = {}
        for number in range(TOWNS):
            entries = self.page(f"town {number}")
            if entries is None or any(int(entry["id"]) in found for entry in entries):
                return None
            found |= {int(entry["id"]): entry["data"] for entry in entries}
        return found

    def expected(self, name: str) -> dict[int, dict[str, Any]]:
        """What all entries ought to be."""
        return {n: {name: fact(n, revision)[name]} for n, revision in enumerate(self.facts.revisions)}

    def kill(self) -> None:
        """The host dies; the supervisor starts another one."""
        before = runs.endpoints(self._data)["pids"]["host"]
        os.kill(before, signal.SIGKILL)
        wait_until(lambda: runs.endpoints(self._data).get("pids", {}).get("host", before) != before, "a new host", 60)

    def call(self, method: str, path: str, **arguments: Any) -> dict[str, Any]:
        """An operation; empty when the app does not answer."""
        try:
            answer = requests.request(
                method, f"{self.found['http']}/api/indexes/by-town/{path}", timeout=60, **arguments
            )
        except requests.ConnectionError:
            return {}
        content: dict[str, Any] = answer.json() if answer.content else {}
        return content

    def deploy(self, version: int) -> str:
        """Another definition, by killing the host: the next one reads the file. The id of its generation."""
        sort, name = VERSIONS[version]
        self._file.write_text(DEFINITIONS.replace("SORT", sort).replace("FIELD", name))
        before = (self.call("GET", "builds").get("defined") or {}).get("id")
        self.kill()
        wait_until(
            lambda: (self.call("GET", "builds").get("defined") or {}).get("id") not in (None, before),
            "the new definition is registered",
            60,
        )
        return str(self.call("GET", "builds")["defined"]["id"])

    def build(self) -> None:
        """Build it, and kill the host in the middle."""
        assert "build" in self.call("POST", "builds", json={"budget": 500})
        wait_until(lambda: self.counts().get("facts", 0) > 0, "the build has begun", TAKEOVER_SECONDS)
        self.kill()
        wait_until(lambda: self.state() == "standby", "the build is done", TAKEOVER_SECONDS)

    def verified(self) -> int:
        """Verify what was built, beside the load; how many differences there are."""
        identity = self.call("POST", "verifications")["id"]
        wait_until(
            lambda: self.call("GET", f"verifications/{identity}").get("state", "running") != "running",
            "the verification is done",
            TAKEOVER_SECONDS,
        )
        found = self.call("GET", f"verifications/{identity}")
        assert found["state"] == "done", found
        return int(found["total"])

    def counts(self) -> dict[str, int]:
        """What the build has done."""
        counts: dict[str, int] = (self.call("GET", "builds").get("build") or {}).get("counts", {})
        return counts

    def state(self) -> str | None:
        """How far the generation of the definition is."""
        state: str | None = (self.call("GET", "builds").get("defined") or {}).get("state")
        return state


@pytest.mark.long
def test_a_definition_changes_twice_under_load_and_kills(tmp_path: Path) -> None:
    """Every lookup shows facts as they were, from one generation; in the end everything is there and right."""
    file, data = tmp_path / "indexes.yaml", tmp_path / "data"
    file.write_text(DEFINITIONS.replace("SORT", "name").replace("FIELD", "phone"))
    with runs.ready(data, "--definitions", str(file)) as (_, found):
        world = World(data, file, found)
        asyncio.run(world.fill())
        wait_until(lambda: len(world.everything() or ()) == FACTS, "all facts are indexed", 240)
        writer, reader = Load(world.change, 10), Load(world.look, 5)
        writer.start()
        reader.start()
        for version in (1, 2):
            generation = world.deploy(version)
            world.build()
            # What the killed host has claimed and not written is a difference until its batch comes again.
            wait_until(lambda: world.verified() == 0, "the new generation is right", TAKEOVER_SECONDS)
            assert world.call("POST", "switch")["serving"] == generation
            world.kill()
            wait_until(lambda name=FIELDS[version]: name in world.fields_seen, "the new generation serves", 60)  # type: ignore[misc]
        writer.stop()
        name = FIELDS[-1]
        wait_until(lambda: world.everything() == world.expected(name), "every entry is right", 240)
        reader.stop()
        assert world.verified() == 0
        assert world.fields_seen == set(FIELDS)
        assert writer.turns > 100
        assert reader.turns > 100
