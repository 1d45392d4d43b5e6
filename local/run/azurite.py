"""Azurite, the storage emulator: the command that starts it and the connection strings that reach it.

It is installed by `local/run/setup.py` from the lock file beside this module.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from local.process.errors import LocalRunError

if TYPE_CHECKING:
    from collections.abc import Iterable

# Azurite's published development account; every Azure storage tool knows it.
ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

HERE = Path(__file__).parents[1]
ENTRY_POINT = HERE / "node_modules" / "azurite" / "dist" / "src" / "azurite.js"
GUARD = HERE / "guard.cjs"

# An account's name has 3 to 24 small letters and digits.
_NAME_LETTERS = 16
_NAME_DIGITS = 8

# Longer than any pause of our own clients: otherwise Azurite would close a pooled connection under a request.
KEEP_ALIVE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class StoragePorts:
    """Where the three services of one Azurite listen, on 127.0.0.1."""

    blob: int
    queue: int
    table: int


@dataclass(frozen=True, slots=True)
class Tls:
    """The certificate with which Azurite serves https; it then takes bearer tokens as well as keys."""

    certificate: Path
    key: Path


def connection_string(ports: StoragePorts, account: str = ACCOUNT, key: str = ACCOUNT_KEY, scheme: str = "http") -> str:
    """The connection string of one account of the Azurite that listens on `ports`."""
    endpoints = "".join(
        f"{service}Endpoint={scheme}://127.0.0.1:{port}/{account};"
        for service, port in (("Blob", ports.blob), ("Queue", ports.queue), ("Table", ports.table))
    )
    return f"DefaultEndpointsProtocol={scheme};AccountName={account};AccountKey={key};{endpoints}"


def placed_account(connection: str) -> str:
    """The account that stands for a connection of a placement: the same in every run, and a name that Azurite takes."""
    letters = "".join(character for character in connection.lower() if character.isascii() and character.isalnum())
    return letters[:_NAME_LETTERS] + sha256(connection.encode()).hexdigest()[:_NAME_DIGITS]


def accounts_setting(connections: Iterable[str]) -> dict[str, str]:
    """The environment in which Azurite has an account for each of these connections, beside the usual one."""
    names = [ACCOUNT, *map(placed_account, connections)]
    return {"AZURITE_ACCOUNTS": ";".join(f"{name}:{ACCOUNT_KEY}" for name in names)}


def command(ports: StoragePorts, location: Path | None, tls: Tls | None = None) -> list[str]:
    """The command line of Azurite on `ports`, with its data in `location` or, without one, in memory.

    Give the process a pipe as standard input: it ends when that pipe does (see `guard.cjs`).
    """
    node = shutil.which("node")
    if node is None:
        raise LocalRunError('node is not on PATH: install Node.js 20 or newer, then run "make run" again.')
    if not ENTRY_POINT.is_file():
        raise LocalRunError('Azurite is not installed: run "python local/run/setup.py" (or "make run") first.')
    services = [
        part
        for service, port in (("blob", ports.blob), ("queue", ports.queue), ("table", ports.table))
        for part in (
            f"--{service}Host", "127.0.0.1",
            f"--{service}Port", str(port),
            f"--{service}KeepAliveTimeout", str(KEEP_ALIVE_SECONDS),
        )
    ]  # fmt: skip
    persistence = ["--inMemoryPersistence"] if location is None else ["--location", str(location)]
    switches = ["--silent", "--disableTelemetry", "--skipApiVersionCheck"]
    # "basic" checks a token's issuer, audience and times, not its signature.
    secure = [] if tls is None else ["--cert", str(tls.certificate), "--key", str(tls.key), "--oauth", "basic"]
    return [node, "--require", str(GUARD), str(ENTRY_POINT), *services, *switches, *persistence, *secure]
