"""Facts in Cosmos DB show up in the index tables exactly, read as an outsider would read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from azure.cosmos import CosmosClient
from azure.data.tables import TableClient

from tests.e2e import runs
from tests.e2e.outside_reader import entries
from tests.support import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from azure.cosmos import ContainerProxy

DEFINITIONS = """
version: 1
sources:
  people: {cosmos: {database: test, container: people}, partitionKey: team, deletes: {when: gone}}
  films: {cosmos: {database: test, container: films}, partitionKey: genre, deletes: {feed: allVersions}}
indexes:
  people-by-town: {source: people, partition: town, sort: [name], project: [phone]}
  people-by-age: {source: people, partition: team, sort: [{path: age, type: integer, order: desc}], project: keys}
  films-by-actor: {source: films, each: {actor: cast}, partition: actor, sort: title, project: [title]}
"""


@dataclass(frozen=True)
class Run:
    """A local run with its containers."""

    storage: str
    http: str
    people: ContainerProxy
    films: ContainerProxy

    def by_town(self) -> set[tuple[str, str, str, str]]:
        """Town, name, id and phone of every entry."""
        found = entries(self.storage, "people-by-town")
        return {(e["key"]["town"], e["key"]["name"], e["id"], e["data"].get("phone", "")) for e in found}

    def by_actor(self) -> set[tuple[str, str]]:
        """Actor and title of every entry."""
        return {(e["key"]["actor"], e["key"]["title"]) for e in entries(self.storage, "films-by-actor")}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """One run for all tests of this file; each has facts of its own."""
    folder = tmp_path_factory.mktemp("pipeline")
    (folder / "indexes.yaml").write_text(DEFINITIONS)
    with runs.ready(folder / "data", "--definitions", str(folder / "indexes.yaml")) as (_, found):
        client = CosmosClient(found["cosmos"]["endpoint"], found["cosmos"]["key"])
        database = client.get_database_client("test")
        yield Run(
            found["storage"]["connectionString"],
            found["http"],
            database.get_container_client("people"),
            database.get_container_client("films"),
        )


def test_a_fact_shows_up_moves_and_goes(run: Run) -> None:
    """Inserted, changed in place, moved to another partition, deleted softly, and back again."""
    person: dict[str, Any] = {"id": "m1", "team": "a", "town": "Tromsø", "name": "Mia", "phone": "1", "age": 30}
    run.people.upsert_item(person)
    wait_until(lambda: ("Tromsø", "Mia", "m1", "1") in run.by_town(), "the fact is in its index")
    run.people.upsert_item({**person, "phone": "2"})
    wait_until(lambda: ("Tromsø", "Mia", "m1", "2") in run.by_town(), "the new phone is there")
    run.people.upsert_item({**person, "town": "Ålesund"})
    wait_until(
        lambda: {row for row in run.by_town() if row[2] == "m1"} == {("Ålesund", "Mia", "m1", "1")},
        "the fact has moved",
    )
    run.people.upsert_item({**person, "gone": True})
    wait_until(lambda: not {row for row in run.by_town() if row[2] == "m1"}, "the fact is gone")
    run.people.upsert_item(person)
    wait_until(lambda: ("Tromsø", "Mia", "m1", "1") in run.by_town(), "the fact is back")


def test_many_facts_are_indexed_exactly(run: Run) -> None:
    """Two hundred at once, half of them changed again."""
    expected = set()
    for number in range(200):
        town = f"town{number % 9}"
        run.people.upsert_item({"id": f"f{number}", "team": f"t{number % 5}", "town": town, "name": "N", "age": number})
        if number % 2:
            town = "moved"
            run.people.upsert_item({"id": f"f{number}", "team": f"t{number % 5}", "town": town, "name": "N", "age": 1})
        expected.add((town, "N", f"f{number}", ""))
    wait_until(lambda: {row for row in run.by_town() if row[2].startswith("f")} == expected, "all are there, once each")


def test_a_multi_valued_fact_gains_and_loses_entries_and_a_hard_delete_is_seen(run: Run) -> None:
    """One entry per actor; the container's feed has all versions and deletes."""
    film = {"id": "x", "genre": "drama", "title": "Nine Winters", "cast": ["Ann", "Bo", "Ann"]}
    run.films.upsert_item(film)
    wait_until(lambda: run.by_actor() == {("Ann", "Nine Winters"), ("Bo", "Nine Winters")}, "one per actor")
    run.films.upsert_item({**film, "cast": ["Bo", "Cy"]})
    wait_until(lambda: run.by_actor() == {("Bo", "Nine Winters"), ("Cy", "Nine Winters")}, "the new cast")
    run.films.delete_item("x", "drama")
    wait_until(lambda: run.by_actor() == set(), "the film is gone")


def test_poison_becomes_a_dead_letter_and_delays_nothing(run: Run) -> None:
    """The good ones land, and so do the other indexes of the poisonous one."""
    run.people.upsert_item({"id": "p1", "team": "p", "town": "Poison", "name": "P", "age": "not a number"})
    run.people.upsert_item({"id": "p2", "team": "p", "town": "Poison", "name": "Q", "age": 7})
    wait_until(lambda: {row[2] for row in run.by_town() if row[0] == "Poison"} == {"p1", "p2"}, "both by town")
    wait_until(
        lambda: (
            {entry["id"] for entry in entries(run.storage, "people-by-age") if entry["key"]["team"] == "p"} == {"p2"}
        ),
        "the good one by age",
    )

    def reasons() -> list[str]:
        with TableClient.from_connection_string(run.storage, "DeadLetters") as table:
            return [
                str(dead_letter["reason"])
                for dead_letter in table.list_entities()
                if dead_letter["index"] == "people-by-age"
            ]

    wait_until(lambda: bool(reasons()), "the dead letter, which is put after the entries")
    assert "not a number" in reasons()[0]


def test_broken_definitions_end_the_run_with_every_fault(tmp_path: Path) -> None:
    """Each with its line, and nothing has been started."""
    (tmp_path / "broken.yaml").write_text(
        "version: 1\nsources: {}\nindexes:\n  a: {source: none}\n  b: {sauce: none}\n"
    )
    with runs.up(tmp_path / "data", "--definitions", str(tmp_path / "broken.yaml")) as program:
        assert program.wait() == 1
        assert "error: the definitions are wrong" in program.output
        assert "broken.yaml:4" in program.output
        assert "broken.yaml:5" in program.output
        assert "listens on" not in program.output
        assert "ready" not in program.output
