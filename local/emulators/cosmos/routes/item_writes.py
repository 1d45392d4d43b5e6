"""The operations on one item, as requests and batches share them: from wire form to outcome.

Nothing here opens a transaction; the caller decides how many operations share one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from local.emulators.cosmos.data.documents import checked_document
from local.emulators.cosmos.data.items import EtagConditions, ItemOutcome, Items, WriteMode
from local.emulators.cosmos.errors import PARTITION_KEY_MISMATCH, BadRequestError, PreconditionFailedError, SqlError
from local.emulators.cosmos.routes.patch import apply_patch
from local.emulators.cosmos.sql.prepare import prepare

if TYPE_CHECKING:
    from local.emulators.cosmos.data.containers import Container
    from local.emulators.cosmos.data.partition_key import PartitionKey

_SELECT = "SELECT * "


@dataclass(frozen=True, slots=True)
class Writes:
    """Puts, patches and deletes items of a container."""

    items: Items

    def put(
        self,
        container: Container,
        mode: WriteMode,
        body: Any,
        key: PartitionKey | None,
        conditions: EtagConditions,
        item_id: str | None = None,
    ) -> ItemOutcome:
        """Create, upsert or replace; the body must agree with the `key` of the request.

        It has the request's `item_id`, too, unless it replaces that item by one with another id.
        """
        document = checked_document(body)
        own = container.partition_key.of_document(document)
        if key is not None and key.text != own.text:
            raise BadRequestError(
                f"The document's partition key {own.text} is not the one in the header, {key.text}.",
                PARTITION_KEY_MISMATCH,
            )
        item_id = document["id"] if item_id is None else item_id
        if mode != "replace" and document["id"] != item_id:
            raise BadRequestError(f"The document's id {document['id']!r} is not {item_id!r}, the one addressed.")
        return self.items.put(container, mode, document, own, conditions, item_id)

    def patch(
        self, container: Container, key: PartitionKey, item_id: str, body: Any, conditions: EtagConditions
    ) -> ItemOutcome:
        """Change parts of a document, if its condition holds."""
        if isinstance(body, list):
            body = {"operations": body}  # how the JavaScript SDK sends a patch without a condition
        if not isinstance(body, dict):
            raise BadRequestError('A patch must be {"operations": [{"op", "path", "value"}]}.')
        current = self.items.read(container, key, item_id)
        conditions.check(current.etag)
        document = orjson.loads(current.body)
        if not _holds(body.get("condition"), document):
            raise PreconditionFailedError("The condition of the patch does not hold for the item.")
        apply_patch(document, body.get("operations"))
        return self.put(container, "replace", document, key, conditions, item_id)

    def delete(self, container: Container, key: PartitionKey, item_id: str, conditions: EtagConditions) -> ItemOutcome:
        return self.items.delete(container, key, item_id, conditions)

    def read(self, container: Container, key: PartitionKey, item_id: str, conditions: EtagConditions) -> ItemOutcome:
        """The item; 304 without it when the caller has this version already."""
        found = self.items.read(container, key, item_id)
        if conditions.if_match is not None and conditions.if_match not in ("*", found.etag):
            raise PreconditionFailedError("If-Match does not hold: the item has another _etag.")
        if conditions.if_none_match in ("*", found.etag):
            return ItemOutcome(304, b"", found.etag, found.range_number, found.lsn)
        return found


def _holds(condition: Any, document: dict[str, Any]) -> bool:
    if condition is None:
        return True
    if not isinstance(condition, str):
        raise BadRequestError('"condition" of a patch must be text like "from c where c.x = 1".')
    try:
        return prepare({"query": f"{_SELECT}{condition}"}).matches(document)
    except SqlError as error:
        # The caller wrote no SELECT: the place is counted in what was written.
        place = max(0, error.position - len(_SELECT))
        raise SqlError(f"in the condition of the patch, {error.reason}", place) from error
