"""Checks facts before they are written: would the container, the hub or an index of the source refuse them?

A fact is read and projected as the pipeline will do it, into every index of its source.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from shared.entries.changes.cosmos_changes import CosmosReader
from shared.entries.projection.generations import plan_of
from shared.entries.projection.project_all import project_all
from shared.entries.projection.projector import HOW_TO_FIX
from shared.entries.rows.json_text import NotJsonError, dumps, nesting
from shared.errors import UnreadableChangeError
from shared.sources.sending import FactEvents

if TYPE_CHECKING:
    from shared.definitions.model import Definitions
    from shared.entries.changes.change import Change
    from shared.entries.projection.generations import SourcePlan

# Limits of Cosmos DB: https://learn.microsoft.com/azure/cosmos-db/concepts-limits#per-item-limits
LONGEST_ID_BYTES: Final = 1023
LARGEST_DOCUMENT_BYTES: Final = 2 * 1024 * 1024
LONGEST_PARTITION_KEY_BYTES: Final = 2048
# Of the Cosmos DB trigger, the document itself included. Cosmos DB takes 128, but the JSON library of the extension has
# 64 levels. One of them is the array of documents, and in the all versions feed one more is the item around each.
DEEPEST_NESTING_LEVELS: Final = 63
# What the SDK refuses; and NUL, which web servers refuse in an address.
_FORBIDDEN_IN_ID: Final = frozenset("/\\?#\t\r\n\0")
# Every client takes them out of an address before it sends it.
_FOLDERS: Final = frozenset({".", ".."})
# Of an envelope. Facts may have such a field, too, so that it is only looked at when one cannot be read.
_OPS: Final = ("upsert", "delete")
_ENVELOPE: Final = 'it looks like an envelope: load takes facts, such as the "document" of one.'
# The service will set them. Their values do not matter for the checks.
_ANY_CLOCK: Final = {"_ts": 0, "_lsn": 0}


class DocumentCheck:
    """Checks facts that will be documents in the container of a source."""

    def __init__(self, definitions: Definitions, source: str) -> None:
        self._plan = plan_of(definitions, source)
        self._reader = CosmosReader(definitions.sources[source])
        self._levels_max = DEEPEST_NESTING_LEVELS - definitions.sources[source].all_versions

    def fault_of(self, fact: dict[str, Any]) -> str | None:
        """What is wrong with a fact, and what to do; None for nothing."""
        if fault := _document_fault(fact, self._levels_max):
            return fault
        try:
            change = self._reader.latest({**fact, **_ANY_CLOCK})
        except UnreadableChangeError as error:
            return str(error)
        return _partition_key_fault(change) or _projection_fault(change, self._plan)


class EventCheck:
    """Checks facts, or events, that will be sent to the hub of a source."""

    def __init__(self, definitions: Definitions, source: str) -> None:
        self._plan = plan_of(definitions, source)
        self._events = FactEvents(definitions.sources[source])

    def fault_of(self, fact: dict[str, Any]) -> str | None:
        """What is wrong with a fact, and what to do; None for nothing."""
        try:
            change = self._events.change(fact)
        except UnreadableChangeError as error:
            return f"{_ENVELOPE} {error}" if self._events.takes_facts and fact.get("op") in _OPS else str(error)
        return None if change is None else _projection_fault(change, self._plan)


def _document_fault(fact: dict[str, Any], levels_max: int) -> str | None:
    """Why Cosmos DB, or its trigger, would refuse a fact as a document."""
    try:
        text = dumps(fact)
    except NotJsonError as error:
        return f"it is not JSON that can be written ({error})"
    if (size_bytes := _sent_bytes(fact, text)) > LARGEST_DOCUMENT_BYTES:
        return f"it has {size_bytes:,} bytes, Cosmos DB takes {LARGEST_DOCUMENT_BYTES:,}"
    # Most facts have fewer brackets than that, which is quickly seen.
    if text.count("{") + text.count("[") > levels_max and (levels := nesting(fact)) > levels_max:
        return (
            f"it is nested {levels} levels deep, and the Cosmos DB trigger stops at a document of more than "
            f"{levels_max}: make it shallower"
        )
    return _id_fault(fact.get("id"))


def _sent_bytes(fact: dict[str, Any], text: str) -> int:
    """How long a fact is when it is sent, which is what Cosmos DB counts: the SDK escapes everything beyond ASCII."""
    return len(text) if text.isascii() else len(json.dumps(fact, separators=(",", ":")))


def _id_fault(identity: object) -> str | None:
    """What is wrong with the id of a document."""
    if not isinstance(identity, str) or not identity:
        return 'give it an "id" that is a text'
    if _FORBIDDEN_IN_ID & set(identity):
        return f"the id {identity!r} contains one of / \\ ? #, a tab, a line break or NUL, which Cosmos DB forbids"
    if identity.endswith(" "):
        return f"the id {identity!r} ends with a space, which Cosmos DB forbids"
    if identity in _FOLDERS:
        return f"a fact with the id {identity!r} can never be read again by it: give it another"
    if (id_bytes := len(identity.encode())) > LONGEST_ID_BYTES:
        return f"its id has {id_bytes:,} bytes, Cosmos DB takes {LONGEST_ID_BYTES:,}"
    return None


def _partition_key_fault(change: Change) -> str | None:
    """What is wrong with the partition key of a document."""
    key_bytes = sum(len(value.encode()) for value in change.partition_key if isinstance(value, str))
    if key_bytes > LONGEST_PARTITION_KEY_BYTES:
        return f"its partition key has {key_bytes:,} bytes, Cosmos DB takes {LONGEST_PARTITION_KEY_BYTES:,}"
    return None


def _projection_fault(change: Change, plan: SourcePlan) -> str | None:
    """Why a fact cannot be projected into the first index that fails."""
    for generation, _, failure in project_all(change, plan):
        if failure is not None:
            # Nothing is written yet, so advice about dead letters does not apply.
            return f'Index "{generation.index.name}" cannot hold it: {failure.reason.removesuffix(f" {HOW_TO_FIX}")}'
    return None
