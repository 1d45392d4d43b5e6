"""Fixtures that every kind of test may use: a real Azurite and clean names."""

from __future__ import annotations

import subprocess
import uuid
from typing import TYPE_CHECKING

import pytest

from local import azurite as azurite_program
from local import ports
from local.errors import LocalRunError
from tests.support import listens, missing_service, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def azurite() -> Iterator[str]:
    """The connection string of a real Azurite, in memory, for this test session."""
    storage_ports = azurite_program.StoragePorts(*ports.any_free(3))
    try:
        command = azurite_program.command(storage_ports, None)
    except LocalRunError as error:
        missing_service(str(error))
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: listens(storage_ports.table) or process.poll() is not None, "Azurite listens")
    yield azurite_program.connection_string(storage_ports)
    process.communicate()  # ends its input, which is how it stops


@pytest.fixture
def table_name() -> str:
    """A table name that no other test uses."""
    return f"t{uuid.uuid4().hex}"
