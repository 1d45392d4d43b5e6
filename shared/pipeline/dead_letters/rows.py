"""Dead letters as values, and as rows of the table `DeadLetters`: what failed, and why."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from shared.entries.changes.shown_values import shortened
from shared.entries.keys.fact_key import MISSING
from shared.entries.rows.columns import FACT, take_text
from shared.entries.rows.json_text import NotJsonError, dumps, loads
from shared.errors import FailureKind, NotReplayableError
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
# An operator reads a reason in a list; the dead letter has the document.
REASON_CHARACTERS_MAX: Final = 200

# How a change arrived: a replay reads a change that could not be read with the same reader.
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
    # The columns that identify the fact, as in its entries; none if the change could not be read.
    fact: Columns = field(default_factory=dict)
    source_etag: str | None = None
    via: ArrivedBy | None = None


def dead_letter_id(source: str, fact: str, index: str) -> str:
    """The id of the only dead letter that a fact may have in an index."""
    return sha256(f"{source}\0{fact}\0{index}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def dead_letter_of(
    change: Change, index: str, kind: FailureKind, reason: str, content: bytes | None = None
) -> DeadLetter:
    """The dead letter of a change that does not fit an index. The `content` is the same for all indexes."""
    return DeadLetter(
        dead_letter_id(change.source, change.fact_key, index),
        change.source,
        index,
        kind,
        reason,
        change.version,
        content_of(change.document) if content is None else content,
        change.columns,
        change.source_etag,
    )


def unreadable_dead_letter(source: str, raw: object, reason: str, via: ArrivedBy) -> DeadLetter:
    """The dead letter of an item that could not be read; its content stands in for the fact in the id."""
    content = content_of(raw)
    identity = dead_letter_id(source, sha256(content).hexdigest(), "")
    return DeadLetter(identity, source, "", "unreadable", reason, "", content, via=via)


def content_of(document: Any) -> bytes:
    """What a dead letter keeps of a document, or of anything else that arrived."""
    try:
        return dumps(document).encode()
    except (NotJsonError, RecursionError):
        pass
    try:
        # Escapes can represent what UTF-8 cannot, such as half of a surrogate pair.
        return json.dumps(document, ensure_ascii=True, allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError):
        return repr(document).encode("utf-8", "backslashreplace")


def to_entity(dead_letter: DeadLetter) -> Entity:
    """The row of a dead letter, without its time and its document."""
    entity: Entity = {
        PARTITION_KEY: dead_letter.source,
        ROW_KEY: dead_letter.id,
        "index": dead_letter.index,
        "kind": dead_letter.kind,
        "reason": _stored_reason(dead_letter.reason),
        "version": dead_letter.version,
        **dead_letter.fact,
    }
    if dead_letter.source_etag is not None:
        entity["mark"] = dead_letter.source_etag
    if dead_letter.via is not None:
        entity["via"] = dead_letter.via
    return entity


def _stored_reason(reason: str) -> str:
    """Short and printable: an error may repeat a control character or half a character of a value, which not every
    service stores."""
    short = shortened(reason, REASON_CHARACTERS_MAX)
    return "".join([character if character.isprintable() else "?" for character in short])


def smallest_form(entity: Entity) -> Entity:
    """The same row without its document, unless that is in a blob, and without the id of its fact: what is left has
    few bytes, whatever the fact is. It is not replayed, but says what went wrong."""
    return {name: entity[name] for name in (PARTITION_KEY, ROW_KEY, *SUMMARY) if name in entity and name != FACT}


def blob_folder(dead_letter: DeadLetter) -> str:
    """The blob folder for the document of a dead letter that is too large for a row."""
    return f"{dead_letter.source}/{dead_letter.id}/{dead_letter.version or 'unreadable'}"


def version_of(row: Row) -> str:
    """The version of the change that a row keeps; empty if the change could not be read."""
    return str(row.entity.get("version", ""))


@dataclass(frozen=True, slots=True)
class StoredDeadLetter:
    """A dead letter as it is stored, without its document."""

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
        """True when the change could not be read, so that its fact is not known."""
        return not self.index


def stored_dead_letter(row: Row) -> StoredDeadLetter:
    """The dead letter in a row."""
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
    """The id and partition key of the fact. A summary has only the start of a very long id: then both are unknown."""
    try:
        fact: dict[str, Any] = loads(take_text(fields, FACT) or "{}")
    except ValueError:
        return {}
    return fact


def document_of(content: bytes) -> Any:
    """What a dead letter keeps, as JSON; as text if it is no JSON."""
    text = content.decode()
    try:
        return loads(text)
    except (ValueError, RecursionError):
        return text


def document_gone_error() -> NotReplayableError:
    """The error for a dead letter whose blob is gone."""
    return NotReplayableError("The blob with its document is gone: write the fact again, then purge the dead letter.")
