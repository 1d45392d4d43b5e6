"""HTTP functions for the lifecycle of generations: build, switch, roll back. They need the admin key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import azure.functions as func

from functions.access import OPERATORS
from functions.responses import respond
from shared.app.app import app

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from shared.web.answers import HttpAnswer
    from shared.web.api.lifecycle import LifecycleApi

lifecycle = func.Blueprint()  # type: ignore[no-untyped-call]  # the SDK leaves it unannotated


@lifecycle.route(route="indexes/{name}/builds", methods=["GET"], auth_level=OPERATORS)
async def get_builds(req: func.HttpRequest) -> func.HttpResponse:
    """The state of an index and of its build."""
    return await _respond(req, lambda api: api.builds(req.route_params["name"], req.url))


@lifecycle.route(route="indexes/{name}/builds", methods=["POST"], auth_level=OPERATORS)
async def start_build(req: func.HttpRequest) -> func.HttpResponse:
    """Start a build."""
    return await _respond(req, lambda api: api.build(req.route_params["name"], req.get_body(), req.url))


@lifecycle.route(route="indexes/{name}/read-only", methods=["POST"], auth_level=OPERATORS)
async def make_index_read_only(req: func.HttpRequest) -> func.HttpResponse:
    """Stop writing to the serving generation, while its successor replaces it."""
    return await _respond(req, lambda api: api.make_read_only(req.route_params["name"], req.get_body(), req.url))


@lifecycle.route(route="indexes/{name}/switch", methods=["POST"], auth_level=OPERATORS)
async def switch_index(req: func.HttpRequest) -> func.HttpResponse:
    """Let the new generation serve."""
    return await _respond(req, lambda api: api.switch(req.route_params["name"], req.get_body(), req.url))


@lifecycle.route(route="indexes/{name}/rollback", methods=["POST"], auth_level=OPERATORS)
async def roll_back_index(req: func.HttpRequest) -> func.HttpResponse:
    """Let the previous generation serve again."""
    return await _respond(req, lambda api: api.rollback(req.route_params["name"], req.get_body(), req.url))


async def _respond(req: func.HttpRequest, call: Callable[[LifecycleApi], Awaitable[HttpAnswer]]) -> func.HttpResponse:
    async def work() -> HttpAnswer:
        from shared.web.api.lifecycle import LifecycleApi  # no start needs it

        app().rights(req.headers).require_operator()
        return await call(LifecycleApi((await app().callers.ready()).lifecycle))

    return await respond(work())
