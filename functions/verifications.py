"""HTTP functions for verifications: start one, read its state. They need the admin key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import azure.functions as func

from functions.access import OPERATORS
from functions.responses import respond
from shared.app.app import app

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from shared.web.answers import HttpAnswer
    from shared.web.api.verifications import VerificationApi

verifications = func.Blueprint()  # type: ignore[no-untyped-call]  # the SDK leaves it unannotated


@verifications.route(route="indexes/{name}/verifications", methods=["POST"], auth_level=OPERATORS)
async def start_verification(req: func.HttpRequest) -> func.HttpResponse:
    """Start a verification, with or without repair."""
    return await _respond(req, lambda api: api.start(req.route_params["name"], req.get_body(), req.url))


@verifications.route(route="indexes/{name}/verifications", methods=["GET"], auth_level=OPERATORS)
async def list_verifications(req: func.HttpRequest) -> func.HttpResponse:
    """The verifications of an index."""
    return await _respond(req, lambda api: api.latest(req.route_params["name"], req.url))


@verifications.route(route="indexes/{name}/verifications/{id}", methods=["GET"], auth_level=OPERATORS)
async def get_verification(req: func.HttpRequest) -> func.HttpResponse:
    """One verification with its report."""
    return await _respond(req, lambda api: api.verification(req.route_params["name"], req.route_params["id"], req.url))


async def _respond(
    req: func.HttpRequest, call: Callable[[VerificationApi], Awaitable[HttpAnswer]]
) -> func.HttpResponse:
    async def work() -> HttpAnswer:
        from shared.web.api.verifications import VerificationApi  # no start needs it

        app().rights(req.headers).require_operator()
        return await call(VerificationApi((await app().callers.ready()).verification_service))

    return await respond(work())
