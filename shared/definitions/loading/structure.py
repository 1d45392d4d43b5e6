"""Holds a file's values to the shape, and says in our own words what does not fit.

A source or index that does not fit is left out, so that the rest can still be checked: one pass finds
everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias, get_args

from pydantic import BaseModel, ValidationError

from shared.definitions.loading.shape import TAGS, FileShape
from shared.definitions.suggestions import did_you_mean

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from shared.definitions.loading.findings import Findings, KeyPath

_SECTIONS: Final = ("sources", "indexes")
_NEEDED: Final = frozenset({"source", "partition", "summarize"})
# Of parts and of expiry: without them the rest is still whole.
_OPTIONS: Final = frozenset({"type", "order", "fold", "nulls", "tables"})
_MORE_CHOICES: Final = {"project": "a list of paths", "events": "a mapping"}
_KINDS: Final = {
    dict: "a mapping",
    list: "a list",
    str: "text",
    bool: "a boolean",
    int: "a number",
    float: "a number",
}
_Model: TypeAlias = type[BaseModel]


def parts_that_fit(root: object, findings: Findings) -> FileShape | None:
    """The parts of a file that fit the shape; every other part becomes a fault. None when nothing is left."""
    try:
        return FileShape.model_validate(root)
    except ValidationError as error:
        errors = error.errors(include_url=False)
    for details in errors:
        _report(details, findings)
    return _fitting_rest(root, set(map(_cut, errors))) if isinstance(root, dict) else None


def _fitting_rest(root: dict[str, Any], cuts: set[KeyPath]) -> FileShape:
    """The file without what is broken."""
    sections = {name: root[name] for name in _SECTIONS if isinstance(root.get(name), dict)}
    return FileShape.model_validate({"version": 1, "sources": {}, "indexes": {}, **_without(sections, (), cuts)})


def _cut(details: ErrorDetails) -> KeyPath:
    """What to leave out for one fault: little, but nothing whose absence would look like another fault."""
    place = _place(details)
    if place[0] != "indexes" or len(place) < 3:
        return place[:2]
    if len(place) > 3 and place[2] != "summarize" and (details["type"] == "extra_forbidden" or place[-1] in _OPTIONS):
        return place
    return place[:2] if place[2] in _NEEDED else place[:3]


def _without(value: Any, place: KeyPath, cuts: set[KeyPath]) -> Any:
    if isinstance(value, dict):
        return {key: _without(item, (*place, key), cuts) for key, item in value.items() if (*place, key) not in cuts}
    if isinstance(value, list):
        return [_without(item, (*place, number), cuts) for number, item in enumerate(value)]
    return value


def _place(details: ErrorDetails) -> KeyPath:
    return tuple(step for step in details["loc"] if step not in TAGS)


def _report(details: ErrorDetails, findings: Findings) -> None:
    """One fault of the shape, worded as what is wrong and how to fix it."""
    path, value = _place(details), details["input"]
    match details["type"]:
        case "extra_forbidden":
            model = _model_at(path[:-1])
            findings.fault(path, "unknown key", did_you_mean(str(path[-1]), _keys(model)))
        case "missing":
            findings.fault(path, "the key is missing", f"Add it. {_description(path)}".rstrip())
        case "literal_error" if isinstance(value, str) and value in _expected(details):
            findings.fault(path, f"a number is wanted, this is {_kind(value)}", f"Write {value} without quotes.")
        case "literal_error":
            findings.fault(path, f"{_shown(value)} is not one of the choices", _choices(details, path, value))
        case "string_pattern_mismatch":
            findings.fault(path, f"{_shown(value)} is not a duration", "Use a number and s, m, h, d or w, such as 90d.")
        case "string_too_short" | "too_short":
            findings.fault(path, "it is empty", f"Give it a value. {_description(path)}".rstrip())
        case "greater_than_equal" | "less_than_equal":
            findings.fault(
                path,
                f"{_shown(value)} is out of range",
                f"{details['msg']}.".replace("Input should", "It must"),
            )
        case kind:
            findings.fault(
                path, f"{_wanted(kind)} is wanted, this is {_kind(value)}", _description(path) or _hint(kind)
            )


def _choices(details: ErrorDetails, path: KeyPath, value: object) -> str:
    choices = _expected(details)
    if path[-1] in _MORE_CHOICES:
        choices.append(_MORE_CHOICES[str(path[-1])])
    return did_you_mean(value, choices) if isinstance(value, str) else f"Use one of: {', '.join(choices)}."


def _expected(details: ErrorDetails) -> list[str]:
    """The choices, as a file writes them."""
    expected: str = details.get("ctx", {}).get("expected", "").replace("'", "")
    return expected.replace(" or ", ", ").split(", ")


def _shown(value: object) -> str:
    """A value, as a file writes it."""
    plain = str(value).lower() if isinstance(value, bool) else str(value)
    text = f'"{value}"' if isinstance(value, str) else plain
    return text if len(text) <= 60 else text[:57] + "..."


def _kind(value: object) -> str:
    return "nothing" if value is None else _KINDS.get(type(value), "something else")


def _wanted(kind: str) -> str:
    if kind in ("model_type", "dict_type", "model_attributes_type"):
        return "a mapping"
    if kind == "list_type":
        return "a list"
    return "a whole number" if kind.startswith("int") else "text"


def _hint(kind: str) -> str:
    return "Put it in quotes." if kind == "string_type" else "See docs/definitions.md."


def _keys(model: _Model | None) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()] if model else []


def _description(path: KeyPath) -> str:
    """What the key at this place is for, in the words of the shape."""
    model = _model_at(path[:-1])
    fields = model.model_fields.items() if model else ()
    found = [field.description for name, field in fields if path and (field.alias or name) == path[-1]]
    return found[0] or "" if found else ""


def _model_at(path: KeyPath) -> _Model | None:
    """The model that the mapping at this place must fit."""
    current: _Model | None = FileShape
    steps = list(path)
    while steps and current is not None:
        field = next((f for name, f in current.model_fields.items() if (f.alias or name) == steps[0]), None)
        if field is None:
            return None
        annotation = field.annotation
        # The steps after the field are names in a mapping or numbers in a list, until the next model's field.
        current = _model_in(annotation)
        is_named = any(getattr(kind, "__origin__", None) is dict for kind in (annotation, *get_args(annotation)))
        steps = steps[2:] if is_named else steps[1:]
        while steps and isinstance(steps[0], int):
            steps = steps[1:]
    return current


def _model_in(annotation: Any) -> _Model | None:
    """The model somewhere inside an annotation. No shape has two."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for inner in get_args(annotation) if (model := _model_in(inner)) is not None), None)
