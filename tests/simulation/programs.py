"""The programs that a simulation runs: real workers, sweepers and a reader over a shared in-memory service."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from shared.catalog.period_tables import drop_expired_tables
from shared.catalog.rows import CATALOG_TABLE
from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.errors import IncompleteBatchError
from shared.pipeline.account_calls import calls_by
from shared.pipeline.apply.batch import Applier
from shared.pipeline.cleanup.expiry import Expirer, ExpiryWalk, sweep_message
from shared.pipeline.cleanup.sweeper import Sweeper
from shared.pipeline.cleanup.swept_keys import SweptKeys, announce_listed
from shared.pipeline.dead_letters.listing import DeadLetterFilter
from shared.pipeline.dead_letters.open_limit import OpenLimit
from shared.pipeline.dead_letters.outdated import OutdatedWalk
from shared.pipeline.dead_letters.rows import DEAD_LETTER_TABLE
from shared.pipeline.dead_letters.store import DeadLetterStore
from shared.pipeline.ledger.cache import LedgerCache
from shared.pipeline.ledger.retention import Retention
from shared.pipeline.ledger.rows import LEDGER_TABLE
from shared.tables.accounts import Accounts
from shared.tables.memory.calls import ListTables
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.memory.store import Store
from tests.simulation.outages import unless_down
from tests.simulation.steps import Stopping, interleaved
from tests.simulation.summary_lanes import LanesFrom
from tests.worlds.dead_letters import new_replayer
from tests.worlds.world import KeptBlobs, no_turn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet

    from shared.definitions.model import Definitions
    from shared.entries.changes.change import Change
    from shared.entries.projection.generations import SourcePlan
    from shared.tables.counts import CallKind
    from shared.tables.memory.calls import Call

T = TypeVar("T")

QUEUE_TABLE = "SweepQueue"
NOW_SECONDS = 1_800_000_000


@dataclass(frozen=True, slots=True)
class SendMessage:
    """A message for the sweep queue, which is kept as a table so that it is part of the state."""

    kind: ClassVar[CallKind] = "create"
    table: ClassVar[str] = QUEUE_TABLE
    message: str

    def perform(self, store: Store) -> None:
        """Keep the message."""
        digest = sha256(self.message.encode()).hexdigest()
        entity: dict[str, Any] = {"PartitionKey": "", "RowKey": digest, "message": self.message}
        if store.get(QUEUE_TABLE, "", digest) is None:
            store.put((QUEUE_TABLE, "", digest), entity)


@dataclass(frozen=True, slots=True)
class TakeMessages:
    """All messages of the sweep queue, once."""

    kind: ClassVar[CallKind] = "create"
    table: ClassVar[str] = QUEUE_TABLE

    def perform(self, store: Store) -> list[str]:
        """Give and forget the messages."""
        messages = messages_in(store)
        forget_messages(store)
        return messages


class StoppingQueue:
    """A sweep queue whose sends are storage calls like any other."""

    async def send(self, message: str) -> None:
        """Stop at the call."""
        await Stopping().carry(SendMessage(message), Store())  # the scheduler has the real one


def messages_in(store: Store) -> list[str]:
    """The messages that wait, in a fixed order."""
    rows = store.partition(QUEUE_TABLE, "")
    found = [store.get(QUEUE_TABLE, "", key) for key in sorted(rows)]
    return [str(row.entity["message"]) for row in found if row is not None]


def forget_messages(store: Store) -> None:
    """All messages have been delivered."""
    store.drop(QUEUE_TABLE)
    store.create(QUEUE_TABLE)


def new_store(*plans: SourcePlan) -> Store:
    """A service with the tables that a start-up creates."""
    store = Store()
    for table in (CATALOG_TABLE, LEDGER_TABLE, DEAD_LETTER_TABLE, QUEUE_TABLE):
        store.create(table)
    for plan in plans:
        for generation in plan.generations:
            for account, table in generation.tables():
                store.create(stored_name(account, table))
    return store


def stored_name(account: str, table: str) -> str:
    """What the table of an account is called in the one store that all accounts share."""
    return table if account == DEFAULT_ACCOUNT else f"{account}-{table}"


class InAccount:
    """A carrier that stops, for the tables of one account."""

    def __init__(self, account: str) -> None:
        self._account = account

    async def carry(self, call: Call[T], store: Store) -> T:
        """The answer that the scheduler gives."""
        renamed: Any = replace(cast(Any, call), table=stored_name(self._account, call.table))
        answer: Any = await Stopping().carry(unless_down(self._account, renamed), store)
        if isinstance(renamed, ListTables):
            answer = tuple(name.removeprefix(stored_name(self._account, "")) for name in answer)
        return cast(T, answer)


class EveryAccount(dict[str, MemoryTables]):
    """Accounts of any name."""

    def __missing__(self, name: str) -> MemoryTables:
        return MemoryTables(carrier=InAccount(name))


def accounts() -> Accounts:
    """The accounts, whose calls stop."""
    return Accounts(EveryAccount({DEFAULT_ACCOUNT: MemoryTables(carrier=Stopping())}))


def new_process(
    clock: Callable[[], float] = lambda: NOW_SECONDS, down: AbstractSet[str] = frozenset(), lane: int = 0
) -> Applier:
    """A worker process as it starts, with the accounts that it takes for dead and its first lane in every group."""
    reached = accounts()
    applier = Applier(
        reached,
        DeadLetterStore(reached.main, KeptBlobs(), OpenLimit(), interleaved, clock),
        StoppingQueue(),
        LedgerCache(),
        interleaved,
        interleaved,
        no_turn,
        clock,
        lambda _: calls_by(interleaved, down),
    )
    applier._summaries.lanes = LanesFrom(lane)
    return applier


@dataclass(frozen=True, slots=True)
class Worker:
    """A process that applies batches one after the other; one that fails is delivered again, a few times."""

    plan: SourcePlan
    batches: tuple[tuple[Change, ...], ...]
    attempts: int = 2
    reads_first: bool = False
    now_seconds: int = NOW_SECONDS
    lane: int = 0

    async def __call__(self) -> None:
        """Apply everything or raise."""
        applier = new_process(lambda: self.now_seconds, lane=self.lane)
        if self.reads_first:
            applier._claimer.insert_or_read.observe(existing=10, absent=0)
        for batch in self.batches:
            for attempt in range(1, self.attempts + 1):
                try:
                    await applier.apply(self.plan, batch)
                    break
                except IncompleteBatchError:
                    if attempt == self.attempts:
                        raise

    def __str__(self) -> str:
        versions = ["+".join(change.version[30:35].lstrip("0") for change in batch) for batch in self.batches]
        return f"worker({', '.join(versions)})"


def new_swept_keys() -> SweptKeys:
    """What takes swept keys out of ledger rows."""
    return SweptKeys(accounts().main, StoppingQueue(), interleaved)


@dataclass(frozen=True, slots=True)
class Sweep:
    """A sweeper with messages that have waited long enough."""

    messages: tuple[str, ...]
    plan: SourcePlan
    sweeper: type[Sweeper] = Sweeper
    expirer: type[Expirer] = Expirer
    swept_keys: Callable[[], SweptKeys] = new_swept_keys

    async def __call__(self) -> None:
        """Sweep all of them."""
        sweeper = self.sweeper(accounts(), interleaved)
        expirer = self.expirer(accounts(), interleaved, lambda: NOW_SECONDS)
        for message in self.messages:
            await sweep_message(message, [self.plan], sweeper, expirer, self.swept_keys())

    def __str__(self) -> str:
        return "sweeper"


@dataclass(frozen=True, slots=True)
class Replay:
    """An operator who replays every dead letter that there is."""

    is_redelivered: ClassVar[bool] = False
    plan: SourcePlan
    definitions: Definitions

    async def __call__(self) -> None:
        """List them, then replay one after the other."""
        replayer, listing = new_replayer(
            self.definitions, self.plan, accounts(), StoppingQueue(), interleaved, lambda: NOW_SECONDS
        )
        page = await listing.page((self.plan.source,), DeadLetterFilter(), 100, None)
        for dead_letter in page.dead_letters:
            await replayer.replay(dead_letter)

    def __str__(self) -> str:
        return "replay"


@dataclass(frozen=True, slots=True)
class CloseOutdated:
    """The timer that closes outdated dead letters."""

    plan: SourcePlan

    async def __call__(self) -> int:
        """Walk through all of them once."""
        reached = accounts()
        store = DeadLetterStore(reached.main, KeptBlobs(), OpenLimit(), interleaved, lambda: NOW_SECONDS)
        return await OutdatedWalk(reached.main, store, interleaved).close([self.plan])

    def __str__(self) -> str:
        return "close outdated"


@dataclass(frozen=True, slots=True)
class Retain:
    """The timer that forgets facts which ended long ago."""

    plan: SourcePlan
    retention_seconds: int
    now_seconds: int = NOW_SECONDS

    async def __call__(self) -> int:
        """Walk through the ledger once."""
        announce = partial(announce_listed, StoppingQueue())
        retention = Retention(accounts().main, self.retention_seconds, lambda: self.now_seconds, announce)
        return await retention.clean([self.plan])

    def __str__(self) -> str:
        return "retention"


@dataclass(frozen=True, slots=True)
class Walk:
    """The timer that looks for expired entries."""

    plan: SourcePlan

    async def __call__(self) -> int:
        """Walk through all tables once."""
        return await ExpiryWalk(accounts(), StoppingQueue(), lambda: NOW_SECONDS, 0).walk([self.plan])

    def __str__(self) -> str:
        return "walk"


@dataclass(frozen=True, slots=True)
class Drop:
    """The timer that drops the tables of periods that are over."""

    plan: SourcePlan
    now_seconds: int = NOW_SECONDS

    async def __call__(self) -> int:
        """Drop all of them once."""
        return await drop_expired_tables(accounts(), [self.plan], self.now_seconds)

    def __str__(self) -> str:
        return "drop"


def batches_of(*changes: Change) -> tuple[tuple[Change, ...], ...]:
    """Each change in a batch of its own."""
    return tuple((change,) for change in changes)


def one_batch(changes: Sequence[Change]) -> tuple[tuple[Change, ...], ...]:
    """All changes in one batch."""
    return (tuple(changes),)


@dataclass(frozen=True, slots=True)
class SharedProcess:
    """Several invocations at the same time in one process, with one cache."""

    plan: SourcePlan
    batches: tuple[tuple[Change, ...], ...]

    async def __call__(self) -> None:
        """Apply everything, all at once; what fails, once more."""
        applier = new_process()
        for _ in range(2):
            results = await interleaved([partial(applier.apply, self.plan, batch) for batch in self.batches])
            errors = [result for result in results if isinstance(result, Exception)]
            if not errors:
                return
        raise errors[0]

    def __str__(self) -> str:
        return "process"


@dataclass(frozen=True, slots=True)
class HandOver:
    """A process applies a batch, which may fail; a successor continues, and everything is swept; then the first process
    gets its batch again, with what it remembers."""

    plan: SourcePlan
    first: tuple[Change, ...]
    second: tuple[Change, ...]

    async def __call__(self) -> None:
        """All of it, in this order; each process tries twice."""
        process, successor = new_process(), new_process()
        with suppress(IncompleteBatchError):
            await process.apply(self.plan, self.first)
        await _apply_twice(successor, self.plan, self.second)
        messages = await Stopping().carry(TakeMessages(), Store())
        await Sweep(tuple(messages), self.plan)()
        await _apply_twice(process, self.plan, self.first)

    def __str__(self) -> str:
        return "hand-over"


async def _apply_twice(process: Applier, plan: SourcePlan, batch: tuple[Change, ...]) -> None:
    try:
        await process.apply(plan, batch)
    except IncompleteBatchError:
        await process.apply(plan, batch)
