"""The calls about dead letters in the OpenAPI document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shared.pipeline.dead_letters.rows import KINDS
from shared.web.api.dead_letters import (
    DAYS_MAX,
    OLDER_THAN,
    DeadLetterPageJson,
    PurgeJson,
    ReplayJson,
    ReplayPageJson,
    WholeDeadLetterJson,
)
from shared.web.openapi.calls import ADMIN_KEY, Wording, call_with_key, tagged
from shared.web.openapi.parameters import option, paging
from shared.web.openapi.schema_parts import TEXT
from shared.web.openapi.schemas import schema_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.definitions.model import Definitions
    from shared.web.openapi.schema_parts import Schema

_ID: Final[Schema] = {
    "name": "id",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
}


_LIST: Final = Wording("listDeadLetters", "Dead letters", "Changes that fit no entry, with the reason, page by page.")
_SHOW: Final = Wording("getDeadLetter", "One dead letter, with what arrived", "Its reason, and the document.")
_REPLAY: Final = Wording(
    "replayDeadLetter",
    "Apply its change again",
    "After the fact or the definition was corrected. A success closes the dead letter.",
)
_REPLAY_SOME: Final = Wording(
    "replayDeadLetters",
    "Replay some",
    "Those that the parameters name, a page at a time. Follow `nextLink` with POST while there is one.",
)
_PURGE: Final = Wording(
    "purgeDeadLetters",
    "Forget old ones",
    "A page at a time, for ever: they cannot be replayed then.",
)


def dead_letter_paths(definitions: Definitions) -> dict[str, Any]:
    """Listing, showing, replaying and purging, which need the admin key."""
    filters = [*_filters(definitions), *paging()]
    days = {"type": "integer", "minimum": 0, "maximum": DAYS_MAX}
    age = option(OLDER_THAN, "Forget those older than this, not than DEAD_LETTER_RETENTION_DAYS.", days)
    base = "/api/dead-letters"
    calls = {
        base: {"get": _call(_LIST, DeadLetterPageJson, [400], filters)},
        f"{base}/{{id}}": {"get": _call(_SHOW, WholeDeadLetterJson, [400, 404, 409], [_ID])},
        f"{base}/{{id}}/replay": {"post": _call(_REPLAY, ReplayJson, [400, 404, 409], [_ID])},
        f"{base}/replay": {"post": _call(_REPLAY_SOME, ReplayPageJson, [400], filters)},
        f"{base}/purge": {"post": _call(_PURGE, PurgeJson, [400], [*filters, age])},
    }
    return tagged("dead letters", calls)


def _call(wording: Wording, answer: Any, problems: list[int], parameters: list[Schema]) -> Schema:
    call = call_with_key(wording, schema_of(answer), [*problems, 500, 503], ADMIN_KEY)
    return {**call, "parameters": parameters}


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
