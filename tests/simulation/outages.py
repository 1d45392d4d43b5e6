"""Index accounts that are down: who is down is part of the state of the service, and so is what a process believes.

An account that is down refuses every call. A call that is swallowed, late or without an answer is what the schedulers
do to any call. A process asks whether an account is down before each batch, and a scheduler may answer wrongly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from shared.errors import StorageUnavailableError
from shared.tables.memory.calls import Get, Query, Transact
from shared.tables.memory.store import Store
from tests.simulation.steps import Stopping

if TYPE_CHECKING:
    from shared.tables.counts import CallKind
    from shared.tables.memory.calls import Call
    from shared.tables.port import Page, Row
    from tests.simulation.steps import Answer

OUTAGES = "Outages"


def is_down(store: Store, account: str) -> bool:
    """Whether an account refuses calls."""
    return OUTAGES in store.tables() and store.get(OUTAGES, "", account) is not None


def set_down(store: Store, account: str, *, down: bool) -> None:
    """Let an account refuse calls from now on, or answer them."""
    store.create(OUTAGES)
    store.put((OUTAGES, "", account), {"PartitionKey": "", "RowKey": account} if down else None)


def end_outages(store: Store) -> None:
    """Every account answers."""
    if OUTAGES in store.tables():
        store.drop(OUTAGES)


def unless_down(account: str, call: Call[Any]) -> Call[Any]:
    """The call, which an account that is down refuses."""
    if isinstance(call, Transact):
        return _Transact(call.table, call.operations, account)
    if isinstance(call, Get):
        return _Get(call.table, call.partition, call.row, account)
    if isinstance(call, Query):
        return _Query(call.table, call.rows, call.limit, call.select, call.continuation, account)
    return call


def _refuse_if_down(store: Store, account: str) -> None:
    if is_down(store, account):
        raise StorageUnavailableError(f"{account} is down.", outcome_unknown=False)


@dataclass(frozen=True, slots=True)
class _Transact(Transact):
    account: str

    def perform(self, store: Store) -> tuple[str | None, ...]:
        _refuse_if_down(store, self.account)
        return Transact.perform(self, store)


@dataclass(frozen=True, slots=True)
class _Get(Get):
    account: str

    def perform(self, store: Store) -> Row | None:
        _refuse_if_down(store, self.account)
        return Get.perform(self, store)


@dataclass(frozen=True, slots=True)
class _Query(Query):
    account: str = ""

    def perform(self, store: Store) -> Page:
        _refuse_if_down(store, self.account)
        return Query.perform(self, store)


@dataclass(frozen=True, slots=True)
class AskIfDown:
    """What a process believes of an account; the truth, unless the scheduler lies."""

    kind: ClassVar[CallKind] = "get"
    table: ClassVar[str] = OUTAGES
    account: str

    def perform(self, store: Store) -> bool:
        """Whether it is down."""
        return is_down(store, self.account)

    def wrong(self, answer: Answer) -> Answer:
        """The opposite belief."""
        return replace(answer, value=not answer.value)


@dataclass(frozen=True, slots=True)
class SetDown:
    """An account goes down, or comes back."""

    kind: ClassVar[CallKind] = "create"
    table: ClassVar[str] = OUTAGES
    account: str
    down: bool

    def perform(self, store: Store) -> None:
        """From now on."""
        set_down(store, self.account, down=self.down)


async def believed_down(*accounts: str) -> set[str]:
    """The accounts that a process takes for dead."""
    return {account for account in accounts if await Stopping().carry(AskIfDown(account), Store())}


@dataclass(frozen=True, slots=True)
class Outage:
    """An account goes down and comes back, at any moment."""

    account: str
    times: int = 1

    async def __call__(self) -> None:
        """Down, then up."""
        for _ in range(self.times):
            for down in (True, False):
                await Stopping().carry(SetDown(self.account, down), Store())

    def __str__(self) -> str:
        return f"outage of {self.account}"
