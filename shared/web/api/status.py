"""The HTTP API of the status, without the binding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shared.inputs.parameters import no_parameters
from shared.web.answers import HttpAnswer, json_answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.monitoring.lag_history import Point
    from shared.monitoring.status import StatusReader


async def status(reader: StatusReader, url: str) -> HttpAnswer:
    """How the app is; an answer also while the storage is down, with what is known."""
    no_parameters(url)
    return json_answer(await reader.status())


async def history(reader: StatusReader, url: str) -> HttpAnswer:
    """The lag of each source over time."""
    no_parameters(url)
    known = await reader.history()
    return json_answer({"value": [_history(source, points) for source, points in known.items()]})


def _history(source: str, points: Sequence[Point]) -> dict[str, Any]:
    return {"source": source, "points": [{"atSeconds": at, "lagSeconds": lag} for at, lag in points]}
