"""A type of an answer and its JSON Schema say the same."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest

from shared.definitions.answer_types import Amount, Count, InstantText, SchemaKeywords
from shared.web.openapi.typed_schemas import TypedSchemas


class Engine(TypedDict):
    """Has one member."""

    fuel: Literal["petrol", "electricity"]


class Vehicle(TypedDict):
    """Has a member that may be left out."""

    wheels: Count
    note: NotRequired[Annotated[str, SchemaKeywords("Anything.")]]


class Car(Vehicle):
    """Has the members of a vehicle, too."""

    engine: Engine | None


def schema_of(kind: Any, components: dict[Any, str] | None = None) -> dict[str, Any]:
    """The schema of a type."""
    return TypedSchemas(components or {}).schema_of(kind)


@pytest.mark.parametrize(
    ("kind", "schema"),
    [
        (Any, {}),
        (str, {"type": "string"}),
        (bool, {"type": "boolean"}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (dict[str, Any], {"type": "object", "additionalProperties": True}),
        (dict[str, float], {"type": "object", "additionalProperties": {"type": "number"}}),
        (Literal["a"], {"type": "string", "const": "a"}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (InstantText, {"type": "string", "format": "date-time"}),
        (Annotated[int, SchemaKeywords(minimum=1, maximum=9)], {"type": "integer", "minimum": 1, "maximum": 9}),
    ],
)
def test_a_type_has_its_schema(kind: Any, schema: dict[str, Any]) -> None:
    """With the keywords that stand beside it."""
    assert schema_of(kind) == schema


def test_a_mapping_by_literals_has_a_member_for_each() -> None:
    """Such as a count of each outcome."""
    assert schema_of(dict[Literal["yes", "no"], Count]) == {
        "type": "object",
        "required": ["yes", "no"],
        "properties": {"yes": {"type": "integer", "minimum": 0}, "no": {"type": "integer", "minimum": 0}},
    }


@pytest.mark.parametrize(
    ("kind", "schema"),
    [
        (Amount | None, {"type": ["number", "null"], "minimum": 0}),
        (list[str] | None, {"type": ["array", "null"], "items": {"type": "string"}}),
        (Literal["a"] | None, {"type": ["string", "null"], "enum": ["a", None]}),
        (Literal["a", "b"] | None, {"type": ["string", "null"], "enum": ["a", "b", None]}),
        (Engine | None, {"anyOf": [{"$ref": "#/components/schemas/Motor"}, {"type": "null"}]}),
        (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (int | str | None, {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}),
    ],
)
def test_what_may_be_null_says_so(kind: Any, schema: dict[str, Any]) -> None:
    """And what may be of several types has them all."""
    assert schema_of(kind, {Engine: "Motor"}) == schema


def test_a_typed_dictionary_is_an_object_with_the_members_of_its_bases() -> None:
    """Those that may be left out are not required."""
    assert schema_of(Car) == {
        "type": "object",
        "required": ["wheels", "engine"],
        "properties": {
            "wheels": {"type": "integer", "minimum": 0},
            "note": {"type": "string", "description": "Anything."},
            "engine": {
                "type": ["object", "null"],
                "required": ["fuel"],
                "properties": {"fuel": {"type": "string", "enum": ["petrol", "electricity"]}},
            },
        },
    }


def test_a_component_is_referred_to_and_has_a_schema_itself() -> None:
    """Under the name that the document gives it."""
    schemas = TypedSchemas({Engine: "Motor"})
    assert schemas.schema_of(list[Engine])["items"] == {"$ref": "#/components/schemas/Motor"}
    assert schemas.object_of(Engine)["required"] == ["fuel"]


def test_a_type_that_json_does_not_have_is_refused() -> None:
    """A schema that says nothing would hide a mistake."""
    with pytest.raises(TypeError, match="no JSON Schema"):
        schema_of(set[str])
