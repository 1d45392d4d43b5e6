"""The OpenAPI document says enough for generators of clients: what entries, problems and headers there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest

from shared.definitions.loading.load import load
from shared.web.openapi.document import openapi

if TYPE_CHECKING:
    from collections.abc import Iterator

YAML = """
version: 1
sources:
  customers:
    cosmos: {database: shop, container: customers}
    partitionKey: [tenant, customerId]
  orders:
    eventHub: orders
    partitionKey: customer.id
    version: revision
indexes:
  by-town:
    source: customers
    partition: {path: town}
    sort: [{path: age, type: integer}, {path: born, type: datetime, nulls: index}]
    project: [phone, address.street]
    hot: {Redmond: 4}
  by-tag:
    source: orders
    each: {tag: tags}
    partition: tag
    project: [tag, total]
  all-of-it:
    source: customers
    partition: isVip
    sort: {path: rate, type: number}
"""
DOCUMENT = openapi(load(YAML).require())
SCHEMAS = DOCUMENT["components"]["schemas"]


def calls() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every call with its method and path."""
    for path, methods in DOCUMENT["paths"].items():
        for method, call in methods.items():
            yield f"{method} {path}", call


def schemas_in(node: Any) -> Iterator[dict[str, Any]]:
    """Every object of the document, which schemas are among."""
    if isinstance(node, dict):
        yield node
    for below in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from schemas_in(below)


def member(entry: str, name: str) -> dict[str, Any]:
    """The schema of a member of an entry."""
    found: dict[str, Any] = SCHEMAS[f"Entry.{entry}"]["properties"][name]
    return found


def test_data_lists_what_the_index_projects_in_the_shape_of_the_fact() -> None:
    """And leaves room for more."""
    data = member("by-town", "data")
    assert data["properties"].keys() == {"phone", "address"}
    assert data["properties"]["address"]["properties"].keys() == {"street"}
    assert [each["additionalProperties"] for each in (data, data["properties"]["address"])] == [True, True]
    assert member("all-of-it", "data") == {
        "type": "object",
        "required": [],
        "properties": {},
        "additionalProperties": True,
    }


def test_a_fact_has_the_fields_that_the_index_projects_from_it() -> None:
    """Of any type: it may be another version by now. Only facts with a container are fetched."""
    fact = member("by-town", "fact")
    assert fact["properties"] == {"phone": {}, "address": {}}
    assert fact["additionalProperties"] is True
    assert "fact" not in SCHEMAS["Entry.by-tag"]["properties"]


def test_a_partition_key_has_the_shape_of_its_source() -> None:
    """One value, or a list of as many as there are levels; `{}` for one that a fact lacks."""
    one = jsonschema_rs.validator_for(member("by-tag", "partitionKey"))
    assert all(map(one.is_valid, ["c-1", 12, None, True, {}]))
    assert not any(map(one.is_valid, [["c-1"], {"a": 1}]))
    two = jsonschema_rs.validator_for(member("by-town", "partitionKey"))
    assert all(map(two.is_valid, [["t", {}], ["t", 1]]))
    assert not any(map(two.is_valid, ["t", ["t"], ["t", "c", "x"]]))


def test_every_failure_has_a_body_with_a_schema() -> None:
    """Also a 401."""
    failures = [
        (name, status, response)
        for name, call in calls()
        for status, response in call["responses"].items()
        if status >= "400"
    ]
    assert {"400", "401", "404", "409", "410", "500", "503"} <= {status for _, status, _ in failures}
    without = [
        each[:2] for each in failures if not all("schema" in body for body in each[2].get("content", {"": {}}).values())
    ]
    assert without == []


def test_a_503_says_when_to_come_back_and_a_page_has_an_etag() -> None:
    """In headers that are described."""
    refused = [call["responses"]["503"] for _, call in calls() if "503" in call["responses"]]
    assert [response["headers"]["Retry-After"]["schema"]["type"] for response in refused] == ["integer"] * len(refused)
    for name in ("entries", "count"):
        responses = DOCUMENT["paths"][f"/api/indexes/by-town/{name}"]["get"]["responses"]
        assert ["ETag" in responses[status]["headers"] for status in ("200", "304")] == [True, True]


def test_links_are_addresses() -> None:
    """By their format."""
    pages = [
        schema["properties"]["nextLink"]
        for schema in schemas_in(DOCUMENT)
        if "nextLink" in schema.get("properties", {})
    ]
    assert pages
    assert {page["format"] for page in pages} == {"uri"}


def test_the_calls_are_in_the_order_of_their_tags() -> None:
    """Lookups first."""
    tags = [tag["name"] for tag in DOCUMENT["tags"]]
    assert tags[:5] == ["lookups", "status", "dead letters", "builds", "verifications"]
    of_calls = [tags.index(tag) for _, call in calls() for tag in call["tags"]]
    assert of_calls == sorted(of_calls)
    assert set(of_calls) == set(range(len(tags)))


def test_what_is_one_of_some_values_has_a_type() -> None:
    """Generators make strings of an enumeration only when it says so."""
    chosen = [schema for schema in schemas_in(DOCUMENT) if isinstance(schema.get("enum"), list) or "const" in schema]
    assert len(chosen) > 10
    assert [schema for schema in chosen if "type" not in schema] == []


def test_an_object_of_which_nothing_is_said_may_have_anything() -> None:
    """Generators take it for an empty one otherwise."""
    objects = [schema for schema in schemas_in(DOCUMENT) if schema.get("type") == "object"]
    empty = [each for each in objects if not each.get("properties") and "maxProperties" not in each]
    assert empty
    assert [schema for schema in empty if "additionalProperties" not in schema] == []


@pytest.mark.parametrize("call", ["entries", "count", "explain"])
def test_an_example_fits_its_parameter(call: str) -> None:
    """Its type and format; of a hot part it is a value that the definition names."""
    parameters = DOCUMENT["paths"][f"/api/indexes/by-town/{call}"]["get"]["parameters"]
    described = [each.get("content", {}).get("application/json", each) for each in parameters]
    examples = [(each["example"], each["schema"]) for each in described if "example" in each]
    assert len(examples) > 10
    wrong = [
        each for each in examples if not jsonschema_rs.validator_for(each[1], validate_formats=True).is_valid(each[0])
    ]
    assert wrong == []
    assert examples[0][0] == "Redmond"
