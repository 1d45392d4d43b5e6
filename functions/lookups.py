"""HTTP functions for lookups: indexes, their entries, explanations, and the description of the API."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import azure.functions as func

from functions.responses import respond
from shared.app.app import app
from shared.web.answers import compressed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from shared.web.answers import HttpAnswer
    from shared.web.api.lookups import LookupApi

lookups = func.Blueprint()  # type: ignore[no-untyped-call]  # the SDK leaves it unannotated


@lookups.route(route="indexes", methods=["GET"])
async def list_indexes(req: func.HttpRequest) -> func.HttpResponse:
    """All indexes."""
    return await _respond(req, lambda api: api.indexes(req.url))


@lookups.route(route="indexes/{name}", methods=["GET"])
async def get_index(req: func.HttpRequest) -> func.HttpResponse:
    """One index."""
    return await _respond(req, lambda api: api.index(req.route_params["name"], req.url))


@lookups.route(route="indexes/{name}/entries", methods=["GET"])
async def find_entries(req: func.HttpRequest) -> func.HttpResponse:
    """A lookup."""
    if_none_match = req.headers.get("if-none-match")
    return await _respond(req, lambda api: api.entries(req.route_params["name"], req.url, if_none_match))


@lookups.route(route="indexes/{name}/lookups", methods=["POST"])
async def find_many(req: func.HttpRequest) -> func.HttpResponse:
    """Many lookups of an index."""
    return await _respond(req, lambda api: api.batch(req.route_params["name"], req.url, req.get_body()))


@lookups.route(route="indexes/{name}/count", methods=["GET"])
async def count_entries(req: func.HttpRequest) -> func.HttpResponse:
    """How many entries a lookup would find."""
    if_none_match = req.headers.get("if-none-match")
    return await _respond(req, lambda api: api.count(req.route_params["name"], req.url, if_none_match))


@lookups.route(route="indexes/{name}/explain", methods=["GET"])
async def explain_lookup(req: func.HttpRequest) -> func.HttpResponse:
    """How a lookup would run."""
    return await _respond(req, lambda api: api.explain(req.route_params["name"], req.url))


@lookups.route(route="openapi.json", methods=["GET"])
async def get_openapi(req: func.HttpRequest) -> func.HttpResponse:
    """The OpenAPI document."""

    async def work() -> HttpAnswer:
        from shared.web.openapi.document import answer_openapi  # rarely used, and imports much

        rights = app().rights(req.headers)
        rights.require_any()
        answer = await answer_openapi(app().definitions.require(), rights, req.url)
        return compressed(answer, req.headers.get("accept-encoding", ""))

    return await respond(work())


async def _respond(req: func.HttpRequest, call: Callable[[LookupApi], Awaitable[HttpAnswer]]) -> func.HttpResponse:
    """The answer of an API call. While the definitions have faults, making the API already fails."""

    async def work() -> HttpAnswer:
        return await call(app().lookup.api(app().rights(req.headers)))

    return await respond(work())


def connect_soon() -> asyncio.Task[None] | None:
    """Open the connection of the first lookup while the host goes on loading the app, which it does on the event loop
    of the functions. Where no loop runs, such as in a command that lists the functions, nothing is called."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return None
    return loop.create_task(app().lookup.connect())
