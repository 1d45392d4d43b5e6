"""The HTTP API of what is left of deleted facts, without the binding.

A fact is named in the body, never in the address: addresses are logged, and its id may be what has to go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypedDict

from shared.definitions.answer_types import InstantText
from shared.definitions.instants import instant_text
from shared.entries.keys.fact_key import MISSING, is_fact_key_value
from shared.erasure.remains import FactAddress, RemnantPlace
from shared.errors import LifecycleRefusedError
from shared.inputs.bodies import SWITCH, TEXT, Form, read_members
from shared.inputs.parameters import no_parameters
from shared.web.answers import json_answer

if TYPE_CHECKING:
    from shared.erasure.eraser import Eraser, WhatIsLeft
    from shared.erasure.remains import Remnant
    from shared.web.answers import HttpAnswer

PARTITION_KEY: Final = "partitionKey"
_KEY: Final = Form((str, int, float, bool, list, dict, type(None)), "a value, or a list of them")
_MEMBERS: Final = {"source": TEXT, "id": TEXT, PARTITION_KEY: _KEY, "force": SWITCH}


class RemnantJson(TypedDict):
    """Something that is left, and until when; null when that is not known."""

    place: RemnantPlace
    what: str
    until: InstantText | None


class ErasureJson(TypedDict):
    """What is left of a fact. `isDeleted` is false for a fact that is there, and null for one that the ledger does not
    know: it was deleted so long ago that it is forgotten, or its id or partition key is wrong."""

    isDeleted: bool | None
    deletedAt: InstantText | None
    left: list[RemnantJson]


class ErasureApi:
    """Answers requests about what is left of facts."""

    def __init__(self, eraser: Eraser) -> None:
        self._eraser = eraser

    async def erase(self, body: bytes, url: str) -> HttpAnswer:
        """What is left of a fact, after forcing it out if that is asked for."""
        no_parameters(url)
        members = read_members(body, _MEMBERS)
        for name in ("source", "id"):
            if name not in members:
                raise LifecycleRefusedError("BadRequest", f"The body has no {name}: name the fact.")
        fact = FactAddress(members["source"], members["id"], _partition_key(members))
        look = self._eraser.erase if members.get("force") else self._eraser.look
        return json_answer(_json(await look(fact)))


def _partition_key(members: dict[str, Any]) -> tuple[Any, ...] | None:
    """One value, or a list of them, as dead letters show it; {} is a value that the fact does not have. None without
    the member."""
    if PARTITION_KEY not in members:
        return None
    given = members[PARTITION_KEY]
    values = given if isinstance(given, list) else [given]
    found = tuple([MISSING if value == {} else value for value in values])
    if not all(map(is_fact_key_value, found)):
        raise LifecycleRefusedError(
            "BadRequest", f"{PARTITION_KEY} must be text, a number, true, false, null or {{}}, or a list of them."
        )
    return found


def _json(found: WhatIsLeft) -> ErasureJson:
    return {
        "isDeleted": found.is_deleted,
        "deletedAt": _instant(found.deleted_at_seconds),
        "left": [_remnant(remnant) for remnant in found.remnants],
    }


def _remnant(remnant: Remnant) -> RemnantJson:
    return {"place": remnant.place, "what": remnant.what, "until": _instant(remnant.until_seconds)}


def _instant(seconds: int | None) -> str | None:
    return None if seconds is None else instant_text(seconds)
