"""HTTP answers of functions: JSON, and problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import azure.functions as func
import orjson

from shared.web import problems

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from shared.web.problems import Problem


def json_answer(content: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> func.HttpResponse:
    """A good answer; not to be kept by anyone unless `headers` say otherwise."""
    return func.HttpResponse(
        orjson.dumps(content),
        mimetype="application/json",
        headers={"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", **(headers or {})},
    )


def problem_answer(problem: Problem) -> func.HttpResponse:
    """A problem as RFC 9457 says."""
    return func.HttpResponse(
        problems.body(problem),
        status_code=problem.status,
        mimetype=problems.MEDIA_TYPE,
        headers=problems.headers(problem),
    )
