"""What reading and projecting a 1 KB fact into three indexes costs, against json.loads; and loading 100 definitions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import yaml

from bench.case import Case
from bench.facts import CUSTOMER, CUSTOMERS_YAML
from bench.measurement import Bar
from shared.definitions.compiled import compile_definitions, from_compiled
from shared.definitions.loading.load import load
from shared.entries.changes.cosmos_changes import CosmosReader
from shared.entries.projection.projector import Projector

if TYPE_CHECKING:
    from bench.measurement import Measurement
    from bench.meter import Meter

NAME = "projection"
FACTS = 2_000
LOADS = 3
INDEXES = 100
# The bar for one fact with one entry in each of three indexes.
PROJECTIONS_IN_LOADS = 6
LOAD_SECONDS_MAX = 0.150


def hundred_definitions() -> str:
    """A file with 100 indexes that use most keys."""
    head, _, _ = CUSTOMERS_YAML.partition("indexes:")
    body = "".join(
        f"""
  index-{number}:
    source: customers
    partition: {{path: field{number}, name: field, fold: case}}
    sort: [{{path: since, type: datetime, order: desc}}, lastName]
    project: [phone, email, address.zip]
    where: active && spend > `10`
    shards: 16
    hot: {{"c-1": 64}}
    expire: {{path: since, after: 90d}}
"""
        for number in range(INDEXES)
    )
    return f"{head}indexes:{body}"


async def measure(meter: Meter) -> list[Measurement]:
    """The hot path of a change, and what only a start without compiled definitions pays."""
    definitions = load(CUSTOMERS_YAML).require()
    source = definitions.sources["customers"]
    projectors = [Projector(index, source) for index in definitions.indexes.values()]
    reader = CosmosReader(source)
    change = reader.latest(CUSTOMER)
    document = json.dumps(CUSTOMER, ensure_ascii=False)
    many = hundred_definitions()
    compiled = compile_definitions(many, load(many).require())

    def project() -> None:
        for projector in projectors:
            projector.project(change)

    facts, loads = meter.scaled(FACTS), meter.scaled(LOADS)
    yardstick = Case.repeating("json.loads", lambda: json.loads(document), facts)
    return [
        await meter.compare(
            "project into 3 indexes",
            unit="fact",
            subject=Case.repeating("project", project, facts),
            yardsticks=[yardstick],
            bars=[Bar(at_most=PROJECTIONS_IN_LOADS, against="json.loads")],
        ),
        await meter.compare(
            "read a change",
            unit="fact",
            subject=Case.repeating("CosmosReader.latest", lambda: reader.latest(CUSTOMER), facts),
            yardsticks=[yardstick],
        ),
        await meter.compare(
            "load 100 definitions",
            unit="file",
            subject=Case.repeating("load and check", lambda: load(many), loads),
            yardsticks=[
                Case.repeating("only parse the YAML", lambda: yaml.load(many, yaml.CSafeLoader), loads),
                Case.repeating("read the compiled form", lambda: from_compiled(many, compiled), loads),
            ],
            bars=[Bar(at_most=LOAD_SECONDS_MAX)],
        ),
    ]
