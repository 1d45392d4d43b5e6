"""The HTTP side: from aiohttp's request to a call, through faults and signatures, and back as a response."""

from __future__ import annotations

import asyncio
import itertools
import logging
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from aiohttp import web

from local.emulators.cosmos.errors import CosmosError, TooLargeError, UnexpectedError
from local.emulators.cosmos.exchange import MAX_BODY_BYTES, Answer, Call, answer_error
from local.emulators.cosmos.http.switches import CLOCK, FAULTS
from local.emulators.cosmos.http.unsupported import refuse_unsupported

if TYPE_CHECKING:
    from local.emulators.cosmos.data.store import DocumentStore
    from local.emulators.cosmos.http.auth import Signatures
    from local.emulators.cosmos.http.faults import Fault
    from local.emulators.cosmos.http.service import CosmosService

logger = logging.getLogger(__name__)

# Of "/dbs/d/colls/c/docs/id".
_ITEM_DEPTH = 7
_SWITCHES = ((FAULTS,), (CLOCK,))
# Activity ids of requests that bring none: one random part per run, then a number.
_RUN = str(uuid.uuid4())[:23]
_SERIAL = itertools.count(1)
_COMMON = {
    "x-ms-version": "2020-07-15",
    "x-ms-gatewayversion": "version=2.14.0",
    "x-ms-serviceversion": "version=local",
}


@dataclass(frozen=True, slots=True)
class Gateway:
    """The one handler of the web server."""

    service: CosmosService
    signatures: Signatures
    store: DocumentStore

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        call = Call(request.method, _split(request.raw_path), request.headers, b"")
        is_switch = call.path[:1] in _SWITCHES
        fault = None if is_switch else self.service.faults.next_for(call)
        if fault is not None and fault.kind == "delay":
            await asyncio.sleep(fault.delay_ms / 1000)
        if fault is not None and fault.kind == "drop":
            return _drop(request)
        answer = await self._answer(request, call, fault)
        if fault is not None and fault.kind == "drop-answer":
            return _drop(request)
        return _respond(request, answer)

    async def _answer(self, request: web.BaseRequest, call: Call, fault: Fault | None) -> Answer:
        """The answer, once everything that it may show is safe."""
        try:
            answer = await self._routed(request, call, fault)
            await self.store.settled()
        except Exception:
            logger.exception("A request failed", extra={"method": call.method, "path": "/".join(call.path)})
            return answer_error(UnexpectedError("The local Cosmos DB failed: its log says why."))
        return answer

    async def _routed(self, request: web.BaseRequest, call: Call, fault: Fault | None) -> Answer:
        try:
            call = Call(call.method, call.path, call.headers, await _body(request))
            if call.path[:1] in _SWITCHES:
                return self.service.switches.answer(call)
            refuse_unsupported(call)
            self.signatures.check(call)
            if fault is not None and fault.kind in ("throttle", "refuse"):
                return fault.answer()
            return await self.service.answer(call)
        except CosmosError as error:
            return answer_error(error)


def _split(raw_path: str) -> tuple[str, ...]:
    """The segments of a path, unquoted; empty ones (clients end paths with a slash) do not count.

    JavaScript does not escape a question mark in the id of an item, and the service does not take it for a query.
    """
    path, mark, rest = raw_path.partition("?")
    segments = path.split("/")
    if mark and len(segments) == _ITEM_DEPTH and segments[-2] == "docs":
        segments[-1] = f"{segments[-1]}?{rest}"
    if "%" in raw_path:
        segments = [unquote(segment) for segment in segments]
    return tuple(segment for segment in segments if segment)


async def _body(request: web.BaseRequest) -> bytes:
    if not request.can_read_body:
        return b""
    try:
        return await request.read()
    except web.HTTPRequestEntityTooLarge as error:
        raise TooLargeError(
            f"The request body is over {MAX_BODY_BYTES} bytes, as it was sent: make the document or the batch smaller."
        ) from error


def _drop(request: web.BaseRequest) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


def _respond(request: web.BaseRequest, answer: Answer) -> web.Response:
    headers = {**_COMMON, **answer.headers}
    headers["x-ms-activity-id"] = request.headers.get("x-ms-activity-id") or f"{_RUN}-{next(_SERIAL):012x}"
    headers.setdefault("x-ms-request-charge", "1.0")
    if answer.body:
        headers["Content-Type"] = "application/json"
    return web.Response(status=answer.status, body=answer.body or None, headers=headers)
