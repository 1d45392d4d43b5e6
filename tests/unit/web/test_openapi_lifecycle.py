"""The OpenAPI document has the calls of operators as they are: what they take, and every member of what they answer."""

from __future__ import annotations

from typing import Any

import pytest

from functions.lifecycle import lifecycle
from functions.verifications import verifications
from shared.catalog.rows import CatalogGeneration, ServingRow, VerifiedMark
from shared.definitions.loading.load import load
from shared.lifecycle.index_state import IndexState
from shared.tasks.rows import Progress, Slice, Task
from shared.verification.report import DifferenceReport
from shared.verification.service import VerificationResult
from shared.verification.task import VerificationRequest
from shared.web.api import lifecycle as lifecycle_api
from shared.web.api import verifications as verification_api
from shared.web.openapi.document import openapi
from tests.worlds.lookup_facts import DEFINITIONS

DOCUMENT = openapi(DEFINITIONS)
INDEX = DEFINITIONS.indexes["customers-by-town"]
SOURCE = DEFINITIONS.sources[INDEX.source]
GENERATION = CatalogGeneration(
    "49f216b20bc1f206", INDEX.name, "table", "serving", INDEX, SOURCE, 1, 2, verified=VerifiedMark(3, 0), built_at=2
)
BUILD = Progress(Task("build-1", "build", {"budget": 5}, 1.0), (Slice("build-1", "a", "feed", counts={"facts": 2}),))
VERIFICATION = Task("verification-1", "verification", VerificationRequest(INDEX.name, GENERATION.id).plain(), 1.0)
ANSWERS = {
    "Generation": lifecycle_api.generation_json(GENERATION),
    "Standing": lifecycle_api.index_state_json(IndexState(INDEX.name, GENERATION, GENERATION, BUILD)),
    "Served": lifecycle_api.serving_json(ServingRow(INDEX.name, GENERATION.id, "b", 1.5)),
    "Verification": verification_api.verification_json(VerificationResult(VERIFICATION, DifferenceReport().plain())),
}


def check_members(answer: Any, schema: dict[str, Any], place: str) -> None:
    """Every object has the members of its schema: no more, no less."""
    for choice in schema.get("anyOf", ()):
        schema = schema if "$ref" not in choice else choice
    if "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if isinstance(answer, dict) and "properties" in schema:
        assert set(schema["required"]) <= answer.keys() <= schema["properties"].keys(), place
        # Only what an account that is down leaves behind, and what a hub tells, is not in every answer.
        assert schema["properties"].keys() - set(schema["required"]) <= {"owing", "events", "untold"}, place
        for name, member in answer.items():
            check_members(member, schema["properties"][name], f"{place}.{name}")


@pytest.mark.parametrize("name", ANSWERS)
def test_every_member_of_an_answer_is_in_its_schema(name: str) -> None:
    """Also inside of it."""
    check_members(ANSWERS[name], DOCUMENT["components"]["schemas"][name], name)


@pytest.mark.parametrize("blueprint", [lifecycle, verifications], ids=["lifecycle", "verifications"])
def test_every_route_of_operators_is_in_the_document(blueprint: Any) -> None:
    """With its method, and the admin key."""
    for builder in blueprint._function_builders:
        trigger = builder._function.get_trigger()
        for method in trigger.methods:
            call = DOCUMENT["paths"][f"/api/{trigger.route}"][method.value.lower()]
            assert call["security"] == [{"adminKey": []}]


@pytest.mark.parametrize(
    ("call", "members"),
    [
        ("builds", {"budget"}),
        ("switch", {"force"}),
        ("verifications", {"generation", "sample", "budget", "repair", "reconcile"}),
    ],
)
def test_what_a_body_may_have_is_in_the_document(call: str, members: set[str]) -> None:
    """And nothing else: a misspelled `force` is refused, not ignored."""
    body = DOCUMENT["paths"][f"/api/indexes/{{name}}/{call}"]["post"]["requestBody"]
    schema = body["content"]["application/json"]["schema"]
    assert (body["required"], schema["properties"].keys(), schema["additionalProperties"]) == (False, members, False)


def test_an_app_without_indexes_has_no_calls_about_one() -> None:
    """A parameter with no value to choose is no parameter."""
    paths = openapi(load("version: 1\nsources: {}\nindexes: {}").require())["paths"]
    assert [path for path in paths if "{name}" in path] == []
