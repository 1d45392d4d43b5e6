"""HTTP function for what is left of deleted facts: shows it, or forces it out. It needs the admin key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import azure.functions as func

from functions.access import OPERATORS
from functions.responses import respond
from shared.app.app import app

if TYPE_CHECKING:
    from shared.web.answers import HttpAnswer

erasures = func.Blueprint()  # type: ignore[no-untyped-call]  # the SDK leaves it unannotated


@erasures.route(route="erasures", methods=["POST"], auth_level=OPERATORS)
async def erase(req: func.HttpRequest) -> func.HttpResponse:
    """Say what is left of a deleted fact; with `force`, force it out first."""

    async def work() -> HttpAnswer:
        from shared.web.api.erasures import ErasureApi  # no start needs it

        app().rights(req.headers).require_operator()
        return await ErasureApi((await app().callers.ready()).eraser).erase(req.get_body(), req.url)

    return await respond(work())
