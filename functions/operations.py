"""HTTP functions for those who run the app: health."""

from __future__ import annotations

import azure.functions as func

from functions.responses import respond
from shared import runtime
from shared.web import health

operations = func.Blueprint()  # type: ignore[no-untyped-call]  # the SDK leaves it unannotated


@operations.route(route="health/live", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
async def health_live(req: func.HttpRequest) -> func.HttpResponse:
    """The process runs: nothing else is asked, so that a storage outage does not make the platform restart it."""
    return await respond(health.live())


@operations.route(route="health/ready", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
async def health_ready(req: func.HttpRequest) -> func.HttpResponse:
    """The instance can do its work, or a problem that says why not."""
    return await respond(health.ready(runtime.definitions, runtime.check_storage))
