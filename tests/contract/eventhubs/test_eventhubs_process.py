"""The process of the local Event Hubs: arguments, orphans, kill -9, fault switches over HTTP."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from local.emulators.eventhubs.amqp.performatives import Detach, Disposition, Flow, Transfer
from local.emulators.eventhubs.amqp.types import Symbol
from local.process import ports
from tests.contract.eventhubs.server import STOP_SECONDS, LocalEventHubs
from tests.contract.eventhubs.wire import WireClient, event

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

READER = "h/ConsumerGroups/$Default/Partitions/0"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LocalEventHubs]:
    server = LocalEventHubs(tmp_path, ["--hub", "h:1"]).start()
    yield server
    assert server.stop() in (0, -9)


def ended_by_itself(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A server that ends at once, with what it said; started as a package of its own, which is the same."""
    command = [sys.executable, "-m", "local", "eventhubs", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=STOP_SECONDS, check=False)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--hub", "h:0"], "write 1 to 1024 partitions"),
        (["--hub", "h:1", "--consumer-group", "x/y"], "--hub x:PARTITIONS"),
    ],
)
def test_wrong_arguments_are_one_sentence_and_exit_code_1(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    """Nothing is served, and the sentence says what to do."""
    port = str(ports.any_free(1)[0])
    ended = ended_by_itself("--data", str(tmp_path), "--port", port, *arguments)
    assert ended.returncode == 1
    assert ended.stderr.startswith("error: ")
    assert sentence in ended.stderr


@pytest.mark.parametrize(
    "arguments",
    [["--retention-hours", "0"], ["--retention-mib", "x"], ["--idle-timeout", "nan"], ["--admin-port", "0"]],
)
def test_wrong_usage_is_exit_code_2(tmp_path: Path, arguments: list[str]) -> None:
    """An argument that is no number of its kind is named."""
    ended = ended_by_itself("--data", str(tmp_path), "--hub", "h:1", *arguments)
    assert (ended.returncode, arguments[0] in ended.stderr) == (2, True)


def test_a_taken_port_is_named(server: LocalEventHubs, tmp_path: Path) -> None:
    """The sentence says which port, and how to choose another."""
    ended = ended_by_itself("--data", str(tmp_path / "b"), "--hub", "h:1", "--port", str(server.port))
    assert (ended.returncode, f"Port {server.port} is taken" in ended.stderr) == (1, True)


def test_the_server_ends_with_its_supervisor(tmp_path: Path) -> None:
    """When standard input ends, it stops by itself."""
    server = LocalEventHubs(tmp_path, ["--hub", "h:1"]).start()
    assert server.process is not None
    server.process.communicate(timeout=STOP_SECONDS)
    assert server.process.returncode == 0


def test_what_was_accepted_survives_kill_9_under_load(server: LocalEventHubs) -> None:
    """A server that is killed in the middle of a stream has every event that it accepted, in order, without a gap."""
    bodies = [str(number).encode() for number in range(3000)]
    with WireClient(server.port).ready() as wire:
        wire.attach(1, "h", receiver=False)
        for number, body in enumerate(bodies):
            wire.send(Transfer(1, number, b"t", 0, False), event(body))
        accepted = [wire.expect(Disposition).first for _ in range(200)]
        server.kill()
        accepted += [disposition.first for disposition in wire.rest(Disposition)]
    server.start()
    with WireClient(server.port).ready() as wire:
        wire.attach(0, READER, receiver=True)
        wire.credit(0, len(bodies), incoming_window=2 * len(bodies))
        delivered = wire.delivered(len(accepted))
    assert delivered == bodies[: len(accepted)]
    assert accepted == list(range(len(accepted)))


def test_a_switch_makes_the_next_sends_fail(server: LocalEventHubs) -> None:
    """Two sends are refused with com.microsoft:server-busy, the third is accepted."""
    assert server.admin("PUT", "/faults", {"serverBusySends": 2})["serverBusySends"] == 2
    with WireClient(server.port).ready() as wire:
        wire.attach(1, "h", receiver=False)
        states = [wire.publish(1, event(b"x"), delivery_id=number) for number in range(3)]
    assert [state.descriptor for state in states] == [0x25, 0x25, 0x24]
    assert states[0].value[0].value[0] == "com.microsoft:server-busy"
    assert server.admin("GET", "/faults") == {"serverBusySends": 0, "delaySeconds": 0.0}


def test_a_switch_delays_sends_and_deliveries(server: LocalEventHubs) -> None:
    """What is sent is answered late, and what is delivered comes late, in the same order."""
    server.admin("PUT", "/faults", {"delaySeconds": 0.3})
    with WireClient(server.port).ready() as wire:
        wire.attach(0, READER, receiver=True)
        wire.attach(1, "h", receiver=False)
        wire.expect(Flow)
        wire.send(Transfer(1, 0, b"t", 0, False), event(b"late"))
        assert wire.is_silent(0.15)
        wire.credit(0, 1)
        assert wire.delivered(1) == [b"late"]


def test_a_switch_steals_links(server: LocalEventHubs) -> None:
    """Readers are detached as if another had taken the partition."""
    with WireClient(server.port).ready() as wire:
        wire.attach(0, READER, receiver=True, properties={Symbol("com.microsoft:epoch"): 9})
        assert server.admin("POST", "/links/steal", {"hub": "h", "partition": "0"}) == {"stolen": 1}
        error = wire.expect(Detach).error
        assert error is not None
        assert error.value[0] == "amqp:link:stolen"  # type: ignore[index]  # the fields of an error are a list


def test_a_switch_drops_connections(server: LocalEventHubs) -> None:
    """Every client loses its connection without a word."""
    with WireClient(server.port) as wire:
        wire.open()
        assert server.admin("POST", "/connections/drop") == {"dropped": 1}
        assert wire.until_closed() is None


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/faults", {"serverBusySends": -1}),
        ("PUT", "/faults", {"serverBusySends": 1.5}),
        ("PUT", "/faults", {"delaySeconds": "1"}),
        ("PUT", "/faults", {"delaySeconds": 1e9}),
        ("PUT", "/faults", {"unknown": 1}),
        ("PUT", "/faults", [1]),
        ("POST", "/links/steal", {"hub": "nope"}),
    ],
)
def test_a_wrong_switch_is_refused(local_hubs: LocalEventHubs, method: str, path: str, body: object) -> None:
    """The answer says what is wrong, and no switch is turned."""
    assert local_hubs.admin(method, path, body)["error"]["code"] == "BadRequest"
    assert local_hubs.admin("GET", "/faults") == {"serverBusySends": 0, "delaySeconds": 0.0}


def test_a_web_page_cannot_turn_switches(local_hubs: LocalEventHubs) -> None:
    """Only JSON under its own content type is taken, which no foreign page may send unasked."""
    answer = local_hubs.admin("POST", "/connections/drop", content_type="text/plain")
    assert answer["error"]["code"] == "BadRequest"
