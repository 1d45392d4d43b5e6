"""Faults on command: the SDK lives through throttling and lost connections, and refusals reach it."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest
from azure.cosmos import exceptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from azure.cosmos import ContainerProxy

    from tests.contract.cosmos.server import LocalCosmos


@pytest.fixture(autouse=True)
def no_fault_is_left(local_cosmos: LocalCosmos) -> Iterator[None]:
    """Orders of one test must not befall the next."""
    yield
    request = urllib.request.Request(f"{local_cosmos.endpoint}/_faults", method="DELETE")
    urllib.request.urlopen(request, timeout=10).close()


def open_faults(server: LocalCosmos) -> list[dict[str, Any]]:
    with urllib.request.urlopen(f"{server.endpoint}/_faults", timeout=10) as answer:
        found: list[dict[str, Any]] = json.load(answer)["faults"]
        return found


def test_throttled_requests_are_tried_again(container: ContainerProxy, local_cosmos: LocalCosmos) -> None:
    """429 with a waiting time: the SDK waits and succeeds."""
    local_cosmos.order(kind="throttle", times=3, retryAfterMs=5, method="POST", path="/docs")
    container.create_item({"id": "a", "pk": "p"})
    assert open_faults(local_cosmos) == []
    assert container.read_item("a", "p")["id"] == "a"


def test_endless_throttling_reaches_the_caller(container: ContainerProxy, local_cosmos: LocalCosmos) -> None:
    """After its own limit the SDK gives the 429 to the caller."""
    local_cosmos.order(kind="throttle", times=100, retryAfterMs=1, path="/docs")
    with pytest.raises(exceptions.CosmosHttpResponseError) as refusal:
        container.create_item({"id": "a", "pk": "p"})
    assert refusal.value.status_code == 429


def test_a_refusal_has_the_ordered_status(container: ContainerProxy, local_cosmos: LocalCosmos) -> None:
    """The next request that fits is refused; others are not."""
    local_cosmos.order(kind="refuse", times=1, status=403, substatus=7, method="PUT")
    container.create_item({"id": "a", "pk": "p"})
    with pytest.raises(exceptions.CosmosHttpResponseError) as refusal:
        container.replace_item("a", {"id": "a", "pk": "p"})
    assert (refusal.value.status_code, refusal.value.sub_status) == (403, 7)
    assert container.replace_item("a", {"id": "a", "pk": "p", "n": 1})["n"] == 1


def test_a_dropped_connection_is_tried_again_for_reads(container: ContainerProxy, local_cosmos: LocalCosmos) -> None:
    """The SDK repeats a read whose connection breaks."""
    container.create_item({"id": "a", "pk": "p"})
    local_cosmos.order(kind="drop", times=1, method="GET", path="/docs/a")
    assert container.read_item("a", "p")["id"] == "a"


def test_a_lost_answer_hides_a_write_that_happened(container: ContainerProxy, local_cosmos: LocalCosmos) -> None:
    """The connection breaks after the write: the caller sees an error, the item is there."""
    local_cosmos.order(kind="drop-answer", times=20, method="POST", path="/docs")
    with pytest.raises(Exception, match=r"(?i)connection|aborted|closed"):
        container.create_item({"id": "a", "pk": "p"})
    assert container.read_item("a", "p")["id"] == "a"


def test_a_delay_delays(container: ContainerProxy, local_cosmos: LocalCosmos) -> None:
    """A reader with less patience than the delay gives up."""
    container.create_item({"id": "a", "pk": "p"})
    local_cosmos.order(kind="delay", times=1, delayMs=200, method="GET", path="/docs/a")
    assert container.read_item("a", "p")["id"] == "a"
    assert open_faults(local_cosmos) == []


@pytest.mark.parametrize(
    "order",
    [
        {"kind": "unknown"},
        {"kind": "throttle", "times": -1},
        {"kind": "throttle", "tiems": 1},
        {"kind": "drop", "path": 5},
        {"kind": "split", "container": "nonsense"},
    ],
)
def test_a_bad_order_is_refused(local_cosmos: LocalCosmos, order: dict[str, Any]) -> None:
    """400 says what an order looks like."""
    with pytest.raises(urllib.error.HTTPError) as refusal:
        local_cosmos.order(**order)
    assert refusal.value.code == 400
    refusal.value.close()
