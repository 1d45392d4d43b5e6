"""Entry writes: unconditional, idempotent, grouped by partition into as few transactions as the service allows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from shared.tables.limits import OPERATIONS_MAX
from shared.tables.transactions import send_creating_period_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shared.entries.projection.generations import Place
    from shared.pipeline.account_calls import AccountCalls
    from shared.tables.accounts import Accounts
    from shared.tables.port import Operation

# Facts whose writes to an account were not all acknowledged.
WriteFailures: TypeAlias = "dict[tuple[str, str], Exception]"


class EntryWrite(NamedTuple):
    """Operations on the rows of one entry key of a fact, to be sent in one transaction."""

    fact: str
    place: Place
    operations: tuple[Operation, ...]


class _Group:
    """Writes to one partition, for one transaction."""

    __slots__ = ("size", "writes")

    def __init__(self) -> None:
        self.writes: list[EntryWrite] = []
        self.size = 0


class TransactionBuffer:
    """Collects writes, and sends them when they fill a transaction, or at the end. `failures` has the facts whose
    writes were not all acknowledged, with the account and the error."""

    def __init__(self, accounts: Accounts, calls: AccountCalls) -> None:
        self._accounts = accounts
        self._calls = calls
        self._open: dict[Place, _Group] = {}
        self.failures: WriteFailures = {}

    async def add(self, writes: Iterable[EntryWrite]) -> None:
        """Add writes, and send the transactions that are full."""
        await self._send(list(self._filled(writes)))

    async def send_places(self, places: Iterable[Place]) -> None:
        """Send what there is for these places."""
        await self._send([self._open.pop(place) for place in places if place in self._open])

    async def finish(self, writes: Iterable[EntryWrite] = ()) -> None:
        """Add the last writes, and send everything at once."""
        filled = list(self._filled(writes))
        rest, self._open = self._open, {}
        await self._send([*filled, *rest.values()])

    def _filled(self, writes: Iterable[EntryWrite]) -> Iterator[_Group]:
        """Groups that hold as many writes to one partition as a transaction takes."""
        for write in writes:
            size = len(write.operations)
            group = self._open.get(write.place)
            if group is not None and group.size + size > OPERATIONS_MAX:
                yield group
                group = None
            if group is None:
                group = self._open[write.place] = _Group()
            group.writes.append(write)
            group.size += size

    async def _send(self, groups: Sequence[_Group]) -> None:
        if not groups:
            return
        results = await self._calls(
            [(group.writes[0].place.account, partial(self._send_group, group.writes)) for group in groups]
        )
        for group, result in zip(groups, results, strict=True):
            if isinstance(result, Exception):
                self.failures |= {(write.fact, write.place.account): result for write in group.writes}

    async def _send_group(self, writes: Sequence[EntryWrite]) -> None:
        place = writes[0].place
        operations = [operation for write in writes for operation in write.operations]
        await send_creating_period_table(self._accounts.tables(place.account), place.table, operations)
