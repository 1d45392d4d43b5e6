"""Requests to items and containers as other clients send them, and what the service answers to the letter."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.cosmos.wire import PARTITION_KEY

if TYPE_CHECKING:
    from collections.abc import Callable

    from azure.cosmos import ContainerProxy

    from tests.contract.cosmos.wire import Wire

KEY = {PARTITION_KEY: '["p"]'}
BATCH = {"x-ms-cosmos-is-batch-request": "True", "x-ms-cosmos-batch-ordered": "True", **KEY}
# The beginning of a batch from .NET: the header of a HybridRow, with its version and schema, and a first record.
HYBRID_ROW = bytes.fromhex("81ebf9ff7f0100000052000000a9c1b2f3")


def put(wire: Wire, item_id: str, body: bytes, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """A replace of one item."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return wire.send("PUT", f"{wire.container}/docs/{item_id}", body, {**KEY, **named})


def error_of(body: bytes) -> str:
    return str(json.loads(body)["message"])


def test_a_replace_may_give_an_item_another_id(wire: Wire, container: ContainerProxy) -> None:
    """It stays the same item, with its resource id and one version more; the old id is free."""
    old = container.create_item({"id": "a", "pk": "p", "n": 1})
    status, _, body = put(wire, "a", b'{"id": "b", "pk": "p", "n": 2}')
    new = json.loads(body)
    assert (status, new["id"], new["_rid"]) == (200, "b", old["_rid"])
    assert [each["id"] for each in container.read_all_items()] == ["b"]
    assert [each["id"] for each in container.query_items_change_feed(start_time="Beginning")] == ["b"]
    container.create_item({"id": "a", "pk": "p"})


def test_a_replace_does_not_take_the_id_of_another_item(wire: Wire, container: ContainerProxy) -> None:
    """409, and both items stay as they were."""
    for name in ("a", "b"):
        container.create_item({"id": name, "pk": "p", "n": 1})
    assert put(wire, "a", b'{"id": "b", "pk": "p", "n": 2}')[0] == 409
    assert [each["n"] for each in container.read_all_items()] == [1, 1]


def test_a_replace_with_another_id_keeps_its_conditions(wire: Wire, container: ContainerProxy) -> None:
    """412 with a stale ETag, 400 with another partition key, 404 without the item."""
    container.create_item({"id": "a", "pk": "p"})
    assert put(wire, "a", b'{"id": "b", "pk": "p"}', if_match='"stale"')[0] == 412
    assert put(wire, "a", b'{"id": "b", "pk": "q"}')[0] == 400
    assert put(wire, "none", b'{"id": "b", "pk": "p"}')[0] == 404


def test_an_upsert_with_a_condition_creates_what_is_missing(wire: Wire, container: ContainerProxy) -> None:
    """If-Match speaks of the version that is there; once there is one, it counts."""
    headers = {**KEY, "x-ms-documentdb-is-upsert": "True", "if-match": '"stale"'}
    for status in (201, 412):
        assert wire.send("POST", f"{wire.container}/docs", b'{"id": "a", "pk": "p"}', headers)[0] == status


@pytest.mark.parametrize("body", [b'{"id": "a", "pk": "p", "ttl": null}', b'{"id": "a", "pk": "p", "ttl": 0}'])
def test_a_time_to_live_is_a_number_of_seconds(wire: Wire, body: bytes) -> None:
    """To have none, it is left out."""
    status, _, answered = wire.send("POST", f"{wire.container}/docs", body, KEY)
    assert (status, error_of(answered)) == (400, '"ttl" must be -1 or a positive number of seconds.')


def spec(*paths: Any, **settings: Any) -> dict[str, Any]:
    kind = "MultiHash" if len(paths) > 1 else "Hash"
    return {"id": "x", "partitionKey": {"paths": list(paths), "kind": kind, "version": 2}, **settings}


@pytest.mark.parametrize(
    ("container_spec", "message"),
    [
        (spec("/pk", defaultTtl=None), "defaultTtl must be -1 or a positive number of seconds: leave it out for none."),
        (spec("/"), "path '/' could not be accepted"),
        (spec("/pk/"), "path '/pk/' could not be accepted"),
        (spec("//pk"), "path '//pk' could not be accepted"),
        (spec("/pk/*"), "path '/pk/*' could not be accepted"),
        (spec("/pk/?"), "path '/pk/?' could not be accepted"),
        (spec("/list/[]/pk"), "path '/list/[]/pk' could not be accepted"),
        (spec("/pk ey"), "path '/pk ey' could not be accepted. Partition key paths must contain only valid characters"),
        (spec("/pk-ey"), "path '/pk-ey' could not be accepted"),
        (spec("/a", "pk"), "path 'pk' could not be accepted"),
        (spec('/"pk'), "path '/\"pk' could not be accepted"),
        (spec("/pk", "/pk"), "partitionKey.paths has one path twice."),
    ],
)
def test_bad_settings_of_a_container_are_refused_in_words(
    wire: Wire, container_spec: dict[str, Any], message: str
) -> None:
    """400, naming the setting."""
    body = json.dumps(container_spec).encode()
    status, _, answered = wire.send("POST", wire.container.rpartition("/")[0], body)
    assert status == 400
    assert message in error_of(answered)


