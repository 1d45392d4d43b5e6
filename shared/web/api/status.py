"""The HTTP API of status and advice, which tell operators about the app, without the binding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypedDict

from shared.definitions.answer_types import Amount, Count
from shared.inputs.parameters import no_parameters
from shared.web.answers import HttpAnswer, json_answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.advice.advice_json import AdviceReportJson
    from shared.advice.advisor import Advisor
    from shared.monitoring.count_history import CountPoint
    from shared.monitoring.lag_history import Point
    from shared.monitoring.status import StatusReader
    from shared.monitoring.status_json import StatusJson
    from shared.web.access import Rights


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


async def status(reader: StatusReader, url: str, rights: Rights, *, tells_details: bool = True) -> HttpAnswer:
    """How the app is; an answer also while the storage is down, with what is known. Reasons of dead letters quote
    values of facts: they are told to operators. So is what is about an index that the caller may not read."""
    no_parameters(url)
    found = await reader.status()
    if not tells_details:
        for failure in found["deadLetters"]["reasons"]:
            failure["reason"] = FOR_OPERATORS
    if not rights.operates:
        _leave_out(found, rights)
    return json_answer(found)


def _leave_out(found: StatusJson, rights: Rights) -> None:
    """Leave out the indexes that the caller may not read, and what is about them. Sums of the app stay."""
    may_read = rights.may_read
    found["indexes"] = [index for index in found["indexes"] if may_read(index["name"])]
    if found["tasks"] is not None:
        found["tasks"] = [task for task in found["tasks"] if may_read(str(task["about"].get("index")))]
    letters = found["deadLetters"]
    letters["reasons"] = [one for one in letters["reasons"] if one["index"] is None or may_read(one["index"])]
    for account in found["storage"]["accounts"]:
        if account["owed"] is not None:
            account["owed"]["indexes"] = rights.readable(account["owed"]["indexes"])


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


async def advice(advisor: Advisor, url: str, rights: Rights) -> HttpAnswer:
    """Every index in numbers, and what the pattern warns of. They name the largest partitions, whosever they are: so an
    index is left out for a caller who may not see all of its entries."""
    no_parameters(url)
    report = await advisor.report()
    seen: AdviceReportJson = {"indexes": [index for index in report["indexes"] if rights.may_see_all(index["name"])]}
    return json_answer(seen)


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
