"""The calls about dead letters in the OpenAPI document, and the schemas of what they answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, get_args

from shared.pipeline.dead_letters.replay import Result
from shared.pipeline.dead_letters.rows import KINDS
from shared.web.api.dead_letters import DAYS_MAX, OLDER_THAN
from shared.web.openapi.calls import ADMIN_KEY, call_with_key
from shared.web.openapi.parameters import option, paging
from shared.web.openapi.schema_parts import COUNT, INSTANT, TEXT, list_of, object_of, reference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.definitions.model import Definitions
    from shared.web.openapi.schemas import Schema

_MORE: Final[Schema] = {"nextLink": {"type": "string", "description": "Where to go on; absent at the end."}}
_ID: Final[Schema] = {
    "name": "id",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
}


def dead_letter_paths(definitions: Definitions) -> dict[str, Any]:
    """Listing, showing, replaying and purging, which need the admin key."""
    filters = [*_filters(definitions), *paging()]
    days = {"type": "integer", "minimum": 0, "maximum": DAYS_MAX}
    age = option(OLDER_THAN, "Forget those older than this, not than DEAD_LETTER_RETENTION_DAYS.", days)
    base = "/api/dead-letters"
    return {
        base: {"get": _call("listDeadLetters", "Dead letters", _page(), [400], filters)},
        f"{base}/{{id}}": {
            "get": _call("getDeadLetter", "One dead letter, with what arrived", _whole(), [400, 404, 409], [_ID])
        },
        f"{base}/{{id}}/replay": {
            "post": _call("replayDeadLetter", "Apply its change again", _outcome(), [400, 404, 409], [_ID])
        },
        f"{base}/replay": {"post": _call("replayDeadLetters", "Replay some", _outcomes(), [400], filters)},
        f"{base}/purge": {"post": _call("purgeDeadLetters", "Forget old ones", _purged(), [400], [*filters, age])},
    }


def letter_schema() -> Schema:
    """A dead letter. What could not be read at all is of no index and no fact."""
    fact = object_of({"partitionKey": {}}, id=TEXT)
    return object_of(
        {"index": TEXT, "fact": fact, "version": TEXT},
        id=TEXT,
        source=TEXT,
        kind={"enum": list(KINDS)},
        reason=TEXT,
        failedAt=INSTANT,
    )


def _call(operation_id: str, summary: str, answer: Schema, problems: list[int], parameters: list[Schema]) -> Schema:
    return {**call_with_key(operation_id, summary, answer, [*problems, 500, 503], ADMIN_KEY), "parameters": parameters}


def _filters(definitions: Definitions) -> list[Schema]:
    """Names of the definitions. Those of earlier ones are taken, too, as long as the catalog knows them."""
    named: dict[str, tuple[str, Sequence[str]]] = {
        "source": ("Only those of this source.", list(definitions.sources)),
        "index": ("Only those of this index.", list(definitions.indexes)),
        "kind": ("Only those with this kind of reason.", KINDS),
    }
    return [
        *(option(name, about, {**TEXT, "enum": list(values)}) for name, (about, values) in named.items() if values),
        option("reason", "Only those whose reason contains this text, whatever its case.", TEXT),
    ]


def _page() -> Schema:
    return object_of(_MORE, value=list_of(reference("DeadLetter")))


def _whole() -> Schema:
    document = {"description": "What arrived: JSON, or text where it was none."}
    return {"allOf": [reference("DeadLetter"), object_of(document=document)]}


def _outcome() -> Schema:
    return object_of({"index": TEXT}, id=TEXT, source=TEXT, outcome={"enum": list(get_args(Result))}, detail=TEXT)


def _outcomes() -> Schema:
    counts = object_of(**dict.fromkeys(get_args(Result), COUNT))
    return object_of(_MORE, value=list_of(_outcome()), counts=counts)


def _purged() -> Schema:
    return object_of(_MORE, purged=COUNT)
