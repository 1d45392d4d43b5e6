"""The values of `PART.in`: a JSON array of one to fifty distinct values, each of the part's type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shared.definitions.values import REFUSED, coerce, folded
from shared.entries.rows.json_text import loads
from shared.inputs.faults import fault, shown

if TYPE_CHECKING:
    from shared.definitions.model import KeyPart, PartType, PartValue
    from shared.errors import Fault

IN: Final = "in"
VALUES_MAX: Final = 50
_JSON_TYPES: Final[dict[PartType, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int, float),
    "number": (int, float),
    "boolean": (bool,),
    "datetime": (str,),
}
_EXAMPLES: Final[dict[PartType, str]] = {
    "string": '["Redmond","Kirkland"]',
    "integer": "[12,13]",
    "number": "[12.5,13]",
    "boolean": "[true,false]",
    "datetime": '["2024-05-01T12:00:00Z"]',
}


def read_list(part: KeyPart, name: str, text: str, faults: list[Fault]) -> tuple[PartValue | None, ...]:
    """The values of a list; what is wrong with it is one more fault, and one null stands for the list."""
    try:
        listed = loads(text)
    except (ValueError, RecursionError):
        listed = None
    if not isinstance(listed, list):
        detail = f"{name} is {shown(text)}, which is not a JSON array; send one such as {_EXAMPLES[part.type]}."
        return _wrong(name, "InvalidList", detail, faults)
    if not 1 <= len(listed) <= VALUES_MAX:
        detail = f"{name} has {len(listed)} values; send 1 to {VALUES_MAX}, and more in further lookups."
        return _wrong(name, "InvalidList", detail, faults)
    values = [_read(part, name, value, faults) for value in listed]
    found = dict.fromkeys(map(_comparable(part), values))
    if len(found) < len(values) and not faults:
        detail = f"{name} has the same value twice; send each once{_FOLDED if part.fold else ''}."
        return _wrong(name, "InvalidList", detail, faults)
    return tuple(values)


_FOLDED: Final = ", also in another case: this part is without regard to case"


def _read(part: KeyPart, name: str, value: Any, faults: list[Fault]) -> PartValue | None:
    """One value, or None after a fault."""
    if value is None:
        if not part.keeps_nulls:
            detail = f'{name} has a null: the index has no facts without {part.name}, or would say "nulls: index".'
            faults.append(fault("NullsNotKept", name, detail))
        return None
    coerced = coerce(part.type, value) if type(value) in _JSON_TYPES[part.type] else REFUSED
    if coerced is not REFUSED:
        return coerced
    code = "InvalidDate" if part.type == "datetime" else "InvalidValue"
    detail = f"{name} has the value {shown(str(value))}; send a list of type {part.type}: {_EXAMPLES[part.type]}."
    faults.append(fault(code, name, detail))
    return None


def _comparable(part: KeyPart) -> Any:
    """What makes two values of a part the same key. True is 1 to Python, but no list has values of both types."""
    return (lambda value: folded(value) if isinstance(value, str) else value) if part.fold else (lambda value: value)


def _wrong(name: str, code: str, detail: str, faults: list[Fault]) -> tuple[None]:
    faults.append(fault(code, name, detail))
    return (None,)
