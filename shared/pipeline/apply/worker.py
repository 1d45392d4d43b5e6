"""A worker: reads what triggers deliver and applies it, batch by batch.

It lives as long as its process, because its cache of ledger rows serves every batch.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from shared.entries.changes.cosmos_changes import CosmosReader
from shared.entries.changes.hub_reader import HubReader
from shared.errors import IncompleteBatchError, TableMissingError
from shared.pipeline.apply.intake import read_all, read_hub, read_transactions
from shared.pipeline.concurrency import AtOnce, all_of
from shared.pipeline.outcome import BatchOutcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.definitions.model import Definitions
    from shared.entries.changes.received_event import ReceivedEvent
    from shared.pipeline.apply.intake import Intake
    from shared.pipeline.apply.services import Services
    from shared.pipeline.apply.write_plans import WritePlans


class Worker:
    """Keeps the indexes of all defined sources up to date."""

    def __init__(self, definitions: Definitions, services: Services, plans: WritePlans) -> None:
        self._services = services
        self._plans = plans
        sources = definitions.sources.items()
        self._readers = {name: CosmosReader(source) for name, source in sources if source.cosmos}
        self._hub_readers = {hub: HubReader(definitions.sources_of_hub(hub)) for hub in definitions.hubs()}
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

    async def apply_events(self, hub: str, events: Sequence[ReceivedEvent]) -> None:
        """Apply events of a hub, those of each source side by side."""
        intakes = await read_hub(self._hub_readers[hub], events, self._services.next_turn)
        await all_of(AtOnce(), [partial(self._apply, source, intake) for source, intake in intakes.items()])

    async def _apply(self, source: str, intake: Intake) -> None:
        """Put dead letters first: they are few, and no part of the batch may be acknowledged without them.

        Without any change nothing is read or written: a hub may carry far more events of others.
        """
        if not intake.changes and not intake.unreadable:
            self._report(source, intake, BatchOutcome())
            return
        plan = (await self._plans.current())[source]
        try:
            put = await self._dead_letters.put_all(source, intake.unreadable)
            for failure in put.failures.values():
                raise failure
            outcome = await self._applier.apply(plan, intake.changes)
        except (IncompleteBatchError, TableMissingError) as error:
            await self._plans.create_missing_tables(error)
            raise
        outcome.dead_letters_not_kept += put.not_kept
        self._report(source, intake, outcome)

    def _report(self, source: str, intake: Intake, outcome: BatchOutcome) -> None:
        outcome.received += len(intake.unreadable) + intake.superseded
        outcome.coalesced += intake.superseded
        outcome.ignored += intake.ignored
        outcome.dead_letters += len(intake.unreadable)
        outcome.transactions = self._services.take_transactions()
        self._services.report(source, outcome)
