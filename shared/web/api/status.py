"""The HTTP API of status and advice, which tell operators about the app, without the binding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypedDict

from shared.definitions.answer_types import Amount, Count
from shared.inputs.parameters import no_parameters
from shared.web.answers import HttpAnswer, json_answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.advice.advisor import Advisor
    from shared.monitoring.count_history import CountPoint
    from shared.monitoring.lag_history import Point
    from shared.monitoring.status import StatusReader


FOR_OPERATORS: Final = "It quotes values: operators see it with the dead letters."


class LagPointJson(TypedDict):
    """The lag at a point of time, in seconds since 1970; null when it was not known."""

    atSeconds: Count
    lagSeconds: Amount | None


class SourceLagJson(TypedDict):
    """The lag of a source over time."""

    source: str
    points: list[LagPointJson]


class CountPointJson(TypedDict):
    """What the app had done by a point of time, ever: what two points differ by was done between them."""

    atSeconds: Count
    changes: Count
    entries: Count
    lookups: Count
    transactions: Count


class LagHistoryJson(TypedDict):
    """The lag of all sources, and how much was done."""

    value: list[SourceLagJson]
    counted: list[CountPointJson]


async def status(reader: StatusReader, url: str, *, tells_details: bool = True) -> HttpAnswer:
    """How the app is; an answer also while the storage is down, with what is known. Reasons of dead letters quote
    values of facts: they are told to operators."""
    no_parameters(url)
    found = await reader.status()
    if not tells_details:
        for failure in found["deadLetters"]["reasons"]:
            failure["reason"] = FOR_OPERATORS
    return json_answer(found)


async def history(reader: StatusReader, url: str) -> HttpAnswer:
    """The lag of each source over time, and what had been done by when."""
    no_parameters(url)
    lags, counted = await reader.history(), await reader.counted()
    return json_answer(
        LagHistoryJson(
            value=[_source_lag(source, points) for source, points in lags.items()],
            counted=[_count_point(point) for point in counted],
        )
    )


async def advice(advisor: Advisor, url: str) -> HttpAnswer:
    """Every index in numbers, and what the pattern warns of."""
    no_parameters(url)
    return json_answer(await advisor.report())


def _count_point(point: CountPoint) -> CountPointJson:
    return {
        "atSeconds": point.at,
        "changes": point.changes,
        "entries": point.entries,
        "lookups": point.lookups,
        "transactions": point.transactions,
    }


def _source_lag(source: str, points: Sequence[Point]) -> SourceLagJson:
    return {"source": source, "points": [{"atSeconds": at, "lagSeconds": lag} for at, lag in points]}
