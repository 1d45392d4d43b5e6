"""Databases, containers and partition key ranges: finding them by name or rid, and answering for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from local.emulators.cosmos.data.resource_ids import container_number, item_serial
from local.emulators.cosmos.data.scope import whole_key
from local.emulators.cosmos.errors import (
    CONTAINER_RECREATED,
    OWNER_NOT_FOUND,
    BadRequestError,
    MethodNotAllowedError,
    NotFoundError,
)
from local.emulators.cosmos.exchange import Answer, answer_feed, answer_json
from local.emulators.cosmos.routes.queries import is_query, query_described

if TYPE_CHECKING:
    from local.emulators.cosmos.data.containers import Container, Containers
    from local.emulators.cosmos.data.databases import Database, Databases
    from local.emulators.cosmos.data.store import DocumentStore
    from local.emulators.cosmos.exchange import Call

_INTENDED_RID = "x-ms-cosmos-intended-collection-rid"


@dataclass(frozen=True, slots=True)
class CatalogRoutes:
    """Answers requests for everything above the documents."""

    store: DocumentStore
    databases: Databases
    containers: Containers

    def database(self, name: str) -> Database:
        """The database with this name or rid."""
        found = self.databases.find(name)
        if found is None:
            found = next((each for each in self.databases.list() if each.rid == name), None)
        if found is None:
            raise NotFoundError(f"There is no database {name!r}.", OWNER_NOT_FOUND)
        return found

    def container(self, call: Call) -> Container:
        """The container that a path names, by name or by rid."""
        database = self.database(call.path[1])
        if call.path[1] == database.name:
            container = self.containers.read(database, call.path[3])
        else:
            container = self.containers.read_numbered(database, container_number(call.path[3]))
        intended = call.headers.get(_INTENDED_RID)
        if intended is not None and intended != container.rid:
            raise BadRequestError(
                f"The container is not {intended}: it was made anew as {container.rid}.", CONTAINER_RECREATED
            )
        return container

    def item_id(self, call: Call, container: Container) -> str:
        """The id of the item that a path names, by id or, in a path of rids, by rid."""
        name = call.path[5]
        if call.path[3] != container.rid:
            return name
        row = self.store.execute(
            "SELECT id FROM items WHERE container = ? AND key = ? AND serial = ?",
            (container.number, whole_key(call, container).text, item_serial(name)),
        ).fetchone()
        if row is None:
            raise NotFoundError(f"There is no item with the resource id {name!r}.")
        return str(row[0])

    def all_databases(self, call: Call) -> Answer:
        """`dbs`: list, query or create."""
        if call.method == "POST" and not is_query(call):
            return answer_json(201, self.databases.create(call.json_object()).describe())
        _only(call, "GET", "POST")
        return query_described(call, "", "Databases", [each.describe() for each in self.databases.list()])

    def one_database(self, call: Call) -> Answer:
        """`dbs/{name}`: read or delete."""
        database = self.database(call.path[1])
        if call.method == "DELETE":
            for container in self.containers.list(database):
                self.containers.delete(container)
            self.databases.delete(database)
            return Answer(204)
        _only(call, "GET")
        return answer_json(200, database.describe())

    def all_containers(self, call: Call) -> Answer:
        """`colls`: list, query or create."""
        database = self.database(call.path[1])
        if call.method == "POST" and not is_query(call):
            return answer_json(201, self.containers.create(database, call.json_object()).describe())
        _only(call, "GET", "POST")
        described = [each.describe() for each in self.containers.list(database)]
        return query_described(call, database.rid, "DocumentCollections", described)

    def one_container(self, call: Call) -> Answer:
        """`colls/{name}`: read, replace or delete."""
        container = self.container(call)
        if call.method == "DELETE":
            self.containers.delete(container)
            return Answer(204)
        if call.method == "PUT":
            database = self.database(call.path[1])
            container = self.containers.replace(database, container, call.json_object())
        else:
            _only(call, "GET")
        answer = answer_json(200, container.describe())
        answer.headers["x-ms-alt-content-path"] = container.path
        return answer

    def ranges(self, call: Call) -> Answer:
        """`pkranges`: the live ranges; 304 when the caller has them, which is what ends the SDKs' reading."""
        _only(call, "GET")
        container = self.container(call)
        etag = container.ranges_etag()
        if call.headers.get("if-none-match") == etag:
            return Answer(304, headers={"etag": etag})
        answer = answer_json(
            200,
            {
                "_rid": container.rid,
                "PartitionKeyRanges": container.describe_ranges(),
                "_count": len(container.ranges),
            },
        )
        answer.headers["etag"] = etag
        return answer

    def empty(self, call: Call, name: str) -> Answer:
        """A kind of resource that the local server does not have: an empty list, and no writes."""
        if call.method == "GET" or is_query(call):
            return answer_feed("", name, [])
        raise BadRequestError(f"The local Cosmos DB has no {name}: {call.method} is not possible.")


def _only(call: Call, *methods: str) -> None:
    if call.method not in methods:
        raise MethodNotAllowedError(f"{call.method} is not possible on /{'/'.join(call.path)}.")
