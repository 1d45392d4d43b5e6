"""HTTP functions for those who look things up: indexes, their entries, explanations, and what the API is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import azure.functions as func

from functions.responses import respond
from shared import runtime
from shared.web.docs_page import docs_page

if TYPE_CHECKING:
    from shared.web.answers import Answer

lookups = func.Blueprint()  # type: ignore[no-untyped-call]  # the SDK leaves it unannotated


@lookups.route(route="indexes", methods=["GET"])
async def list_indexes(req: func.HttpRequest) -> func.HttpResponse:
    """All indexes."""

    async def work() -> Answer:
        return await runtime.lookup_api().indexes(req.url)

    return await respond(work())


@lookups.route(route="indexes/{name}", methods=["GET"])
async def get_index(req: func.HttpRequest) -> func.HttpResponse:
    """One index."""

    async def work() -> Answer:
        return await runtime.lookup_api().index(req.route_params["name"], req.url)

    return await respond(work())


@lookups.route(route="indexes/{name}/entries", methods=["GET"])
async def find_entries(req: func.HttpRequest) -> func.HttpResponse:
    """A lookup."""

    async def work() -> Answer:
        api = runtime.lookup_api()
        return await api.entries(req.route_params["name"], req.url, req.headers.get("if-none-match"))

    return await respond(work())


@lookups.route(route="indexes/{name}/explain", methods=["GET"])
async def explain_lookup(req: func.HttpRequest) -> func.HttpResponse:
    """How a lookup would run."""

    async def work() -> Answer:
        return await runtime.lookup_api().explain(req.route_params["name"], req.url)

    return await respond(work())


@lookups.route(route="openapi.json", methods=["GET"])
async def get_openapi(req: func.HttpRequest) -> func.HttpResponse:
    """The OpenAPI document."""

    async def work() -> Answer:
        return await runtime.lookup_api().openapi(req.url)

    return await respond(work())


@lookups.route(route="docs", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
async def get_docs(req: func.HttpRequest) -> func.HttpResponse:
    """The page that shows the OpenAPI document. It holds nothing of the app; what it shows needs a key."""

    async def work() -> Answer:
        return docs_page()

    return await respond(work())
