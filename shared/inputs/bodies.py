"""Bodies of calls: JSON objects with few members, each known and of its form; no body is an empty one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from shared.entries.rows.json_text import loads
from shared.errors import LifecycleRefusedError
from shared.inputs.faults import shown

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
LIST: Final = Form((list,), "a list")
BYTES_MAX: Final = 1024 * 1024


def read_members(body: bytes, known: Mapping[str, Form]) -> dict[str, Any]:
    """The members of a body, each known and of its form; an empty body has none."""
    if len(body) > BYTES_MAX:
        raise _refused(f"The body has {len(body)} bytes; send at most {BYTES_MAX}.")
    try:
        found = loads(body.decode()) if body else {}
    except (ValueError, RecursionError) as error:
        raise _refused(f"The body is not JSON ({error}): send an object.") from None
    if not isinstance(found, dict):
        raise _refused("The body is not an object: send one, or nothing.")
    return {name: _member(name, value, known) for name, value in found.items()}


def _member(name: str, value: Any, known: Mapping[str, Form]) -> Any:
    if name not in known:
        there_are = f"known are {', '.join(known)}" if known else "this call has no members"
        raise _refused(f"The body has an unknown member {shown(name)}: {there_are}.")
    form = known[name]
    # A number without a fraction is a whole one in JSON, however it is written.
    if form is WHOLE_NUMBER and isinstance(value, float) and value.is_integer():
        return int(value)
    # true is an int to Python, and no budget to anybody.
    if type(value) not in form.types:
        raise _refused(f"The member {name} of the body is not {form.name}: correct it.")
    return value


def _refused(detail: str) -> LifecycleRefusedError:
    return LifecycleRefusedError("BadRequest", detail)
