"""Fixtures that every kind of test may use: a real Azurite and clean names."""

from __future__ import annotations

import gc
import os
import subprocess
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from local.process import ports
from local.process.errors import LocalRunError
from local.run import azurite as azurite_program
from tests.support import listens, missing_service, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

# Local runs inherit it. The hourly verification would meet one that a test asks for: only one runs at a time.
os.environ["AzureWebJobs.verify.Disabled"] = "true"

# The first text drawn builds hypothesis' table of characters, and a busy machine is slow at random: neither
# is a fault of the code, so examples are not timed.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


@pytest.fixture(scope="module", autouse=True)
def garbage_stays_in_its_module() -> Iterator[None]:
    """What a module leaves to the garbage collector is collected, and complained of, there: not in a later test."""
    yield
    gc.collect()


@contextmanager
def running_azurite(tls: azurite_program.Tls | None = None) -> Iterator[azurite_program.StoragePorts]:
    """The ports of a real Azurite, in memory, that ends with the block."""
    storage_ports = azurite_program.StoragePorts(*ports.any_free(3))
    try:
        command = azurite_program.command(storage_ports, None, tls)
    except LocalRunError as error:
        missing_service(str(error))
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: listens(storage_ports.table) or process.poll() is not None, "Azurite listens")
        yield storage_ports
    finally:
        process.communicate()  # ends its input, which is how it stops


@pytest.fixture(scope="session")
def azurite() -> Iterator[str]:
    """The connection string of a real Azurite, in memory, for this test session."""
    with running_azurite() as storage_ports:
        yield azurite_program.connection_string(storage_ports)


@pytest.fixture
def own_azurite() -> Iterator[str]:
    """One for this test alone. Apps whose sources or indexes have the same names share a ledger and tables."""
    with running_azurite() as storage_ports:
        yield azurite_program.connection_string(storage_ports)


@pytest.fixture
def table_name() -> str:
    """A table name that no other test uses."""
    return f"t{uuid.uuid4().hex}"
