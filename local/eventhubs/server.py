"""The server: its arguments, its life from start to stop, and the connection string that reaches it."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from aiohttp import web

from local.errors import LocalRunError
from local.eventhubs.admin import Admin
from local.eventhubs.connection import Connection
from local.eventhubs.hubs import GroupSpec, HubSpec
from local.eventhubs.namespace import Namespace, clock_ms
from local.eventhubs.retention import SWEEP_SECONDS, Retention
from local.eventhubs.store import Store
from local.eventhubs.tokens import SharedAccessKey

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from local.lifeline import Stop

log = logging.getLogger("eventhubs")

HOST = "127.0.0.1"
DEFAULT_PORT = 5672
# What Microsoft's emulator uses, so that its connection strings work here.
KEY_NAME = "RootManageSharedAccessKey"
KEY = "SAS_KEY_VALUE"
# What the service announces to its clients.
IDLE_TIMEOUT_SECONDS = 240.0
STOP_SECONDS = 5.0
# Beyond any use, and far below what a field of 32 bits can hold as milliseconds.
MAX_NUMBER = 1e6


def connection_string(port: int, key_name: str = KEY_NAME, key: str = KEY) -> str:
    """The connection string of the server on `port`."""
    access = f"SharedAccessKeyName={key_name};SharedAccessKey={key}"
    return f"Endpoint=sb://{HOST}:{port};{access};UseDevelopmentEmulator=true;"


def _positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < MAX_NUMBER:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number above 0 and below {MAX_NUMBER:g}")
    return number


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 0 < int(text) < 65536):
        raise argparse.ArgumentTypeError(f"'{text}' is not a port: give a number from 1 to 65535")
    return int(text)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Everything that `serve` reads."""
    parser.add_argument("--port", type=_port, default=DEFAULT_PORT, help=f"the AMQP port (default: {DEFAULT_PORT})")
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="the folder that keeps the events")
    parser.add_argument(
        "--hub", action="append", default=[], metavar="NAME:PARTITIONS", help="a hub to create if it is not there"
    )
    parser.add_argument(
        "--consumer-group", action="append", default=[], metavar="[HUB/]NAME", help="a group beside $Default"
    )
    parser.add_argument("--retention-hours", type=_positive, default=168, help="forget older events (default: 168)")
    parser.add_argument(
        "--retention-mib", type=_positive, help="forget the oldest events of a partition above this size"
    )
    parser.add_argument("--key-name", default=KEY_NAME, help=f"the shared access key's name (default: {KEY_NAME})")
    parser.add_argument("--key", default=KEY, help=f"the shared access key (default: {KEY})")
    parser.add_argument(
        "--idle-timeout", type=_positive, default=IDLE_TIMEOUT_SECONDS, metavar="SECONDS",
        help=f"close a connection that is silent for so long (default: {IDLE_TIMEOUT_SECONDS:g})",
    )  # fmt: skip
    parser.add_argument("--admin-port", type=_port, help="serve the fault switches over HTTP on this port")


async def serve(options: argparse.Namespace, stop: Stop) -> None:
    """Serve until `stop`; then tell the clients, write everything down and release the file."""
    retention = _retention(options)
    store = Store(options.data, clock_ms)
    try:
        store.create([HubSpec.parse(hub) for hub in options.hub], [GroupSpec.parse(g) for g in options.consumer_group])
        namespace = Namespace(store, SharedAccessKey(options.key_name, options.key), options.idle_timeout)
        async with _admin(namespace, options.admin_port), _amqp(namespace, options.port):
            names = ", ".join(f"{hub.name} ({len(hub.partitions)})" for hub in store.hubs) or "(none)"
            shown_key = KEY if options.key == KEY else "..."  # the published one is no secret
            log.info("Serving hubs %s on %s", names, connection_string(options.port, options.key_name, shown_key))
            await _sweep(store, retention, stop)
    finally:
        store.close()


def _retention(options: argparse.Namespace) -> Retention:
    max_bytes = None if options.retention_mib is None else int(options.retention_mib * 1024 * 1024)
    return Retention(int(options.retention_hours * 3_600_000), max_bytes)


async def _sweep(store: Store, retention: Retention, stop: Stop) -> None:
    await retention.apply(store, clock_ms())
    while not await stop.sleep(SWEEP_SECONDS):
        await retention.apply(store, clock_ms())


@contextlib.asynccontextmanager
async def _amqp(namespace: Namespace, port: int) -> AsyncIterator[None]:
    try:
        server = await asyncio.get_running_loop().create_server(lambda: Connection(namespace), HOST, port)
    except OSError as error:
        raise LocalRunError(f"Port {port} is taken ({error.strerror}); choose another with --port.") from None
    try:
        yield
    finally:
        server.close()
        await _close_connections(namespace)


async def _close_connections(namespace: Namespace) -> None:
    """Every client is told; one that does not close by itself is cut off."""
    for connection in list(namespace.connections):
        connection.shut_down()
    deadline = asyncio.get_running_loop().time() + STOP_SECONDS
    while namespace.connections and asyncio.get_running_loop().time() < deadline:
        await asyncio.sleep(0.01)
    for connection in list(namespace.connections):
        connection.drop()


@contextlib.asynccontextmanager
async def _admin(namespace: Namespace, port: int | None) -> AsyncIterator[None]:
    if port is None:
        yield
        return
    runner = web.AppRunner(Admin(namespace).application(), access_log=None)
    await runner.setup()
    try:
        await _bind(runner, port)
        yield
    finally:
        await runner.cleanup()


async def _bind(runner: web.AppRunner, port: int) -> None:
    try:
        await web.TCPSite(runner, HOST, port).start()
    except OSError as error:
        raise LocalRunError(f"Port {port} is taken ({error.strerror}); choose another with --admin-port.") from None
