"""JSON Schemas made from types, so that an answer and its schema cannot differ.

    TypedDict            an object; members that are not `NotRequired` are required
    list                 an array
    dict with str keys   an object with any members
    dict with literals   an object that has a member for each literal
    Literal              an enumeration, or a constant when there is one literal
    X | None             X or null
    Annotated            its type, with the keywords of `SchemaKeywords`

Other types are refused: a schema that says nothing would hide a mistake. Not pydantic, because before Python 3.12 it
takes typed dictionaries of `typing_extensions` only, and because it makes each of them a component.
"""

from __future__ import annotations

from dataclasses import asdict
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from shared.web.openapi.schema_parts import object_of, reference

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shared.web.openapi.schema_parts import Schema

# Any may be anything.
_PLAIN: Final[Mapping[Any, Schema]] = {
    Any: {},
    bool: {"type": "boolean"},
    float: {"type": "number"},
    int: {"type": "integer"},
    str: {"type": "string"},
}


class TypedSchemas:
    """Makes schemas. Typed dictionaries that are components are referred to by their names."""

    def __init__(self, components: Mapping[Any, str]) -> None:
        self._components = components

    def schema_of(self, kind: Any) -> Schema:
        """The schema of a type as a member or an answer."""
        if kind in self._components:
            return reference(self._components[kind])
        if is_typeddict(kind):
            return self.object_of(kind)
        if kind in _PLAIN:
            return dict(_PLAIN[kind])
        return self._composed(get_origin(kind), get_args(kind))

    def object_of(self, kind: Any) -> Schema:
        """The schema of a typed dictionary itself, also where it is a component."""
        members = get_type_hints(kind, include_extras=True)
        optional = {name: get_args(hint)[0] for name, hint in members.items() if get_origin(hint) is NotRequired}
        required = {name: self.schema_of(hint) for name, hint in members.items() if name not in optional}
        return object_of({name: self.schema_of(hint) for name, hint in optional.items()}, **required)

    def _composed(self, origin: Any, args: Sequence[Any]) -> Schema:
        if origin is Annotated:
            kind, keywords = args
            given = {name: value for name, value in asdict(keywords).items() if value is not None}
            return {**self.schema_of(kind), **given}
        if origin is Literal:
            return _literal(args)
        if origin is list:
            return {"type": "array", "items": self.schema_of(args[0])}
        if origin is dict:
            return self._mapping(*args)
        if origin in (Union, UnionType):
            return self._union(args)
        raise TypeError(f"There is no JSON Schema for {origin}{args}.")

    def _mapping(self, key: Any, value: Any) -> Schema:
        if get_origin(key) is Literal:
            return object_of(**{name: self.schema_of(value) for name in get_args(key)})
        # What may be anything is said as well: generators take an object of which nothing is said for an empty one.
        return {"type": "object", "additionalProperties": True if value is Any else self.schema_of(value)}

    def _union(self, args: Sequence[Any]) -> Schema:
        choices = [self.schema_of(kind) for kind in args if kind is not NoneType]
        if NoneType not in args:
            return {"anyOf": choices}
        if len(choices) > 1:
            return {"anyOf": [*choices, {"type": "null"}]}
        return _or_null(choices[0])


def _literal(values: Sequence[Any]) -> Schema:
    """An enumeration or a constant, with the type that its values share."""
    (kind,) = {type(value) for value in values}
    return {**_PLAIN[kind], **({"enum": list(values)} if len(values) > 1 else {"const": values[0]})}


def _or_null(schema: Schema) -> Schema:
    if "type" not in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    nullable = {**schema, "type": [schema["type"], "null"]}
    if "const" in schema:
        del nullable["const"]
        return {**nullable, "enum": [schema["const"], None]}
    return {**nullable, "enum": [*schema["enum"], None]} if "enum" in schema else nullable
