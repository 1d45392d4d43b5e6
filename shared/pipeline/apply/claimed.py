"""The changes of a batch on their way through the protocol, and what became of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from shared.pipeline.ledger.cache import ABSENT, KnownRow
from shared.pipeline.ledger.shares import ShareKey, accounts_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from shared.entries.changes.change import Change
    from shared.entries.projection.project_all import GenerationEntries
    from shared.pipeline.apply.decide import Decision
    from shared.pipeline.cleanup.messages import Swept
    from shared.pipeline.entry_writes.entry_writer import EntryWriter
    from shared.pipeline.ledger.rows import LedgerRow
    from shared.pipeline.summaries.summary_writer import SummaryWriter
    from shared.pipeline.summaries.sweeping import GoneContribution
    from shared.tables.port import Entity


@dataclass(slots=True)
class ClaimedChange:
    """One change on its way through the protocol."""

    change: Change
    key: tuple[str, str]
    projected: list[GenerationEntries]
    known: KnownRow = ABSENT
    # The fact key, which identifies the fact within its batch.
    fact: str = field(init=False)
    decision: Decision = field(init=False)
    entity: Entity | None = None
    # The ETag of the ledger row that the writes belong to: the claimed row, or for a redelivery the row that was read.
    etag: str = ""
    # The shares whose writes are all acknowledged.
    written: frozenset[ShareKey] = frozenset()
    # The ledger row after it was noted what is owed.
    settled: LedgerRow | None = None

    def __post_init__(self) -> None:
        self.fact = self.change.fact_key

    @property
    def row(self) -> LedgerRow:
        """The ledger row that the writes belong to."""
        return self.settled or self.decision.claim or self.known.row

    @property
    def finished(self) -> frozenset[ShareKey]:
        """The shares that are finished now."""
        return self.decision.still_finished | self.written

    def settle(self, row: LedgerRow, etag: str) -> None:
        """The ledger row says now what is owed."""
        self.settled, self.etag = row, etag

    def has_written(self, generation: str, version: str) -> bool:
        """Whether all entries of a version are written, or owed; False when unknown."""
        state = self.row.states.get(generation)
        known = [projection.generation for projection in self.projected if projection.generation.id == generation]
        if state is None or state.version != version or state.failed or not known:
            return False
        return all(ShareKey(generation, account) in self.finished for account in accounts_of(known[0], state))


class Writers(NamedTuple):
    """What writes the rows of one batch: of entries, and of summaries; and what announces those to be swept."""

    entries: EntryWriter
    summaries: SummaryWriter
    announce: Callable[[Iterable[Swept]], Awaitable[None]]


@dataclass(slots=True)
class ClaimResult:
    """What became of a batch: facts with writes to make (`claimed`), facts with nothing to do (`passed`), failures."""

    claimed: list[ClaimedChange] = field(default_factory=list)
    passed: list[ClaimedChange] = field(default_factory=list)
    # Changes that were not looked at yet.
    waiting: list[Change] = field(default_factory=list)
    failures: dict[str, Exception] = field(default_factory=dict)
    # Contributions to summaries that are gone since, and must be swept.
    gone: list[GoneContribution] = field(default_factory=list)

    def add(self, other: ClaimResult) -> None:
        """Add the result of other changes."""
        self.claimed += other.claimed
        self.passed += other.passed
        self.waiting += other.waiting
        self.failures |= other.failures
        self.gone += other.gone
