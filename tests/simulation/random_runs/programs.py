"""What runs beside the workers: timers, operators and sweepers, each with the clock of its process."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from shared.catalog.period_tables import drop_expired_tables
from shared.pipeline.cleanup.expiry import Expirer, ExpiryWalk, sweep_message
from shared.pipeline.cleanup.sweeper import Sweeper
from shared.pipeline.cleanup.swept_keys import announce_listed
from shared.pipeline.dead_letters.listing import DeadLetterFilter
from shared.pipeline.ledger.retention import Retention
from tests.simulation.debts import Deliver
from tests.simulation.programs import CloseOutdated, StoppingQueue, accounts, new_swept_keys
from tests.simulation.random_runs.clock import DAY
from tests.simulation.random_runs.coverage import Coverage, Event
from tests.simulation.repairs import verify_all
from tests.simulation.steps import interleaved
from tests.worlds.dead_letters import new_replayer

if TYPE_CHECKING:
    from collections.abc import Callable

    from shared.verification.assembly import RepairOptions
    from tests.simulation.random_runs.indexes import Code

LEDGER_RETENTION_SECONDS: Final = 30 * DAY
DEAD_LETTER_RETENTION_SECONDS: Final = 14 * DAY


@dataclass(frozen=True, slots=True)
class Programs:
    """The programs of one process."""

    code: Code
    clock: Callable[[], float]
    coverage: Coverage

    async def replay(self) -> None:
        """An operator replays every dead letter that there is, one after the other."""
        replayer, listing = self._replayer()
        page = await listing.page((self.code.plan.source,), DeadLetterFilter(), 100, None)
        for dead_letter in page.dead_letters:
            await replayer.replay(dead_letter)
            self.coverage[Event.REPLAY] += 1

    async def close_outdated(self) -> None:
        """The timer that closes dead letters which no worker has found outdated."""
        self.coverage[Event.OUTDATED] += await CloseOutdated(self.code.plan)()

    async def purge(self) -> None:
        """The timer that deletes dead letters which are too old to be replayed."""
        _, listing = self._replayer()
        old = DeadLetterFilter(failed_before_seconds=self.clock() - DEAD_LETTER_RETENTION_SECONDS)
        page = await listing.page((self.code.plan.source,), old, 100, None)
        self.coverage[Event.PURGED] += await listing.purge(page.dead_letters)

    def _replayer(self) -> Any:
        return new_replayer(self.code.definitions, self.code.plan, accounts(), StoppingQueue(), interleaved, self.clock)

    async def walk(self) -> None:
        """The timer that looks for expired entries."""
        walk = ExpiryWalk(accounts(), StoppingQueue(), self.clock, 0)
        self.coverage[Event.EXPIRED] += await walk.walk([self.code.plan])

    async def drop(self) -> None:
        """The timer that drops the tables of periods that are over."""
        self.coverage[Event.DROPPED] += await drop_expired_tables(accounts(), [self.code.plan], self.clock())

    async def retain(self) -> None:
        """The timer that forgets facts which were deleted long ago."""
        announce = partial(announce_listed, StoppingQueue())
        retention = Retention(accounts().main, LEDGER_RETENTION_SECONDS, self.clock, announce)
        self.coverage[Event.FORGOTTEN] += await retention.clean([self.code.plan])

    async def deliver(self) -> None:
        """The timer that brings accounts what they are owed."""
        self.coverage[Event.DELIVERED] += await Deliver(self.code.plan, self.code.definitions, self.clock)()

    async def sweep(self, message: str) -> None:
        """A message of the sweep queue arrives."""
        self.coverage[Event.SWEEP] += 1
        sweeper, expirer = Sweeper(accounts(), interleaved), Expirer(accounts(), interleaved, self.clock)
        await sweep_message(message, [self.code.plan], sweeper, expirer, new_swept_keys())

    async def verify(self, options: RepairOptions) -> dict[str, dict[str, int]]:
        """A verification of every index; the differences of each by kind."""
        self.coverage[Event.VERIFICATION] += 1
        source = self.code.definitions.sources[self.code.plan.source]
        found = await verify_all(self.code.plan, source, options, self.clock)
        self.coverage[Event.REPAIRED] += sum(sum(counts.values()) for counts in found.values())
        return found
