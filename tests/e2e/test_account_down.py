"""One of two index accounts is dead behind a proxy: nothing else waits, and the account gets everything later."""

from __future__ import annotations

import contextlib
import json
import re
import time
from typing import TYPE_CHECKING, Any

import requests
from azure.cosmos import CosmosClient

from tests.e2e import runs
from tests.e2e.gate import Gate
from tests.e2e.outside_reader import entries
from tests.support import ROOT, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DEFINITIONS = """
version: 1
sources:
  people: {cosmos: {database: down, container: people}, partitionKey: id, deletes: {when: gone}}
  orders: {cosmos: {database: down, container: orders}, partitionKey: id}
indexes:
  by-town:
    source: people
    partition: town
    project: [phone]
    placement: {by: range, map: [{to: M, account: INDEX_2}, {from: M, account: INDEX_STORAGE}]}
  by-name: {source: people, partition: name, project: [phone]}
  by-item: {source: orders, partition: item}
"""
OUTAGE_SECONDS = 20.0
LAG_SECONDS = 3.0
TOWNS = ("Aberdeen", "Zürich")


def person(number: int, phone: str) -> dict[str, Any]:
    """Every second one is in the account that goes down."""
    return {"id": str(number), "town": TOWNS[number % 2], "name": f"n{number}", "phone": phone}


class Run:
    """A local run whose second account is behind a gate."""

    def __init__(self, found: dict[str, Any], gate: Gate, second: str) -> None:
        self.url = found["http"]
        self.gate = gate
        self.second = second
        database = CosmosClient(found["cosmos"]["endpoint"], found["cosmos"]["key"]).get_database_client("down")
        self.people, self.orders = (database.get_container_client(name) for name in ("people", "orders"))

    def get(self, path: str) -> requests.Response:
        """A call of the app."""
        return requests.get(f"{self.url}/api/{path}", timeout=20)

    def seconds_until(self, path: str, phone: str | None = None) -> float:
        """How long it takes until a lookup shows an entry, with this phone if it has one."""
        began = time.monotonic()

        def is_there() -> bool:
            found = self.get(f"indexes/{path}").json().get("value", ())
            return any(phone is None or entry["data"]["phone"] == phone for entry in found)

        wait_until(is_there, f"{path} is shown")
        return time.monotonic() - began

    def differences(self, index: str) -> int:
        """What a verification finds."""
        identity = requests.post(f"{self.url}/api/indexes/{index}/verifications", timeout=20).json()["id"]
        wait_until(
            lambda: self.get(f"indexes/{index}/verifications/{identity}").json()["state"] == "done", "verified", 60
        )
        return int(self.get(f"indexes/{index}/verifications/{identity}").json()["total"])


@contextlib.contextmanager
def started(folder: Path, second: str, *, is_down: bool) -> Iterator[Run]:
    """A run whose second account answers at the start, or does not."""
    (folder / "indexes.yaml").write_text(DEFINITIONS)
    table_port = int(re.findall(r"TableEndpoint=http://127.0.0.1:(\d+)/", second)[0])
    with Gate(table_port) as gate:
        if is_down:
            gate.shut(silent=True)
        setting = {"INDEX_2": second.replace(f":{table_port}/", f":{gate.port}/")}
        arguments = ("--definitions", str(folder / "indexes.yaml"))
        with runs.ready(folder / "data", *arguments, environment=setting) as (_, found):
            yield Run(found, gate, second)


def test_an_account_that_is_down_holds_up_nothing_else(tmp_path: Path, own_azurite: str) -> None:
    """Other indexes of the source, other partitions of the index and other sources go on; then all of it arrives."""
    with started(tmp_path, own_azurite, is_down=False) as run:
        for number in range(4):
            run.people.upsert_item(person(number, "old"))
        run.seconds_until("by-town/entries?town=Aberdeen")
        run.seconds_until("by-town/entries?town=Z%C3%BCrich")
        run.gate.shut(silent=True)
        lags, written = _write_during_the_outage(run)
        assert max(lags[1:]) < LAG_SECONDS, lags
        _check_what_operators_see(run)
        run.gate.open()
        wait_until(lambda: _phones(run.second) == written, "the account has everything")
        wait_until(lambda: run.get("health/ready").json() == {"status": "ready"}, "nothing is owed any more")
        assert run.differences("by-town") == 0


