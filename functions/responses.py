"""HTTP answers of functions, in the form that the binding needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import azure.functions as func

from shared.web.answers import answer_or_problem

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from shared.web.answers import HttpAnswer


async def respond(work: Awaitable[HttpAnswer]) -> func.HttpResponse:
    """The answer that some work gives; an error becomes a problem."""
    answer = await answer_or_problem(work)
    return func.HttpResponse(
        answer.body,
        status_code=answer.status,
        mimetype=answer.media_type,
        headers=answer.all_headers,
    )
