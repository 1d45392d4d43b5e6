"""What applying a change costs when it arrives as an event, against the same change from a Cosmos DB feed.

Both sides begin with the text that the trigger delivers: one JSON body per event, or one JSON array of documents.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from bench.cases.facts import CUSTOMERS_YAML, customer
from bench.cases.pipeline import BATCH
from bench.cases.rivals import storage_serving
from bench.measure.case import Case
from bench.measure.measurement import Bar
from shared.entries.changes.change import own_properties
from shared.entries.changes.received_event import ReceivedEvent

if TYPE_CHECKING:
    from bench.cases.facts import Fact
    from bench.cases.pipeline import Pipeline
    from bench.cases.rivals import Storage
    from bench.measure.measurement import Measurement
    from bench.measure.meter import Meter

NAME = "apply-events"
FACTS = 2_000
ROUNDS_MAX = 3
FROM_HUB, FROM_FEED = "from an event hub", "from a Cosmos DB feed"
# One source with both ways in: with a declared version both give the same rows.
YAML = CUSTOMERS_YAML.replace("deletes:", "eventHub: customers, version: revision, deletes:")
ENQUEUED = datetime(2026, 1, 1, tzinfo=UTC)
# "As fast as", with what two runs of one thing differ by.
BARS = (Bar(at_most=1.1, against=FROM_FEED), Bar(at_most=1.1, against=FROM_FEED, clock="cpu"))


@dataclass
class Delivery:
    """Versions of facts as a trigger delivers them, batch by batch."""

    storage: Storage
    name: str
    count: int
    revision: int
    pipeline: Pipeline = field(init=False)

    def case(self) -> Case:
        """Applying the last version of every fact, after those before it."""
        last = [self._delivered(self._facts(self.revision)[start : start + BATCH]) for start in self._starts]

        async def prepare() -> None:
            self.pipeline = await self.storage.prepared(YAML)
            for revision in range(1, self.revision):
                await self.pipeline.apply(self._facts(revision))

        async def run() -> dict[str, int]:
            sent = self.storage.client.counts.total()
            for delivered in last:
                await self._apply(delivered)
            return {"transactions": self.storage.client.counts.total() - sent}

        return Case(self.name, self.count, run, prepare)

    @property
    def _starts(self) -> range:
        return range(0, self.count, BATCH)

    def _facts(self, revision: int) -> list[Fact]:
        return [customer(number, revision, revision=revision, phone=f"{revision}") for number in range(self.count)]

    def _delivered(self, facts: list[Fact]) -> str | list[bytes]:
        if self.name == FROM_FEED:
            return json.dumps(facts, ensure_ascii=False)
        return [_body(fact) for fact in facts]

    async def _apply(self, delivered: str | list[bytes]) -> None:
        worker, source = self.pipeline.worker, self.pipeline.source
        if isinstance(delivered, str):
            await worker.apply_latest(source, json.loads(delivered))
        else:
            events = [ReceivedEvent(body, ENQUEUED, number) for number, body in enumerate(delivered)]
            await worker.apply_events(self.pipeline.definitions.hubs()[0], events)


def _body(fact: Fact) -> bytes:
    """The plain envelope, with nothing that Cosmos DB would have added."""
    document = own_properties(fact)
    envelope = {"op": "upsert", "id": fact["id"], "partitionKey": fact["customerId"], "version": fact["revision"]}
    return json.dumps({**envelope, "document": document}, ensure_ascii=False).encode()


async def measure(meter: Meter) -> list[Measurement]:
    """Facts that are new, then facts that are there."""
    count = meter.scaled(FACTS)
    async with storage_serving() as storage:
        return [
            await meter.at_most(ROUNDS_MAX).compare(
                name,
                unit="change",
                subject=Delivery(storage, FROM_HUB, count, revision).case(),
                yardsticks=[Delivery(storage, FROM_FEED, count, revision).case()],
                bars=BARS,
            )
            for name, revision in (("events of new facts, 3 indexes", 1), ("events of known facts, 3 indexes", 2))
        ]
