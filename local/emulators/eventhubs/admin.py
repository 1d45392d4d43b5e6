"""The fault switches over HTTP, for tests of clients: on a port of its own, on loopback, only when asked for.

docs/emulators.md lists the calls.
"""

from __future__ import annotations

import json
import math
from http import HTTPStatus
from typing import TYPE_CHECKING

from aiohttp import web

from local.emulators.eventhubs.log.owners import GroupPartition
from local.process.errors import LocalAzureError

if TYPE_CHECKING:
    from aiohttp.typedefs import Handler

    from local.emulators.eventhubs.namespace import Namespace

MAX_DELAY_SECONDS = 600


class BadSwitchError(LocalAzureError):
    """A call of the fault switches that cannot be understood. Correct the call as the message says."""


class Admin:
    """Answers the calls that turn switches."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace

    def application(self) -> web.Application:
        """The routes."""
        application = web.Application(middlewares=[_bad_requests])
        application.router.add_get("/faults", self._read)
        application.router.add_put("/faults", self._write)
        application.router.add_post("/connections/drop", self._drop)
        application.router.add_post("/links/steal", self._steal)
        return application

    async def _read(self, _: web.Request) -> web.Response:
        faults = self._namespace.faults
        return web.json_response({"serverBusySends": faults.server_busy_sends, "delaySeconds": faults.delay_seconds})

    async def _write(self, request: web.Request) -> web.Response:
        """Set all switches; one that the body does not name is turned off."""
        body = await _body(request, {"serverBusySends", "delaySeconds"})
        busy = _number(body, "serverBusySends")
        if not busy.is_integer():
            raise BadSwitchError("serverBusySends is not a whole number: give the number of sends to refuse.")
        delay_seconds = _number(body, "delaySeconds")
        if delay_seconds > MAX_DELAY_SECONDS:
            raise BadSwitchError(f"delaySeconds is {delay_seconds}: give {MAX_DELAY_SECONDS} at most.")
        self._namespace.faults.server_busy_sends = int(busy)
        self._namespace.faults.delay_seconds = delay_seconds
        return await self._read(request)

    async def _drop(self, request: web.Request) -> web.Response:
        await _body(request, set())
        connections = list(self._namespace.connections)
        for connection in connections:
            connection.drop()
        return web.json_response({"dropped": len(connections)})

    async def _steal(self, request: web.Request) -> web.Response:
        body = await _body(request, {"hub", "consumerGroup", "partition"})
        hub = self._namespace.store.hub(str(body.get("hub", "")))
        if hub is None:
            raise BadSwitchError(f'There is no hub {body.get("hub")!r}: name one of this server in "hub".')
        group = str(body.get("consumerGroup", "$Default")).lower()
        wanted = body.get("partition")
        numbers = [p.number for p in hub.partitions if wanted is None or str(p.number) == str(wanted)]
        return web.json_response(
            {"stolen": self._namespace.owners.steal(GroupPartition(hub.name, group, n) for n in numbers)}
        )


@web.middleware
async def _bad_requests(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except BadSwitchError as error:
        body = {"error": {"code": "BadRequest", "message": str(error)}}
        return web.json_response(body, status=HTTPStatus.BAD_REQUEST)


async def _body(request: web.Request, known: set[str]) -> dict[str, object]:
    # A web page in a browser can send other content types to loopback without asking first, but not this one.
    if request.content_type != "application/json":
        raise BadSwitchError("The body's content type is not application/json: send JSON under its own type.")
    try:
        body = json.loads(await request.text() or "{}")
    except ValueError:
        raise BadSwitchError("The body is not JSON: send an object.") from None
    if not isinstance(body, dict) or not body.keys() <= known:
        raise BadSwitchError(
            f"The body is not an object that has no more than {', '.join(sorted(known)) or 'nothing'}."
        )
    return body


def _number(body: dict[str, object], name: str) -> float:
    value = body.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise BadSwitchError(f"{name} is not a number from 0 on: give one, or leave it out.")
    return float(value)