@pytest.mark.parametrize(
    ("path", "step"), [('"town\'s/villages*"', "town's/villages*"), ("'le/vel\" 1*()'", 'le/vel" 1*()')]
)
def test_a_step_of_a_partition_key_path_may_be_quoted(
    new_container: Callable[..., ContainerProxy], path: str, step: str
) -> None:
    """With either quote, and anything else in it, also a slash."""
    container = new_container(f"/place/{path}")
    container.create_item({"id": "a", "place": {step: "Ulm"}})
    assert container.read_item("a", "Ulm")["id"] == "a"


@pytest.mark.parametrize("header", ["return=minimal", "Return=Minimal", "respond-async, return=minimal"])
def test_a_write_answers_without_the_document_when_asked_to(wire: Wire, header: str) -> None:
    """Alone and in a batch; a read in the batch keeps its document."""
    prefer = {"prefer": header}
    created = wire.send("POST", f"{wire.container}/docs", b'{"id": "a", "pk": "p"}', {**KEY, **prefer})
    assert (created[0], created[2]) == (201, b"")
    assert created[1]["etag"]
    operations = [
        {"operationType": "Upsert", "resourceBody": {"id": "a", "pk": "p"}},
        {"operationType": "Read", "id": "a"},
    ]
    for atomic in ("True", "False"):
        headers = {**BATCH, **prefer, "x-ms-cosmos-batch-atomic": atomic}
        _, _, body = wire.send("POST", f"{wire.container}/docs", json.dumps(operations).encode(), headers)
        assert ["resourceBody" in each for each in json.loads(body)] == [False, True]


@pytest.mark.parametrize(("goes_on", "expected"), [("False", [201, 409, 424, 424]), ("True", [201, 409, 200, 201])])
def test_a_bulk_request_stops_at_the_first_failure_when_told_to(wire: Wire, goes_on: str, expected: list[int]) -> None:
    """What was done before stays done."""
    create = {"operationType": "Create", "resourceBody": {"id": "a", "pk": "p"}}
    other = {"operationType": "Create", "resourceBody": {"id": "b", "pk": "p"}}
    operations = [create, create, {"operationType": "Read", "id": "a"}, other]
    headers = {**BATCH, "x-ms-cosmos-batch-atomic": "False", "x-ms-cosmos-batch-continue-on-error": goes_on}
    status, _, body = wire.send("POST", f"{wire.container}/docs", json.dumps(operations).encode(), headers)
    assert status == 207
    assert [each["statusCode"] for each in json.loads(body)] == expected


@pytest.mark.parametrize("item_id", [5, {"a": 1}, ["b"], True])
def test_an_operation_of_a_batch_needs_text_for_an_id(wire: Wire, item_id: Any) -> None:
    """Anything else is refused before it is looked up."""
    replace = {"operationType": "Replace", "id": item_id, "resourceBody": {"id": "a", "pk": "p"}}
    headers = {**BATCH, "x-ms-cosmos-batch-atomic": "False"}
    _, _, body = wire.send("POST", f"{wire.container}/docs", json.dumps([replace]).encode(), headers)
    assert json.loads(body)[0]["statusCode"] == 400


def test_a_batch_of_dotnet_is_refused_in_words(wire: Wire) -> None:
    """Its binary form is not read here."""
    status, _, body = wire.send("POST", f"{wire.container}/docs", HYBRID_ROW, BATCH)
    assert status == 400
    assert "not as HybridRow" in error_of(body)


@pytest.mark.parametrize(
    ("method", "path", "signed", "message"),
    [
        (
            "GET",
            "//addresses/",
            ("docs", "AAAAAQ==".lower()),
            "has no direct mode: let the client connect in gateway mode",
        ),
        ("POST", "{container}/operations/partitionkeydelete", ("colls", ""), "does not delete by partition key"),
    ],
)
def test_what_is_missing_says_so_and_not_that_the_key_is_wrong(
    wire: Wire, method: str, path: str, signed: tuple[str, str], message: str
) -> None:
    """Such requests are signed in ways of their own."""
    status, _, body = wire.send_signed(method, path.format(container=wire.container), signed, b"", KEY)
    assert status == 400
    assert message in error_of(body)


@pytest.mark.parametrize("path", ["a%3Fb", "a?b"])
def test_an_id_may_have_a_question_mark(wire: Wire, path: str) -> None:
    """Escaped as Java and .NET send it, and as it is, as JavaScript does. (Python's SDK refuses it by itself.)"""
    assert wire.post(b'{"id": "a?b", "pk": "p"}') == 201
    link = f"{wire.container}/docs/a?b".strip("/")
    status, _, body = wire.send_raw("GET", f"{wire.container}/docs/{path}", ("docs", link), b"", KEY)
    assert status == 200, body
    assert json.loads(body)["id"] == "a?b"


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ({"x-ms-continuation": "junk"}, "Invalid Continuation Token"),
        (
            {"a-im": "Full-Fidelity Feed", "x-ms-documentdb-partitionkeyrangeid": "0"},
            "You must read the change feed from within the retention period.",
        ),
    ],
)
def test_a_refusal_has_the_words_that_clients_look_for(wire: Wire, headers: dict[str, str], words: str) -> None:
    """The tests of @azure/cosmos do."""
    status, _, body = wire.send("GET", f"{wire.container}/docs", b"", headers)
    assert status == 400
    assert words in error_of(body)
