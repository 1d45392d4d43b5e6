"""Fixtures that every kind of test may use: a real Azurite, free ports, clean names."""

from __future__ import annotations

import os
import socket
import subprocess
import time
import uuid
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from local import azurite as azurite_program
from shared.errors import LocalRunError

if TYPE_CHECKING:
    from collections.abc import Iterator

# The first text drawn builds hypothesis' table of characters, and a busy machine is slow at random: neither
# is a fault of the code, so examples are not timed.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

IN_CI = os.environ.get("CI") == "true"
START_SECONDS = 30


def missing_service(reason: str) -> None:
    """Skip on a laptop, fail in CI: a missing service must never look like a pass there."""
    if IN_CI:
        pytest.fail(reason)
    pytest.skip(reason)


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now; held open together so that they differ."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def wait_for_port(port: int, process: subprocess.Popen[bytes]) -> None:
    """Return when something listens on `port`; fail when `process` ends first or time is up."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        with socket.socket() as probe:
            probe.settimeout(0.2)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    pytest.fail(f"nothing listens on port {port} (exit code {process.poll()})")


@pytest.fixture(scope="session")
def azurite() -> Iterator[str]:
    """The connection string of a real Azurite, in memory, for this test session."""
    ports = azurite_program.StoragePorts(*free_ports(3))
    try:
        command = azurite_program.command(ports, None)
    except LocalRunError as error:
        missing_service(str(error))
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    for port in (ports.blob, ports.queue, ports.table):
        wait_for_port(port, process)
    yield azurite_program.connection_string(ports)
    process.terminate()
    process.communicate(timeout=START_SECONDS)


@pytest.fixture
def table_name() -> str:
    """A table name that no other test uses."""
    return f"t{uuid.uuid4().hex}"
