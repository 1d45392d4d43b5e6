"""The pipeline as the workloads run it: a worker on any Table service, with nothing else around it.

This is the one place that knows how a worker is put together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.app.gc_tuning import tune_garbage_collection
from shared.app.parts import Parts
from shared.definitions.loading.load import load
from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.monitoring import telemetry
from shared.pipeline.apply.services import Services, Times
from shared.pipeline.concurrency import AtOnce, Staggered
from shared.tables.accounts import Accounts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.cases.facts import Fact
    from shared.pipeline.dead_letters.documents import StoredBlob
    from shared.tables.port import Tables

# The clock stands still: what a worker does every so many seconds must not fall into one round and not into another.
NOW_SECONDS = 1_700_000_100.0
# What the trigger delivers at most.
BATCH = 1_000


class Queue:
    """Keeps the sweep messages, for whoever sweeps."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    async def send(self, message: str) -> None:
        """Keep a message."""
        self.messages.append(message)


class NoBlobs:
    """No document is too large here."""

    async def put(self, folder: str, content: bytes) -> str:
        """Never called."""
        return folder

    async def get(self, name: str) -> bytes | None:
        """Never called."""

    async def delete(self, name: str) -> None:
        """Never called."""

    async def page(self, continuation: str | None) -> tuple[list[StoredBlob], str | None]:
        """There are none."""
        return [], None


class Pipeline:
    """A worker that has seen nothing yet, for the one source of some definitions."""

    def __init__(self, yaml: str, tables: Tables, build_delay_seconds: int = 1920) -> None:
        self.definitions = load(yaml, "bench").require()
        (self.source,) = self.definitions.sources
        self.queue = Queue()
        tune_garbage_collection()  # as the app does
        accounts = Accounts({DEFAULT_ACCOUNT: tables})
        services = Services(
            accounts,
            NoBlobs(),
            self.queue,
            AtOnce(),
            Staggered(),
            lambda: NOW_SECONDS,
            take_transactions=lambda: 0,
            report=lambda source, outcome: telemetry.batch_applied(source, outcome.numbers()),  # as the app does
            times=Times(build_delay_seconds=build_delay_seconds),
        )
        self.parts = Parts(self.definitions, services)
        self.worker = self.parts.worker

    async def prepare(self) -> None:
        """Make the tables."""
        await self.parts.ready()

    async def apply(self, changes: Sequence[Fact], batch: int = BATCH) -> None:
        """Apply changes in batches, as the trigger delivers them."""
        for start in range(0, len(changes), batch):
            await self.worker.apply_latest(self.source, changes[start : start + batch])

    async def sweep(self) -> None:
        """Sweep what every message names."""
        messages, self.queue.messages = self.queue.messages, []
        for message in messages:
            await self.parts.maintenance.sweep(message)
