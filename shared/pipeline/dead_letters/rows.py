"""Dead letters as values: what failed, why, and how a row of table `DeadLetters` tells it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from shared.entries.keys.fact_key import MISSING
from shared.entries.rows.columns import FACT, take_text
from shared.entries.rows.json_text import NotJsonError, dumps, loads
from shared.errors import FailureKind
from shared.tables.port import PARTITION_KEY, ROW_KEY

if TYPE_CHECKING:
    from shared.entries.changes.change import Change
    from shared.entries.keys.fact_key import FactKeyValue
    from shared.entries.rows.columns import Columns
    from shared.tables.port import Entity, Row

DEAD_LETTER_TABLE: Final = "DeadLetters"
KINDS: Final[tuple[FailureKind, ...]] = get_args(FailureKind)
FAILED_AT: Final = "failedAt"
BLOB: Final = "blob"
DOCUMENT: Final = "document"
# All columns but the document, which takes most of a row.
SUMMARY: Final = ("index", "kind", "reason", "version", FAILED_AT, "via", "mark", BLOB, FACT)
_REASON_CHARACTERS_MAX: Final = 8000

# How a change arrived: what could not be read is read again by the same reader.
ArrivedBy = Literal["feed", "event"]


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A change that failed. `index` is empty when the change could not be read at all."""

    id: str
    source: str
    index: str
    kind: FailureKind
    reason: str
    version: str
    content: bytes
    # Which fact it is, as in its entries; of what could not be read nobody knows.
    fact: Columns = field(default_factory=dict)
    source_etag: str | None = None
    via: ArrivedBy | None = None


def dead_letter_id(source: str, fact: str, index: str) -> str:
    """The id of the one dead letter that a fact may have in an index."""
    return sha256(f"{source}\0{fact}\0{index}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def dead_letter_of(change: Change, index: str, kind: FailureKind, reason: str) -> DeadLetter:
    """The dead letter of a change that does not fit an index."""
    return DeadLetter(
        dead_letter_id(change.source, change.fact_key, index),
        change.source,
        index,
        kind,
        reason,
        change.version,
        _content(change.document),
        change.columns,
        change.source_etag,
    )


def unreadable_dead_letter(source: str, raw: object, reason: str, via: ArrivedBy) -> DeadLetter:
    """The dead letter of what was no change; what arrived takes the place of the fact."""
    content = _content(raw)
    identity = dead_letter_id(source, sha256(content).hexdigest(), "")
    return DeadLetter(identity, source, "", "unreadable", reason, "", content, via=via)


def _content(document: Any) -> bytes:
    try:
        return dumps(document).encode()
    except (NotJsonError, RecursionError):
        pass
    try:
        # Escapes can say what UTF-8 cannot, such as half of a character.
        return json.dumps(document, ensure_ascii=True, allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError):
        return repr(document).encode("utf-8", "backslashreplace")


def to_entity(letter: DeadLetter) -> Entity:
    """The row of a letter, without its time and its document."""
    entity: Entity = {
        PARTITION_KEY: letter.source,
        ROW_KEY: letter.id,
        "index": letter.index,
        "kind": letter.kind,
        "reason": letter.reason[:_REASON_CHARACTERS_MAX],
        "version": letter.version,
        **letter.fact,
    }
    if letter.source_etag is not None:
        entity["mark"] = letter.source_etag
    if letter.via is not None:
        entity["via"] = letter.via
    return entity


def blob_folder(letter: DeadLetter) -> str:
    """Where the document of a letter goes that fits in no row."""
    return f"{letter.source}/{letter.id}/{letter.version or 'unreadable'}"


def version_of(row: Row) -> str:
    """The version of the change that a row keeps; empty for what could not be read."""
    return str(row.entity.get("version", ""))


@dataclass(frozen=True, slots=True)
class StoredDeadLetter:
    """A dead letter as its row tells it, without its document."""

    id: str
    source: str
    index: str
    kind: str
    reason: str
    version: str
    failed_at_seconds: int
    fact_id: str | None
    partition_key: tuple[FactKeyValue, ...]
    source_etag: str | None
    via: str | None
    row: Row = field(compare=False, repr=False)

    @property
    def is_unreadable(self) -> bool:
        """True when nobody knows which fact it is."""
        return not self.index


def stored_dead_letter(row: Row) -> StoredDeadLetter:
    """The letter that a row is."""
    fields: dict[str, Any] = dict(row.entity)
    fact = _fact(fields)
    return StoredDeadLetter(
        fields[ROW_KEY],
        fields[PARTITION_KEY],
        fields.get("index", ""),
        fields.get("kind", ""),
        fields.get("reason", ""),
        fields.get("version", ""),
        int(fields.get(FAILED_AT, 0)),
        fact.get("id"),
        tuple(MISSING if value == {} else value for value in fact.get("partitionKey", ())),
        fields.get("mark"),
        fields.get("via"),
        row,
    )


def _fact(fields: dict[str, Any]) -> dict[str, Any]:
    """Which fact it is. Of a very long id a summary has only the beginning, which says nothing."""
    try:
        fact: dict[str, Any] = loads(take_text(fields, FACT) or "{}")
    except ValueError:
        return {}
    return fact


def document_of(content: bytes) -> Any:
    """What a letter keeps, as JSON; what was none is its text."""
    text = content.decode()
    try:
        return loads(text)
    except (ValueError, RecursionError):
        return text
