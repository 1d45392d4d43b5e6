"""Raw requests: bad ones get the documented status, resource ids work, and nothing brings the server down."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contract.cosmos.wire import PARTITION_KEY

if TYPE_CHECKING:
    from azure.cosmos import ContainerProxy

    from tests.contract.cosmos.wire import Wire


def deep(levels: int) -> Any:
    """Arrays in arrays."""
    return [] if levels == 0 else [deep(levels - 1)]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'"text"',
        b'{"id": 5, "pk": "p"}',
        b'{"id": "a/b", "pk": "p"}',
        b'{"id": "a#b", "pk": "p"}',
        b'{"pk": "p"}',
        b'{"id": "a", "pk": NaN}',
        b'{"id": "a", "pk": "\\ud800"}',
        b'{"id": "a", "pk": ' + b"[" * 2000 + b"]" * 2000 + b"}",
    ],
)
def test_a_bad_document_is_a_bad_request(wire: Wire, body: bytes) -> None:
    """400, whatever is wrong with it."""
    assert wire.post(body) == 400


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({PARTITION_KEY: "not json"}, 400),
        ({PARTITION_KEY: "[]"}, 400),
        ({PARTITION_KEY: '["p", "q"]'}, 400),
        ({PARTITION_KEY: '[{"a": 1}]'}, 400),
        ({PARTITION_KEY: '["other"]'}, 400),
        ({"x-ms-documentdb-pre-trigger-include": "t"}, 400),
        ({"x-ms-cosmos-intended-collection-rid": "AAAAAQ=="}, 400),
    ],
)
def test_bad_headers_of_a_write_are_bad_requests(wire: Wire, headers: dict[str, str], status: int) -> None:
    """And nothing is stored."""
    assert wire.send("POST", f"{wire.container}/docs", b'{"id": "a", "pk": "p"}', headers)[0] == status
    assert json.loads(wire.send("GET", f"{wire.container}/docs")[2])["_count"] == 0


@pytest.mark.parametrize(
    ("headers", "status", "substatus"),
    [
        ({"x-ms-documentdb-partitionkeyrangeid": "77"}, 410, "1002"),
        ({"x-ms-documentdb-partitionkeyrangeid": "zero"}, 400, "0"),
        ({"x-ms-documentdb-partitionkeyrangeid": "0", "if-none-match": '"nonsense"'}, 400, "0"),
        ({"x-ms-documentdb-partitionkeyrangeid": "0", "if-modified-since": "yesterday"}, 400, "0"),
        ({"x-ms-documentdb-partitionkeyrangeid": "0", "x-ms-max-item-count": "many"}, 400, "0"),
        ({}, 400, "0"),
    ],
)
def test_bad_feed_requests_have_their_status(wire: Wire, headers: dict[str, str], status: int, substatus: str) -> None:
    """A dead range is gone with sub-status 1002; what cannot be read is a bad request."""
    found, answered, _ = wire.send("GET", f"{wire.container}/docs", b"", {"a-im": "Incremental Feed", **headers})
    assert (found, answered["x-ms-substatus"]) == (status, substatus)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/dbs/none", 404),
        ("GET", "/dbs/none/colls/none/docs", 404),
        ("GET", "/dbs/a/b/c/d/e/f/g", 404),
        ("POST", "/dbs/none/colls", 404),
        ("PUT", "/dbs", 405),
        ("DELETE", "{container}/docs", 405),
        ("POST", "{container}/docs/a", 405),
        ("GET", "{container}/docs/a", 400),
        ("POST", "{container}/sprocs", 400),
        ("GET", "{container}/udfs", 200),
        ("GET", "/offers", 200),
    ],
)
def test_every_path_has_an_answer(wire: Wire, method: str, path: str, status: int) -> None:
    """Unknown paths are 404, wrong verbs 405, what is missing here is empty or refused."""
    headers = {PARTITION_KEY: '["p"]'} if method == "POST" and path.endswith("/a") else None
    found, _, body = wire.send(method, path.format(container=wire.container), b"{}", headers)
    assert found == status, body


@pytest.mark.parametrize(
    "spec",
    [
        {"id": "x"},
        {"id": "x", "partitionKey": {"paths": []}},
        {"id": "x", "partitionKey": {"paths": ["pk"]}},
        {"id": "x", "partitionKey": {"paths": ["/a", "/b"], "kind": "Hash"}},
        {"id": "x", "partitionKey": {"paths": ["/a"], "version": 1}},
        {"id": "x", "partitionKey": {"paths": ["/a"]}, "defaultTtl": 0},
        {
            "id": "x",
            "partitionKey": {"paths": ["/a"]},
            "uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/u"]}]},
        },
        {"id": "x/y", "partitionKey": {"paths": ["/a"]}},
        {"partitionKey": {"paths": ["/a"]}},
    ],
)
def test_a_container_that_could_not_be_honoured_is_refused(wire: Wire, spec: dict[str, Any]) -> None:
    """A setting that is ignored locally would surprise in Azure: 400 instead."""
    assert wire.send("POST", f"{wire.container.rpartition('/')[0]}", json.dumps(spec).encode())[0] == 400


@pytest.mark.parametrize(
    "spec",
    [
        {"query": 5},
        {"query": "SELECT * FROM c", "parameters": 5},
        {"query": "SELECT * FROM c", "parameters": ["@x"]},
        {"query": "SELECT VALUE @x FROM c", "parameters": [{"name": "@x", "value": deep(400)}]},
    ],
)
def test_a_bad_query_is_a_bad_request(wire: Wire, spec: Any) -> None:
    """Whatever the SDKs would never send."""
    assert wire.post(json.dumps(spec).encode(), x_ms_documentdb_isquery="true") == 400


def test_numbers_beyond_all_measure_are_bad_requests(wire: Wire) -> None:
    """Python refuses to read thousands of digits; the server does not fall over it."""
    many = "9" * 5000
    headers = {"a-im": "Incremental Feed", "x-ms-documentdb-partitionkeyrangeid": many}
    assert wire.send("GET", f"{wire.container}/docs", b"", headers)[0] == 400
    key = {PARTITION_KEY: '["p"]'}
    assert wire.post(b'{"id": "a", "pk": "p", "list": [1]}') == 201
    patch = json.dumps({"operations": [{"op": "remove", "path": f"/list/{many}"}]}).encode()
    assert wire.send("PATCH", f"{wire.container}/docs/a", patch, key)[0] == 400


def test_resources_are_reached_by_resource_id(wire: Wire, container: ContainerProxy) -> None:
    """The .NET SDK reads ranges by rid and signs the lower-cased rid alone."""
    link = container.read()["_self"].strip("/")
    signed = ("pkranges", link.rpartition("/")[2].lower())
    status, headers, body = wire.send_signed("GET", f"/{link}/pkranges", signed)
    assert (status, json.loads(body)["_count"]) == (200, 3)
    headers = {"if-none-match": headers["etag"]}
    assert wire.send_signed("GET", f"/{link}/pkranges", signed, b"", headers)[0] == 304
    assert wire.send_signed("GET", f"/{link}", ("colls", signed[1]))[0] == 200


def test_every_answer_has_a_charge_and_an_activity(wire: Wire) -> None:
    """Clients log both."""
    for method, path in (("GET", "/"), ("GET", f"{wire.container}/docs"), ("GET", "/nothing")):
        _, headers, _ = wire.send(method, path)
        assert float(headers["x-ms-request-charge"]) > 0
        assert headers["x-ms-activity-id"]


@pytest.mark.parametrize("authorization", ["", "nonsense", "type=master&ver=1.0&sig=", "type%3daad%26sig%3dx", "é"])
def test_a_bad_signature_is_unauthorized(wire: Wire, authorization: str) -> None:
    """401, also when it is no signature at all."""
    headers = {"authorization": authorization.encode().decode("latin-1")}
    assert wire.send("GET", f"{wire.container}/docs", b"", headers)[0] == 401


def test_a_signature_may_end_with_any_characters(wire: Wire) -> None:
    """The one of this date ends with `sig=`, as one in 65,536 does."""
    date = "Wed, 15 Nov 2023 18:31:45 GMT"
    authorization = wire.sign("GET", "dbs", "", date)
    assert authorization.endswith("sig%3D")
    headers = {"x-ms-date": date, "authorization": authorization}
    assert wire.send("GET", "/dbs", b"", headers)[0] == 200


NAMES = st.sampled_from(
    [
        *("if-match", "if-none-match", "a-im", "if-modified-since", "prefer", "content-type", PARTITION_KEY),
        *("x-ms-documentdb-partitionkeyrangeid", "x-ms-start-epk", "x-ms-end-epk", "x-ms-max-item-count"),
        *("x-ms-continuation", "x-ms-documentdb-isquery", "x-ms-cosmos-is-query-plan-request"),
        *("x-ms-cosmos-is-batch-request", "x-ms-cosmos-batch-atomic", "x-ms-documentdb-is-upsert"),
        "x-ms-documentdb-query-enablecrosspartition",
    ]
)
HEADER_VALUES = st.one_of(
    st.sampled_from(["True", "true", "*", '"1"', "0", "-1", '["p"]', "[1]", "[{}]", "application/query+json", "FF"]),
    st.sampled_from(["Incremental Feed", "Full-Fidelity Feed", "Tue, 01 Jan 2030 00:00:00 GMT", "return=minimal"]),
    st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=30),
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["id", "pk", "query", "parameters", "operations", "operationType", "resourceBody"])
            | st.sampled_from(["name", "value", "op", "path", "partitionKey", "paths", "ttl", "condition"]),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)
BODIES = st.one_of(st.binary(max_size=40), JSON.map(lambda value: json.dumps(value).encode()))
ENDINGS = st.sampled_from(["", "/docs", "/docs/a", "/docs/%", "/pkranges", "/sprocs", "/x/y", "/docs/a/b"])


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    method=st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]),
    ending=ENDINGS,
    headers=st.dictionaries(NAMES, HEADER_VALUES, max_size=5),
    body=BODIES,
)
def test_no_request_brings_the_server_down(
    wire: Wire, method: str, ending: str, headers: dict[str, str], body: bytes
) -> None:
    """Any verb, path, headers and body get an answer below 500, and the next request is answered too."""
    if method == "DELETE" and ending == "":
        return  # the container is needed for the next example
    status, _, answered = wire.send(method, f"{wire.container}{ending}", body, headers)
    assert status < 500, answered
    assert wire.send("GET", "/")[0] == 200
