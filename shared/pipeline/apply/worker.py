"""A worker: reads what triggers deliver and applies it, batch by batch.

It lives as long as its process, because its cache of ledger rows serves every batch.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from shared.entries.changes.cosmos_changes import CosmosReader
from shared.entries.changes.event_changes import EventReader
from shared.entries.changes.received_event import ReceivedEvent
from shared.errors import IncompleteBatchError, TableMissingError
from shared.pipeline.apply.intake import read_all, read_transactions
from shared.pipeline.concurrency import all_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.definitions.model import Definitions
    from shared.entries.changes.change import Change
    from shared.pipeline.apply.intake import Intake
    from shared.pipeline.apply.services import Services
    from shared.pipeline.apply.write_plans import WritePlans
    from shared.pipeline.outcome import BatchOutcome


class Worker:
    """Keeps the indexes of all defined sources up to date."""

    def __init__(self, definitions: Definitions, services: Services, plans: WritePlans) -> None:
        self._services = services
        self._plans = plans
        sources = definitions.sources.items()
        self._readers = {name: CosmosReader(source) for name, source in sources if source.cosmos}
        self._event_readers = {name: EventReader(source) for name, source in sources if source.event_hub}
        self._dead_letters = services.dead_letter_store()
        self._applier = services.new_applier()

    async def apply_latest(self, source: str, documents: Sequence[object]) -> None:
        """Apply documents of a latest version feed."""
        read, next_turn = self._readers[source].latest, self._services.next_turn
        await self._apply(source, await read_all(source, documents, read, next_turn))

    async def apply_all_versions(self, source: str, items: Sequence[object]) -> None:
        """Apply items of an all versions and deletes feed."""
        read, next_turn = self._readers[source].all_versions, self._services.next_turn
        await self._apply(source, await read_transactions(source, items, read, next_turn))

    async def apply_events(self, source: str, events: Sequence[ReceivedEvent]) -> None:
        """Apply events of a hub."""
        reader = self._event_readers[source]

        def read(event: ReceivedEvent) -> Change:
            return reader.read(event.body, event.enqueued, event.sequence_number)

        next_turn = self._services.next_turn
        await self._apply(source, await read_all(source, events, read, next_turn, ReceivedEvent.plain, "event"))

    async def _apply(self, source: str, intake: Intake) -> None:
        """Put dead letters first: they are few, and no part of the batch may be acknowledged without them."""
        plan = (await self._plans.current())[source]
        try:
            puts = [partial(self._dead_letters.put, dead_letter) for dead_letter in intake.unreadable]
            await all_of(self._services.run_all, puts)
            outcome = await self._applier.apply(plan, intake.changes)
        except (IncompleteBatchError, TableMissingError) as error:
            await self._plans.create_missing_tables(error)
            raise
        self._report(source, intake, outcome)

    def _report(self, source: str, intake: Intake, outcome: BatchOutcome) -> None:
        outcome.received += len(intake.unreadable) + intake.superseded
        outcome.coalesced += intake.superseded
        outcome.dead_letters += len(intake.unreadable)
        outcome.transactions = self._services.take_transactions()
        self._services.report(source, outcome)
