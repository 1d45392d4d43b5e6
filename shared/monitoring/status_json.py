"""The shape of the status. Null is what is not known now, or cannot be told yet."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

from shared.catalog.rows import GenerationPhase
from shared.definitions.answer_types import Amount, Count, InstantText
from shared.tables.breaker import BreakerState
from shared.tables.limiter.limiter import CutReason
from shared.tasks.rows import TaskState


class SourceStatusJson(TypedDict):
    """A source."""

    name: str
    lagSeconds: Amount | None
    applied: Count
    dropped: Count
    clockWentBack: Count
    redelivered: Count
    deadLetters: Count | None
    deadLettered: Count
    deadLettersNotKept: Count
    ignored: Count
    transactions: Count
    dollarsPerMillionChanges: Amount | None


class IndexTransactionsJson(TypedDict):
    """Storage transactions on the tables of an index."""

    changes: Count | None
    lookups: Count | None


class GenerationStatusJson(TypedDict):
    """A generation of an index."""

    id: str
    state: GenerationPhase
    table: str
    enteredAtSeconds: Count
    builtAtSeconds: Count | None
    verifiedAtSeconds: Count | None
    differences: Count | None


class ServingStatusJson(TypedDict):
    """What an index is to those who look it up."""

    state: Literal["serving", "building", "unknown"]
    generation: str | None


class IndexStatusJson(ServingStatusJson):
    """An index."""

    name: str
    source: str
    lagSeconds: Amount | None
    entriesWritten: Count
    entriesRemoved: Count
    lookups: Count
    rowsRead: Count
    entriesReturned: Count
    transactions: IndexTransactionsJson
    dollarsPerMillionEntries: Amount | None
    dollarsPerMillionLookups: Amount | None
    generations: list[GenerationStatusJson]


class TaskStatusJson(TypedDict):
    """A long task, such as a build: how far it is, and what it has done."""

    id: str
    kind: str
    about: dict[str, Any]
    state: TaskState
    startedAtSeconds: float
    endedAtSeconds: Amount | None
    problem: str | None
    slices: Count
    slicesDone: Count
    counts: dict[str, Count]


class FailureReasonJson(TypedDict):
    """One reason for dead letters, and how many have it."""

    source: str
    index: str | None
    kind: str
    count: Count
    reason: str


class DeadLetterStatusJson(TypedDict):
    """Open dead letters."""

    count: Count | None
    hasMore: bool
    reasons: list[FailureReasonJson]


class BreakerStatusJson(TypedDict):
    """What this instance has seen of the storage."""

    state: BreakerState
    failures: Count
    openForSeconds: Amount | None
    lastError: str | None
    lastOutageSeconds: Amount | None


class AccountTransactionsJson(TypedDict):
    """Storage transactions of an account."""

    changes: Count
    lookups: Count


class WaitingCallsJson(TypedDict):
    """Calls that wait for a permit: of lookups and other callers, of changes, and of long work."""

    callers: Count
    feed: Count
    background: Count


class LimitCutJson(TypedDict):
    """When and why the limit was last made smaller."""

    reason: CutReason
    secondsAgo: float
    before: Count
    after: Count


class LimiterStatusJson(TypedDict):
    """How many calls this instance has out to an account, and what it makes the limit from.

    Latencies are those of quiet moments; `latencyRatio` times that is usual now.
    """

    limit: Count
    limitMax: Count
    inFlight: Count
    waiting: WaitingCallsJson
    readMilliseconds: Amount | None
    writeMilliseconds: Amount | None
    latencyRatio: float
    lastCut: LimitCutJson | None
    pacedPartitions: Count


class OwedStatusJson(TypedDict):
    """What waits for an account that is or was down: facts (at least so many), since when, and of which indexes."""

    facts: Count
    hasMore: bool
    sinceSeconds: Count
    indexes: list[str]


class AccountStatusJson(TypedDict):
    """A storage account, by the name of its connection. `answers`: as far as this instance knows.
    `limiter` is null for one that this instance does not call."""

    name: str
    transactions: AccountTransactionsJson
    answers: bool
    owed: OwedStatusJson | None
    limiter: LimiterStatusJson | None


class StorageStatusJson(TypedDict):
    """The index storage."""

    isReachable: bool
    breaker: BreakerStatusJson
    accounts: list[AccountStatusJson]


class CountersStatusJson(TypedDict):
    """Since when everything is counted, and by how many instances."""

    sinceSeconds: Amount | None
    instances: Count


class PricesJson(TypedDict):
    """The prices that costs are worked out with."""

    date: str
    currency: str
    perMillionTransactions: float


class StatusJson(TypedDict):
    """The whole status."""

    at: InstantText
    unknown: list[str]
    definitionFaults: list[str]
    sources: list[SourceStatusJson]
    indexes: list[IndexStatusJson]
    tasks: list[TaskStatusJson] | None
    deadLetters: DeadLetterStatusJson
    storage: StorageStatusJson
    counters: CountersStatusJson
    prices: PricesJson
