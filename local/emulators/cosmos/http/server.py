"""Starting and stopping the local Cosmos DB: its data, its socket on 127.0.0.1, its ready line."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

from aiohttp import web

from local.emulators.cosmos.data.store import DocumentStore
from local.emulators.cosmos.exchange import MAX_BODY_BYTES
from local.emulators.cosmos.http.auth import Signatures
from local.emulators.cosmos.http.certificate import server_context
from local.emulators.cosmos.http.gateway import Gateway
from local.emulators.cosmos.http.options import MAX_RANGES
from local.emulators.cosmos.http.service import build_service
from local.process.errors import LocalRunError

if TYPE_CHECKING:
    import argparse

    from local.process.lifeline import Stop

HOST = "127.0.0.1"
# Longer than the pauses of ordinary clients: otherwise the server would close a pooled connection under a request.
_KEEP_ALIVE_SECONDS = 75.0
_SHUTDOWN_SECONDS = 5.0
# Continuations travel in headers, and hold keys and sort values.
_HEADER_BYTES = 64 * 1024


async def serve(options: argparse.Namespace, stop: Stop) -> None:
    """Serve until told to stop. Prints one line when requests are answered."""
    if not 1 <= options.partitions <= MAX_RANGES:
        raise LocalRunError(f"--partitions must be 1 to {MAX_RANGES}.")
    signatures = Signatures(options.key)
    store = DocumentStore(options.data)
    try:
        await _serve_store(options, stop, store, signatures)
    finally:
        store.close()


async def _serve_store(options: argparse.Namespace, stop: Stop, store: DocumentStore, signatures: Signatures) -> None:
    endpoint = f"{'https' if options.https else 'http'}://{HOST}:{options.port}"
    service = build_service(store, f"{endpoint}/", options.partitions, gives_previous=options.previous_images)
    runner = web.ServerRunner(_server(Gateway(service, signatures, store)), shutdown_timeout=_SHUTDOWN_SECONDS)
    await runner.setup()
    sweeping = asyncio.create_task(service.expiry.run())
    try:
        context = server_context(options.data) if options.https else None
        site = web.TCPSite(runner, HOST, options.port, ssl_context=context)
        try:
            await site.start()
        except OSError as error:
            raise LocalRunError(f"Port {options.port} is taken ({error.strerror}): choose another --port.") from error
        sys.stdout.write(f"cosmos ready on {endpoint}\n")
        sys.stdout.flush()
        await stop.wait()
    finally:
        sweeping.cancel()
        await runner.cleanup()


def _server(gateway: Gateway) -> web.Server:
    loop = asyncio.get_running_loop()

    def make_request(message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
        return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=MAX_BODY_BYTES)

    return web.Server(
        gateway.handle,
        request_factory=make_request,
        access_log=None,
        keepalive_timeout=_KEEP_ALIVE_SECONDS,
        max_line_size=_HEADER_BYTES,
        max_field_size=_HEADER_BYTES,
    )
