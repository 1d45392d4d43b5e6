"""HTTP functions for operators: health and status, and dead letters with the admin key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import azure.functions as func

from functions.access import OPERATORS
from functions.responses import respond
from shared.app.app import app
from shared.web.api import health
from shared.web.api import status as status_api

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from shared.monitoring.status import StatusReader
    from shared.web.access import Rights
    from shared.web.answers import HttpAnswer
    from shared.web.api.dead_letters import DeadLetterApi

operations = func.Blueprint()  # type: ignore[no-untyped-call]  # the SDK leaves it unannotated


@operations.route(route="health/live", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
async def health_live(req: func.HttpRequest) -> func.HttpResponse:
    """The process runs. Nothing else is checked, so that a storage outage does not make the platform restart it."""
    return await respond(health.live())


@operations.route(route="health/ready", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
async def health_ready(req: func.HttpRequest) -> func.HttpResponse:
    """The instance can do its work, or not; what is wrong is told to operators, and on a developer's machine."""

    async def work() -> HttpAnswer:
        return await health.ready(app().readiness.check, tells_details=app().tells_details(req.headers))

    return await respond(work())


@operations.route(route="health/details", methods=["GET"])
async def health_details(req: func.HttpRequest) -> func.HttpResponse:
    """The same with what is wrong, for callers with a key, or for operators."""

    async def work() -> HttpAnswer:
        app().rights(req.headers).require_operator()
        return await health.ready(app().readiness.check)

    return await respond(work())


@operations.route(route="status", methods=["GET"])
async def get_status(req: func.HttpRequest) -> func.HttpResponse:
    """How far behind the app is, what it did and what that cost."""
    details = app().tells_details
    return await _respond(
        req, lambda reader, rights: status_api.status(reader, req.url, rights, tells_details=details(req.headers))
    )


@operations.route(route="status/history", methods=["GET"])
async def get_lag_history(req: func.HttpRequest) -> func.HttpResponse:
    """The lag of each source over time."""
    return await _respond(req, lambda reader, _: status_api.history(reader, req.url))


@operations.route(route="advice", methods=["GET"])
async def get_advice(req: func.HttpRequest) -> func.HttpResponse:
    """Every index in numbers, with warnings about known problems of the Index Table pattern."""

    async def work() -> HttpAnswer:
        rights = app().rights(req.headers)
        rights.require_any()
        return await status_api.advice(app().monitoring.advisor, req.url, rights)

    return await respond(work())


async def _respond(
    req: func.HttpRequest, call: Callable[[StatusReader, Rights], Awaitable[HttpAnswer]]
) -> func.HttpResponse:
    """The answer of a status call. While the definitions have faults, making the status already fails."""

    async def work() -> HttpAnswer:
        rights = app().rights(req.headers)
        rights.require_any()
        return await call(app().monitoring.status, rights)

    return await respond(work())


@operations.route(route="dead-letters", methods=["GET"], auth_level=OPERATORS)
async def list_dead_letters(req: func.HttpRequest) -> func.HttpResponse:
    """A page of dead letters."""
    return await _about_dead_letters(req, lambda api: api.dead_letters(req.url))


@operations.route(route="dead-letters/{id}", methods=["GET"], auth_level=OPERATORS)
async def show_dead_letter(req: func.HttpRequest) -> func.HttpResponse:
    """One dead letter, with the document that arrived."""
    return await _about_dead_letters(req, lambda api: api.dead_letter(req.route_params["id"], req.url))


@operations.route(route="dead-letters/{id}/replay", methods=["POST"], auth_level=OPERATORS)
async def replay_dead_letter(req: func.HttpRequest) -> func.HttpResponse:
    """Replay one dead letter."""
    return await _about_dead_letters(req, lambda api: api.replay(req.route_params["id"], req.url, req.get_body()))


@operations.route(route="dead-letters/replay", methods=["POST"], auth_level=OPERATORS)
async def replay_dead_letters(req: func.HttpRequest) -> func.HttpResponse:
    """Replay a page of dead letters."""
    return await _about_dead_letters(req, lambda api: api.replay_all(req.url, req.get_body()))


@operations.route(route="dead-letters/purge", methods=["POST"], auth_level=OPERATORS)
async def purge_dead_letters_now(req: func.HttpRequest) -> func.HttpResponse:
    """Delete old dead letters."""
    return await _about_dead_letters(req, lambda api: api.purge(req.url, req.get_body()))


async def _about_dead_letters(
    req: func.HttpRequest, call: Callable[[DeadLetterApi], Awaitable[HttpAnswer]]
) -> func.HttpResponse:
    async def work() -> HttpAnswer:
        app().rights(req.headers).require_operator()
        return await call(await app().dead_letter_api())

    return await respond(work())
