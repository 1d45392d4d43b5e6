"""The server as a process: its ready line, its data across kills, its end, its switches."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from azure.core.exceptions import AzureError
from azure.cosmos import CosmosClient, PartitionKey, exceptions

from local.process import ports
from local.process.errors import LocalRunError
from local.run.provision import provision_cosmos
from shared.definitions.model import CosmosContainer, Definitions, Source
from tests.contract.cosmos.server import STOP_SECONDS, LocalCosmos
from tests.support import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from azure.cosmos import ContainerProxy


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[LocalCosmos]:
    """A server that this test may kill."""
    server = LocalCosmos(tmp_path).start()
    yield server
    server.kill()


def facts(server: LocalCosmos) -> ContainerProxy:
    client = CosmosClient(server.endpoint, server.key)
    database = client.create_database_if_not_exists("shop")
    return database.create_container_if_not_exists("facts", PartitionKey("/pk"))


def changes_since(container: ContainerProxy, token: str | None) -> tuple[list[str], str]:
    start: dict[str, Any] = {"continuation": token} if token else {"start_time": "Beginning"}
    pages: Any = container.query_items_change_feed(**start).by_page()
    ids = [change["id"] for page in pages for change in page]
    return ids, pages.continuation_token or container.client_connection.last_response_headers["etag"]


def test_the_ready_line_names_the_endpoint(own_server: LocalCosmos) -> None:
    """One line on standard output, once requests are answered."""
    assert own_server.ready_line == f"cosmos ready on {own_server.endpoint}\n"


def test_it_listens_on_loopback_only(own_server: LocalCosmos) -> None:
    """Nobody else on the network reaches it."""
    others = {address[4][0] for address in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for host in others - {"127.0.0.1"}:
        with socket.socket() as probe:
            probe.settimeout(0.5)
            assert probe.connect_ex((str(host), own_server.port)) != 0


def test_a_killed_server_loses_no_acknowledged_write(own_server: LocalCosmos) -> None:
    """Killed between writes, several times: every write and continuation survives, nothing comes twice."""
    container = facts(own_server)
    rid = container.read()["_rid"]
    token: str | None = None
    seen: list[str] = []
    written: list[str] = []
    for round_number in range(3):
        documents = ({"id": f"{round_number}-{i}", "pk": f"p{i}"} for i in range(40))
        written += [container.create_item(document)["id"] for document in documents]
        if round_number == 1:
            own_server.order(kind="split", container="dbs/shop/colls/facts", range="0")
        ids, token = changes_since(container, token)
        seen += ids
        written.append(container.create_item({"id": f"late-{round_number}", "pk": "p"})["id"])
        own_server.kill()
        own_server.start()
        container = facts(own_server)
    ids, token = changes_since(container, token)
    assert sorted(seen + ids) == sorted(written)
    assert container.read()["_rid"] == rid


def _has(acknowledged: list[str], enough: int) -> bool:
    return len(acknowledged) >= enough


def test_a_kill_under_load_loses_no_acknowledged_write(own_server: LocalCosmos) -> None:
    """Four writers write while the server is killed twice: what was acknowledged is in the feed, each item once."""
    container = facts(own_server)
    acknowledged: list[str] = []

    def write(writer: int) -> None:
        for i in range(100):
            with contextlib.suppress(AzureError):
                acknowledged.append(container.upsert_item({"id": f"{writer}-{i}", "pk": f"p{i}"})["id"])

    writers = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in writers:
        thread.start()
    for enough in (50, 200):
        wait_until(partial(_has, acknowledged, enough), f"{enough} writes are acknowledged")
        own_server.kill()
        own_server.start()
    for thread in writers:
        thread.join()
    ids, _ = changes_since(facts(own_server), None)
    assert len(ids) == len(set(ids))
    assert set(acknowledged) <= set(ids)
    assert len(acknowledged) > 200


@pytest.mark.parametrize("way", ["terminate", "end of standard input"])
def test_it_ends_cleanly(tmp_path: Path, way: str) -> None:
    """SIGTERM, or the end of the supervisor's pipe, ends it with exit code 0."""
    server = LocalCosmos(tmp_path).start()
    assert server.process is not None
    if way == "terminate":
        server.process.terminate()
    assert server.process.stdin is not None
    server.process.communicate(timeout=STOP_SECONDS)
    assert server.process.returncode == 0


def test_a_folder_serves_one_server(own_server: LocalCosmos) -> None:
    """A second server on the folder says so and ends with 1."""
    (port,) = ports.any_free(1)
    command = [sys.executable, "-m", "local", "cosmos", "--port", str(port), "--data", str(own_server.folder)]
    second = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert second.returncode == 1
    assert "stop the other server" in second.stderr


def test_a_folder_that_is_none_is_named(tmp_path: Path) -> None:
    """In one sentence, without a traceback."""
    file = tmp_path / "file"
    file.write_text("")
    command = [sys.executable, "-m", "local", "cosmos", "--data", str(file)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=STOP_SECONDS, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"error: {file / 'cosmos.db'} cannot be opened")
    assert "Traceback" not in ended.stderr


async def test_a_name_that_it_refuses_ends_a_run_with_its_reason(own_server: LocalCosmos) -> None:
    """The definitions are checked before; if they were not, the message still names the source."""
    source = Source("customers", cosmos=CosmosContainer("d" * 300, "c"), partition_key=("k",))
    with pytest.raises(LocalRunError, match=r"source customers cannot be created: \(BadRequest\)"):
        await provision_cosmos(own_server.endpoint, own_server.key, Definitions({"customers": source}))


def test_a_taken_port_is_named(own_server: LocalCosmos, tmp_path: Path) -> None:
    """The message says which port, and what to do."""
    command = [
        sys.executable,
        "-m",
        "local",
        "cosmos",
        "--port",
        str(own_server.port),
        "--data",
        str(tmp_path / "x"),
    ]
    second = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert second.returncode == 1
    assert f"Port {own_server.port} is taken" in second.stderr


def test_a_wrong_key_is_unauthorized(own_server: LocalCosmos) -> None:
    """The account does not even say hello."""
    wrong = "d3Jvbmc=" + own_server.key[8:]
    with pytest.raises(exceptions.CosmosHttpResponseError) as refusal:
        CosmosClient(own_server.endpoint, wrong)
    assert refusal.value.status_code == 401


@pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning")
def test_https_works_with_a_self_signed_certificate(tmp_path: Path) -> None:
    """The SDK checks no certificate on loopback."""
    server = LocalCosmos(tmp_path, ("--https",)).start()
    try:
        container = facts(server)
        container.create_item({"id": "a", "pk": "p"})
        assert changes_since(container, None)[0] == ["a"]
    finally:
        assert server.stop() == 0


def test_previous_images_are_a_switch(tmp_path: Path) -> None:
    """With it, a change shows what was before."""
    server = LocalCosmos(tmp_path, ("--previous-images", "--partitions", "1")).start()
    try:
        container = facts(server)
        list(container.query_items_change_feed(mode="AllVersionsAndDeletes"))
        token = container.client_connection.last_response_headers["etag"]
        container.create_item({"id": "a", "pk": "p", "n": 1})
        container.delete_item("a", "p")
        changes = list(container.query_items_change_feed(mode="AllVersionsAndDeletes", continuation=token))
        assert "previous" not in changes[0]
        assert changes[1]["previous"]["n"] == 1
    finally:
        server.stop()
