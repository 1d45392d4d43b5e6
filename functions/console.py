"""HTTP functions for the console, and for the addresses of the pages that it replaces. They need no key: the page has
no data of the app, and what it loads needs one."""

from __future__ import annotations

import azure.functions as func

from functions.responses import respond
from shared.web.pages import console, moved

pages = func.Blueprint()  # type: ignore[no-untyped-call]  # the SDK leaves it unannotated


@pages.route(route="console/{*path}", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
async def get_console(req: func.HttpRequest) -> func.HttpResponse:
    """The console, and the files that it is made of."""
    path = req.route_params.get("path") or ""
    return await respond(console(req.url, path, req.headers.get("accept-encoding", "")))


@pages.route(route="docs", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
async def get_docs(req: func.HttpRequest) -> func.HttpResponse:
    """Where the page of the API was."""
    return await respond(moved("console#/api"))


@pages.route(route="status/page", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
async def get_status_page(req: func.HttpRequest) -> func.HttpResponse:
    """Where the status page was."""
    return await respond(moved("../console"))
