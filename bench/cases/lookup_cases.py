"""The same reading twice: as a lookup of ours, and as bare queries for the rows that `explain` says it reads."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from bench.cases.in_flight import CALLS_AT_ONCE, in_flight
from bench.measure.case import Case
from shared.tables.port import RowRange
from shared.web.answers import json_answer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from azure.cosmos.aio import ContainerProxy

    from bench.cases.bare_tables import BareTables
    from shared.lookup.lookups import Lookups
    from shared.tables.client import TableClient


@dataclass(frozen=True, slots=True)
class Reading:
    """What is looked up: so many rows a page, so many pages one after the other."""

    name: str
    index: str
    parameters: Mapping[str, str]
    rows: int
    pages: int = 1

    @property
    def expands(self) -> bool:
        """Whether the facts are fetched as well."""
        return "expand" in self.parameters


@dataclass(frozen=True, slots=True)
class Services:
    """The ways to the rows."""

    client: TableClient
    lookups: Lookups
    bare: BareTables
    container: ContainerProxy


def lookup_case(services: Services, reading: Reading, count: int) -> Case:
    """Ours, up to the bytes of the answer."""

    async def run() -> dict[str, int]:
        sent, rows = services.client.counts.total(), 0
        for _ in range(count):
            rows += await _look_up(services.lookups, reading)
        return {"rows": rows, "transactions": services.client.counts.total() - sent}

    return Case("in process", count * reading.pages, run)


async def _look_up(lookups: Lookups, reading: Reading) -> int:
    rows = 0
    parameters: Mapping[str, str] | None = reading.parameters
    for _ in range(reading.pages):
        assert parameters is not None
        page = await lookups.find(reading.index, parameters)
        json_answer({"value": page.entries})
        rows += len(page.entries)
        parameters = page.next_parameters
    return rows


def bare_case(name: str, services: Services, reading: Reading, count: int) -> Case:
    """The same rows, asked for by hand; facts are read with the SDK, as many at once as ours."""

    async def run() -> dict[str, int]:
        explained = await services.lookups.explain(reading.index, reading.parameters)
        rows = [await _query(services, reading, explained) for _ in range(count)]
        return {"rows": sum(rows), "transactions": count * reading.pages * len(explained["partitionKeys"])}

    return Case(name, count * reading.pages, run)


async def _query(services: Services, reading: Reading, explained: Mapping[str, Any]) -> int:
    bounds, rows = explained["rowKeys"], 0
    lower = bounds["from"]
    for _ in range(reading.pages):
        answers = await asyncio.gather(
            *[
                services.bare.query(explained["table"], RowRange(key, lower, bounds["before"]), reading.rows)
                for key in explained["partitionKeys"]
            ]
        )
        rows += min(reading.rows, sum(answer.count(b'"RowKey"') for answer in answers))
        if reading.pages > 1 or reading.expands:
            found = orjson.loads(answers[0])["value"]
            lower = found[-1]["RowKey"] + " "
        if reading.expands:
            await _read_facts(services.container, [f"c-{_number(row):06}" for row in found])
    return rows


async def _read_facts(container: ContainerProxy, ids: list[str]) -> None:
    async def read(number: int) -> None:
        await container.read_item(ids[number], partition_key=ids[number])

    await in_flight(CALLS_AT_ONCE, read, len(ids))


def _number(row: Mapping[str, Any]) -> int:
    """The customer's number, which is in its name."""
    return int(orjson.loads(row["_key"])["lastName"].rpartition(" ")[2])
