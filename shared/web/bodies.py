"""Bodies of calls: JSON objects with few members, each known and of its form; no body is an empty one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from shared.errors import LifecycleRefusedError
from shared.lookup.faults import shown

if TYPE_CHECKING:
    from collections.abc import Mapping


class Form(NamedTuple):
    """What a member may be, and how a sentence calls that."""

    types: tuple[type, ...]
    name: str


NUMBER: Final = Form((int, float), "a number")
WHOLE_NUMBER: Final = Form((int,), "a whole number")
SWITCH: Final = Form((bool,), "true or false")
TEXT: Final = Form((str,), "text")


def members(body: bytes, known: Mapping[str, Form]) -> dict[str, Any]:
    """The members of a body, each known and of its form; an empty body has none."""
    try:
        found = orjson.loads(body) if body else {}
    except orjson.JSONDecodeError as error:
        raise _refused(f"The body is no JSON ({error}): send an object.") from None
    if not isinstance(found, dict):
        raise _refused("The body is no object: send one, or nothing.")
    for name, value in found.items():
        if name not in known:
            there_are = f"known are {', '.join(known)}" if known else "this call has no members"
            raise _refused(f"The body has an unknown member {shown(name)}: {there_are}.")
        # true is an int to Python, and no budget to anybody.
        if type(value) not in known[name].types:
            raise _refused(f"The member {name} of the body is not {known[name].name}: make it that.")
    return found


def _refused(detail: str) -> LifecycleRefusedError:
    return LifecycleRefusedError("BadRequest", detail)
