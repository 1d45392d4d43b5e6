"""Starting and stopping the local Cosmos DB: its arguments, its socket on 127.0.0.1, its ready line."""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aiohttp import web

from local.cosmos.auth import EMULATOR_KEY, Signatures
from local.cosmos.certificate import server_context
from local.cosmos.gateway import MAX_BODY_BYTES, Gateway
from local.cosmos.service import build_service
from local.cosmos.store import Store
from shared.errors import LocalRunError

if TYPE_CHECKING:
    import argparse

HOST = "127.0.0.1"
DEFAULT_PORT = 8081
# More than one, so that everything that crosses ranges is exercised on a laptop, too; three, so that one of
# them has no neighbour at either end of hash space.
DEFAULT_RANGES = 3
MAX_RANGES = 64
# Longer than the pauses of ordinary clients, whose pooled connections would else be closed under a request.
_KEEP_ALIVE_SECONDS = 75.0
_SHUTDOWN_SECONDS = 5.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the local Cosmos DB."""
    parser.add_argument(
        "--port", type=int, default=DEFAULT_PORT, help="port on 127.0.0.1 (default %(default)s)"
    )
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder that holds the data")
    parser.add_argument(
        "--partitions", type=int, default=DEFAULT_RANGES, metavar="N",
        help="physical ranges of a new container (default %(default)s)",
    )  # fmt: skip
    parser.add_argument("--https", action="store_true", help="serve HTTPS with a self-signed certificate")
    parser.add_argument(
        "--key", default=EMULATOR_KEY, help="account key (default: the published emulator key)"
    )
    parser.add_argument(
        "--previous-images", action="store_true", help="give `previous` in the all-versions change feed"
    )
    parser.add_argument("--watch-stdin", action="store_true", help="stop when standard input ends")


async def serve(options: argparse.Namespace, stopping: asyncio.Event) -> None:
    """Serve until `stopping` is set. Prints one line when requests are answered."""
    if not 1 <= options.partitions <= MAX_RANGES:
        raise LocalRunError(f"--partitions must be 1 to {MAX_RANGES}.")
    signatures = Signatures(options.key)
    store = Store(options.data)
    try:
        await _serve_store(options, stopping, store, signatures)
    finally:
        store.close()


async def _serve_store(
    options: argparse.Namespace, stopping: asyncio.Event, store: Store, signatures: Signatures
) -> None:
    endpoint = f"{'https' if options.https else 'http'}://{HOST}:{options.port}"
    service = build_service(store, f"{endpoint}/", options.partitions, gives_previous=options.previous_images)
    runner = web.ServerRunner(_server(Gateway(service, signatures)), shutdown_timeout=_SHUTDOWN_SECONDS)
    await runner.setup()
    sweeping = asyncio.create_task(service.expiry.run())
    try:
        context = server_context(options.data) if options.https else None
        site = web.TCPSite(runner, HOST, options.port, ssl_context=context)
        try:
            await site.start()
        except OSError as error:
            raise LocalRunError(
                f"Port {options.port} cannot be used ({error.strerror}): choose another --port."
            ) from error
        if options.watch_stdin:
            _watch_stdin(stopping)
        sys.stdout.write(f"cosmos ready on {endpoint}\n")
        sys.stdout.flush()
        await stopping.wait()
    finally:
        sweeping.cancel()
        await runner.cleanup()


def _server(gateway: Gateway) -> web.Server:
    loop = asyncio.get_running_loop()

    def make_request(message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
        return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=MAX_BODY_BYTES)

    return web.Server(
        gateway.handle, request_factory=make_request, access_log=None, keepalive_timeout=_KEEP_ALIVE_SECONDS
    )


def _watch_stdin(stopping: asyncio.Event) -> None:
    """Set `stopping` when standard input ends: its other end is held by whoever wants the server to live."""
    loop = asyncio.get_running_loop()

    def wait() -> None:
        while sys.stdin.buffer.read(4096):
            pass
        loop.call_soon_threadsafe(stopping.set)

    threading.Thread(target=wait, name="watch-stdin", daemon=True).start()