def test_an_account_that_is_down_at_the_start_gets_its_table_later(tmp_path: Path, own_azurite: str) -> None:
    """The app starts without it, and so do other indexes and other partitions."""
    with started(tmp_path, own_azurite, is_down=True) as run:
        for number in range(4):
            run.people.upsert_item(person(number, "new"))
        run.seconds_until("by-name/entries?name=n0")
        run.seconds_until("by-town/entries?town=Z%C3%BCrich")
        assert run.get("indexes/by-town/entries?town=Aberdeen").status_code == 503
        run.gate.open()
        run.seconds_until("by-town/entries?town=Aberdeen")
        wait_until(lambda: _phones(run.second) == {"0": "new", "2": "new"}, "the account has everything")
        wait_until(lambda: run.get("health/ready").json() == {"status": "ready"}, "nothing is owed any more")
        assert run.differences("by-town") == 0


def _write_during_the_outage(run: Run) -> tuple[list[float], dict[str, str]]:
    """Lags of what does not need the account, and what the account should have in the end."""
    lags: list[float] = []
    written = {str(number): "old" for number in (0, 2)}
    end = time.monotonic() + OUTAGE_SECONDS
    round_ = 0
    while time.monotonic() < end:
        round_ += 1
        phone = f"p{round_}"
        for number in (round_ % 2 * 2, 1, 100 + 2 * round_):
            run.people.upsert_item(person(number, phone))
            if number % 2 == 0:
                written[str(number)] = phone
        run.orders.upsert_item({"id": str(round_), "item": f"i{round_}"})
        lags.append(run.seconds_until(f"by-name/entries?name=n{round_ % 2 * 2}", phone))
        lags.append(run.seconds_until("by-town/entries?town=Z%C3%BCrich", phone))
        lags.append(run.seconds_until(f"by-item/entries?item=i{round_}"))
    return lags, written


def _check_what_operators_see(run: Run) -> None:
    """Lookups that need the account fail at once; readiness and status name it, and the index."""
    answer = run.get("indexes/by-town/entries?town=Aberdeen")
    assert (answer.status_code, answer.json()["code"]) == (503, "StorageUnreachable")
    wait_until(lambda: "limits" in run.get("health/ready").json(), "readiness says it")
    ready = run.get("health/ready")
    assert (ready.status_code, ready.json()["status"]) == (200, "degraded")
    wait_until(lambda: any("by-town" in limit for limit in run.get("health/ready").json()["limits"]), "and the index")
    _check_what_the_guide_shows(run.get("health/ready").json()["limits"])

    def owed() -> Any:
        accounts = {each["name"]: each for each in run.get("status").json()["storage"]["accounts"]}
        return accounts["INDEX_2"]["owed"]

    wait_until(lambda: owed() is not None, "the status says it")
    assert owed()["indexes"] == ["by-town"]
    assert owed()["facts"] > 0


def _check_what_the_guide_shows(limits: list[str]) -> None:
    """These sentences, with other numbers and times."""
    guide = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
    (shown,) = re.findall(
        r"^\$ curl -s localhost:7071/api/health/ready\n(\{.*?\})\n```$", guide, re.DOTALL | re.MULTILINE
    )
    sentences = [re.sub(r"\d+", "0", sentence).partition("…")[0] for sentence in json.loads(shown)["limits"]]
    assert [re.sub(r"\d+", "0", limit)[: len(sentences[0])] for limit in limits[:1]] == sentences[:1]
    assert re.sub(r"\d+", "0", limits[-1]) == sentences[-1]


def _phones(connection: str) -> dict[str, str]:
    """What the account has, read past the gate."""
    return {entry["id"]: entry["data"]["phone"] for entry in entries(connection, "by-town")}
