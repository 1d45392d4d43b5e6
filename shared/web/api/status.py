"""The HTTP API of status and advice, which tell operators about the app, without the binding."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from shared.definitions.answer_types import Amount, Count
from shared.inputs.parameters import no_parameters
from shared.web.answers import HttpAnswer, json_answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.advice.advisor import Advisor
    from shared.monitoring.lag_history import Point
    from shared.monitoring.status import StatusReader


class LagPointJson(TypedDict):
    """The lag at a point of time, in seconds since 1970; null when it was not known."""

    atSeconds: Count
    lagSeconds: Amount | None


class SourceLagJson(TypedDict):
    """The lag of a source over time."""

    source: str
    points: list[LagPointJson]


class LagHistoryJson(TypedDict):
    """The lag of all sources."""

    value: list[SourceLagJson]


async def status(reader: StatusReader, url: str) -> HttpAnswer:
    """How the app is; an answer also while the storage is down, with what is known."""
    no_parameters(url)
    return json_answer(await reader.status())


async def history(reader: StatusReader, url: str) -> HttpAnswer:
    """The lag of each source over time."""
    no_parameters(url)
    known = await reader.history()
    return json_answer(LagHistoryJson(value=[_source_lag(source, points) for source, points in known.items()]))


async def advice(advisor: Advisor, url: str) -> HttpAnswer:
    """Every index in numbers, and what the pattern warns of."""
    no_parameters(url)
    return json_answer(await advisor.report())


def _source_lag(source: str, points: Sequence[Point]) -> SourceLagJson:
    return {"source": source, "points": [{"atSeconds": at, "lagSeconds": lag} for at, lag in points]}
