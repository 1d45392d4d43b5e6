"""Ordered queries as .NET asks for them, range by range: query plan, `resumeFilter`, resource ids, answers in order."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest
from azure.cosmos import exceptions

from tests.contract.cosmos.wire import PARTITION_KEY

if TYPE_CHECKING:
    from collections.abc import Callable

    from azure.cosmos import ContainerProxy

    from tests.contract.cosmos.wire import Wire

RANGES = ("0", "1", "2")
PLAN = {
    "content-type": "application/query+json",
    "x-ms-cosmos-is-query-plan-request": "True",
    "x-ms-cosmos-supported-query-features": "Aggregate, OrderBy, MultipleOrderBy, OffsetAndLimit, Top",
}


@pytest.fixture
def towns(container: ContainerProxy) -> ContainerProxy:
    """Forty documents, more than a range shows with one hexadecimal digit; four have no town."""
    for i in range(40):
        document = {"id": f"{i:02}", "pk": f"p{i}", "n": i}
        container.create_item(document if i % 10 == 0 else {**document, "town": "ABC"[i % 3]})
    return container


def planned(wire: Wire, query: str) -> str:
    """The query that the plan gives to each range, with nothing to resume."""
    status, _, body = wire.send("POST", f"{wire.container}/docs", json.dumps({"query": query}).encode(), PLAN)
    assert status == 200, body
    rewritten: str = json.loads(body)["queryInfo"]["rewrittenQuery"]
    return rewritten.replace("{documentdb-formattableorderbyquery-filter}", "true")


def ask(wire: Wire, range_id: str, spec: dict[str, Any], **headers: str) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """What one range answers."""
    named = {
        "content-type": "application/query+json",
        "x-ms-documentdb-isquery": "True",
        "x-ms-documentdb-partitionkeyrangeid": range_id,
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    status, answered, body = wire.send("POST", f"{wire.container}/docs", json.dumps(spec).encode(), named)
    assert status == 200, body
    return json.loads(body)["Documents"], answered


def document_number(rid: str) -> int:
    """What .NET reads from the rid of an item, and compares."""
    raw = base64.b64decode(rid.replace("-", "/"))
    assert len(raw) == 16
    assert raw[15] >> 4 == 0, "this is not the rid of an item"
    return int.from_bytes(raw[8:], "little")


def resume_value(result: dict[str, Any]) -> Any:
    """The value of a result as .NET spells it in `resumeFilter`."""
    return result["orderByItems"][0].get("item", [])


@pytest.mark.parametrize("direction", ["ASC", "DESC"])
def test_a_range_resumes_behind_any_result(wire: Wire, towns: ContainerProxy, direction: str) -> None:
    """With the place of the last result, that result and all behind it; the client skips the first."""
    query = planned(wire, f"SELECT c.id FROM c ORDER BY c.town {direction}")
    for range_id in RANGES:
        whole, _ = ask(wire, range_id, {"query": query})
        for place, last in enumerate(whole):
            resumed = {"value": [resume_value(last)], "rid": last["_rid"], "exclude": False}
            found, _ = ask(wire, range_id, {"query": query, "resumeFilter": resumed})
            assert found == whole[place:]


@pytest.mark.parametrize(("excludes", "expected"), [(True, {"B", "C"}), (False, {"A", "B", "C"})])
def test_a_range_without_a_place_resumes_at_the_value(
    wire: Wire, towns: ContainerProxy, excludes: bool, expected: set[str]
) -> None:
    """Ranges before the one that answered last have shown all with this value; ranges after it none."""
    query = planned(wire, "SELECT c.town FROM c ORDER BY c.town")
    found, _ = ask(wire, "0", {"query": query, "resumeFilter": {"value": ["A"], "exclude": excludes}})
    assert {each["payload"]["town"] for each in found} == expected


def test_a_continuation_and_a_resume_filter_go_together(wire: Wire, towns: ContainerProxy) -> None:
    """The one that is further on counts."""
    query = planned(wire, "SELECT c.id FROM c ORDER BY c.n")
    whole, _ = ask(wire, "0", {"query": query})
    _, headers = ask(wire, "0", {"query": query}, x_ms_max_item_count="2")
    for place, expected in ((0, whole[2:]), (4, whole[4:])):
        resumed = {"value": [resume_value(whole[place])], "rid": whole[place]["_rid"], "exclude": False}
        spec = {"query": query, "resumeFilter": resumed}
        assert ask(wire, "0", spec, x_ms_continuation=headers["x-ms-continuation"])[0] == expected


@pytest.mark.parametrize("direction", ["ASC", "DESC"])
def test_equal_values_come_in_the_order_of_resource_ids(wire: Wire, towns: ContainerProxy, direction: str) -> None:
    """Or in the opposite order: the answer says which, for that is how .NET finds its place again."""
    query = planned(wire, f"SELECT c.id FROM c ORDER BY c.town {direction}")
    for range_id in RANGES:
        found, headers = ask(wire, range_id, {"query": query})
        told = json.loads(headers["x-ms-cosmos-query-execution-info"])
        assert told == {"reverseRidEnabled": False, "reverseIndexScan": direction == "DESC"}
        values: list[Any] = ["A", "B", "C", []]
        for value in values:
            numbers = [document_number(each["_rid"]) for each in found if resume_value(each) == value]
            assert numbers == sorted(numbers, reverse=direction == "DESC")


def test_a_continuation_outlives_another_resume_condition(wire: Wire, towns: ContainerProxy) -> None:
    """JavaScript puts a condition of its own into the query when it resumes."""
    query = planned(wire, "SELECT c.id FROM c ORDER BY c.n")
    whole, _ = ask(wire, "1", {"query": query})
    _, headers = ask(wire, "1", {"query": query}, x_ms_max_item_count="2")
    narrowed = query.replace("(true)", "(c.n >= 0)")
    found, _ = ask(wire, "1", {"query": narrowed}, x_ms_continuation=headers["x-ms-continuation"])
    assert found == whole[2:]


@pytest.mark.parametrize(
    "resumed",
    [
        5,
        {},
        {"value": []},
        {"value": [1, 2]},
        {"value": [1], "rid": 5},
        {"value": [1], "rid": "AAAA"},
        {"value": [1], "exclude": "yes"},
        {"value": [{"type": "array", "low": 1, "high": 2}]},
    ],
)
def test_a_bad_resume_filter_is_a_bad_request(wire: Wire, resumed: Any) -> None:
    """Also one for arrays and objects, which only the service can compare."""
    spec = {"query": "SELECT * FROM c ORDER BY c.n", "resumeFilter": resumed}
    assert (
        wire.post(json.dumps(spec).encode(), x_ms_documentdb_isquery="True", x_ms_documentdb_partitionkeyrangeid="0")
        == 400
    )


def test_results_without_an_order_come_as_they_were_created(wire: Wire, towns: ContainerProxy) -> None:
    """Range by range, also when they were written again since."""
    towns.upsert_item({"id": "00", "pk": "p0", "n": 0})
    for range_id in RANGES:
        numbers: list[Any] = ask(wire, range_id, {"query": "SELECT VALUE c.n FROM c"})[0]
        assert numbers == sorted(numbers)
    key = {PARTITION_KEY: '["one"]'}
    for name in ("z", "b", "a"):
        wire.send("POST", f"{wire.container}/docs", json.dumps({"id": name, "pk": "one"}).encode(), key)
    _, _, body = wire.send("GET", f"{wire.container}/docs", b"", key)
    assert [each["id"] for each in json.loads(body)["Documents"]] == ["z", "b", "a"]


def test_the_resource_id_of_a_range_says_that_it_is_one(wire: Wire) -> None:
    """Its kind, 5, is in the highest four bits of the last byte."""
    _, _, body = wire.send("GET", f"{wire.container}/pkranges")
    for each in json.loads(body)["PartitionKeyRanges"]:
        raw = base64.b64decode(each["_rid"].replace("-", "/"))
        assert raw[8:] == bytes([int(each["id"]), 0, 0, 0, 0, 0, 0, 0x50])


@pytest.mark.parametrize(
    "query",
    [
        "SELECT COUNT(1) FROM c",
        "SELECT COUNT(1) AS many, MAX(c.n) AS most FROM c",
        "SELECT VALUE {'many': COUNT(1), 'most': MAX(c.n)} FROM c",
        "SELECT VALUE COUNT(1) + 1 FROM c",
    ],
)
def test_aggregates_that_cannot_be_merged_are_refused_across_ranges(
    new_container: Callable[..., ContainerProxy], query: str
) -> None:
    """As in Azure, where only one logical or physical partition answers them."""
    container = new_container()
    container.create_item({"id": "a", "pk": "p", "n": 7})
    assert len(list(container.query_items(query, partition_key="p"))) == 1
    with pytest.raises(exceptions.CosmosHttpResponseError, match="only supports 'VALUE <AggregateFunc>'") as refusal:
        list(container.query_items(query, enable_cross_partition_query=True))
    assert refusal.value.status_code == 400


@pytest.mark.parametrize("step", ["[0]", ".a", "+1"])
def test_a_long_chain_is_a_bad_query(wire: Wire, step: str) -> None:
    """Refused in words, however long it is; a chain that people write is answered."""
    for count, expected in ((20, 200), (200, 400), (20_000, 400)):
        spec = {"query": f"SELECT VALUE c{step * count} FROM c"}
        named = {"x_ms_documentdb_isquery": "True", "x_ms_documentdb_query_enablecrosspartition": "True"}
        assert wire.post(json.dumps(spec).encode(), **named) == expected
