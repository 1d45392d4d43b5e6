"""Starting and stopping the local Event Hubs: its file, its sockets on 127.0.0.1, its sweeps."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING

from aiohttp import web

from local.emulators.eventhubs.admin import Admin
from local.emulators.eventhubs.links.connection import Connection
from local.emulators.eventhubs.log.hubs import GroupSpec, HubSpec
from local.emulators.eventhubs.log.retention import SWEEP_SECONDS, Retention
from local.emulators.eventhubs.log.store import EventStore
from local.emulators.eventhubs.namespace import Namespace, clock_ms
from local.emulators.eventhubs.options import HOST, KEY, connection_string
from local.emulators.eventhubs.tokens import SharedAccessKey
from local.process.errors import LocalRunError

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator

    from local.process.lifeline import Stop

log = logging.getLogger("eventhubs")

STOP_SECONDS = 5.0


async def serve(options: argparse.Namespace, stop: Stop) -> None:
    """Serve until `stop`; then tell the clients, write everything down and release the file."""
    retention = _retention(options)
    store = EventStore(options.data, clock_ms)
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


async def _sweep(store: EventStore, retention: Retention, stop: Stop) -> None:
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
    """Tell every client, then cut off those that do not close by themselves."""
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
