"""What the pipeline of one process is connected to, and its delays and retentions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from shared.catalog.register import feed_starts_at_beginning
from shared.pipeline.account_calls import calls_by
from shared.pipeline.apply.batch import Applier
from shared.pipeline.concurrency import Bounded, FairTurns
from shared.pipeline.dead_letters.open_limit import OpenLimit
from shared.pipeline.dead_letters.store import DeadLetterStore
from shared.pipeline.ledger.cache import LedgerCache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from shared.catalog.register import HasMovedOn
    from shared.pipeline.account_calls import AccountCalls, AccountLanes
    from shared.pipeline.cleanup.messages import SweepQueue
    from shared.pipeline.concurrency import NextTurn, RunAll
    from shared.pipeline.dead_letters.documents import Blobs
    from shared.pipeline.outcome import BatchOutcome
    from shared.tables.accounts import Accounts

REPLAYS_AT_ONCE: Final = 8
_DAY_SECONDS: Final = 86_400


@dataclass(frozen=True, slots=True)
class Times:
    """Delays and retentions. `shared.app.timing_checks` checks how they depend on each other."""

    # How long the ledger rows of deleted facts stay.
    ledger_retention_seconds: int = 30 * _DAY_SECONDS
    # How long dead letters stay: less than the ledger rows of deleted facts.
    dead_letter_retention_seconds: int = 14 * _DAY_SECONDS
    # How long a sweep message waits.
    sweep_delay_seconds: int = 3600
    # No batch starts with a view of the catalog that is older than this.
    refresh_seconds: float = 30
    # A build of a new generation starts this long after its registration: by then every running batch knows it.
    build_delay_seconds: int = 1920
    # How long a generation that is no longer wanted stays: time to roll back, and to page on.
    grace_seconds: int = _DAY_SECONDS
    # A verification counts a change that is younger than this and not applied yet as lag, not as a difference.
    verification_grace_seconds: int = 300

    @property
    def sweep_life_seconds(self) -> int:
        """How long a sweep message lives: it names keys of facts, and is no longer of use than their ledger rows."""
        return self.sweep_delay_seconds + self.ledger_retention_seconds


@dataclass(frozen=True, slots=True)
class Services:
    """What a process is connected to."""

    accounts: Accounts
    blobs: Blobs
    sweep_queue: SweepQueue
    run_all: RunAll
    run_buckets: RunAll
    now_seconds: Callable[[], float]
    # Requests to the Table service since the last call.
    take_transactions: Callable[[], int]
    # Called after every batch that was applied.
    report: Callable[[str, BatchOutcome], None]
    times: Times = Times()
    # Patience with each account; without it all calls go through `run_all`, and every account seems to be up.
    lanes: AccountLanes | None = None
    next_turn: NextTurn = field(default_factory=FairTurns)
    run_replays: RunAll = field(default_factory=partial(Bounded, REPLAYS_AT_ONCE))
    # The same accounts for long work, whose calls give way to those of the feed; by default the same clients.
    background_accounts: Accounts | None = None
    dead_letter_limit: OpenLimit = field(default_factory=OpenLimit)
    # Whether the feed of a source has passed changes that it will not deliver again.
    has_moved_on: HasMovedOn = feed_starts_at_beginning

    def in_background(self) -> Services:
        """The same services for long work."""
        lanes = None if self.lanes is None else self.lanes.patiently()
        return replace(self, accounts=self.background_accounts or self.accounts, lanes=lanes)

    def dead_letter_store(self) -> DeadLetterStore:
        """The dead letters in the main account."""
        return DeadLetterStore(self.accounts.main, self.blobs, self.dead_letter_limit, self.run_all, self.now_seconds)

    def calls(self, accounts: Iterable[str]) -> AccountCalls:
        """The calls of one batch, which may need these accounts."""
        return calls_by(self.run_all) if self.lanes is None else self.lanes.new_calls(accounts)

    def new_applier(self, cache: LedgerCache | None = None) -> Applier:
        """An applier of changes, with its own cache of ledger rows unless it is given one."""
        return Applier(
            self.accounts,
            self.dead_letter_store(),
            self.sweep_queue,
            LedgerCache() if cache is None else cache,
            self.run_all,
            self.run_buckets,
            self.next_turn,
            self.now_seconds,
            self.calls,
        )
