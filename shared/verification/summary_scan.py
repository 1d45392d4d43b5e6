"""The table scan of a summary: contributions are compared with the ledger, totals with the contributions.

In a partition all totals come first, then the contributions, group by group. A total is added as one number that its
values give; when the last contribution of a group has been read, the number of their sum is subtracted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import orjson

from shared.entries.keys.fact_key import fact_hash
from shared.entries.projection.generations import place_of
from shared.entries.rows.json_text import NotJsonError
from shared.entries.summaries.rows import (
    CONTRIBUTIONS,
    is_total_key,
    read_contribution,
    read_total,
    sort_of,
    split_total_key,
)
from shared.pipeline.summaries.sweeping import GoneContribution
from shared.tables.port import PARTITION_KEY, ROW_KEY
from shared.verification.examine import FactIdentity, GroupAddress, columns_digest, contributor_of
from shared.verification.scans import TABLE, Item, Scanned, as_continuation, plain_continuation, row_entry, stray_item
from shared.verification.sketch import entry_hash

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shared.definitions.model import Source
    from shared.entries.projection.generations import Generation
    from shared.entries.summaries.totals import Contribution, SummaryLayout, Total
    from shared.tables.accounts import Accounts
    from shared.tables.port import Entity, Row
    from shared.verification.scans import Cursor

_NOBODY = FactIdentity("")


class _OpenGroup:
    """The group whose contributions are being read: a running total for each lane, without the values themselves."""

    def __init__(self, layout: SummaryLayout, plain: list[Any] | None) -> None:
        self._layout = layout
        self.address: tuple[str, str] | None = None if plain is None else (plain[0], plain[1])
        totals = {} if plain is None else plain[2]
        self.lanes: dict[int, Total] = {int(lane): layout.total_of_plain(total) for lane, total in totals.items()}

    def add(self, lane: int, contribution: Contribution) -> None:
        """One more contribution."""
        self.lanes[lane] = self.lanes.get(lane, self._layout.empty).plus(contribution)

    def plain(self) -> list[Any] | None:
        """As JSON."""
        if self.address is None:
            return None
        return [*self.address, {str(lane): self._layout.plain_total(total) for lane, total in self.lanes.items()}]

    def items(self) -> Iterable[Item]:
        """What its contributions say that its totals are."""
        if self.address is not None:
            group = GroupAddress(*self.address)
            for lane, total in self.lanes.items():
                yield Item(_NOBODY, group.hash(), subtracts=(_number(group, lane, total, self._layout),), group=group)


class SummaryScan:
    """The rows of a summary's tables, account after account."""

    name = TABLE

    def __init__(self, source: Source, generation: Generation, accounts: Accounts) -> None:
        assert generation.layout is not None
        self._layout = generation.layout
        self._levels = len(source.partition_key)
        self._generation = generation
        self._accounts = accounts
        self._tables = sorted(generation.tables())

    async def page(self, cursor: Cursor) -> Scanned:
        """The next rows. The cursor has the group that is open: its contributions may go on."""
        number, plain, opened = (0, None, None) if cursor is None else cursor
        account, table = self._tables[number]
        page = await self._accounts.tables(account).query(table, None, continuation=as_continuation(plain))
        group = _OpenGroup(self._layout, opened)
        items: list[Item] = []
        for row in page.rows:
            group = self._add(account, table, row, group, items)
        if page.continuation is not None:
            return Scanned(items, [number, list(plain_continuation(page.continuation)), group.plain()])
        items += group.items()
        return Scanned(items, [number + 1, None, None] if number + 1 < len(self._tables) else None)

    def _add(self, account: str, table: str, row: Row, group: _OpenGroup, items: list[Item]) -> _OpenGroup:
        """Add what a row says; the group that is open after it."""
        row_key = cast(str, row.entity[ROW_KEY])
        if not self._may_be_ours(account, table, row.entity):
            items.append(stray_item(account, table, row))
        elif is_total_key(row_key):
            items.append(self._total(row.entity, row_key))
        else:
            return self._contribution(row, row_key, group, items)
        return group

    def _may_be_ours(self, account: str, table: str, entity: Entity) -> bool:
        row_key = cast(str, entity[ROW_KEY])
        if not is_total_key(row_key) and not row_key.startswith(CONTRIBUTIONS):
            return False
        try:
            place = place_of(self._generation, cast(str, entity[PARTITION_KEY]))
        except ValueError:
            return False  # it has no shard, though every partition of this index has
        return (place.account, place.table) == (account, table)

    def _total(self, entity: Entity, row_key: str) -> Item:
        sort, lane = split_total_key(row_key)
        group = GroupAddress(cast(str, entity[PARTITION_KEY]), sort)
        try:
            total = read_total(entity, self._layout).total
        except NotJsonError:
            number = entry_hash("damaged", *group, row_key)
        else:
            number = _number(group, lane, total, self._layout)
        return Item(_NOBODY, group.hash(), adds=(number,), counts=("rows",), group=group)

    def _contribution(self, row: Row, row_key: str, group: _OpenGroup, items: list[Item]) -> _OpenGroup:
        partition = cast(str, row.entity[PARTITION_KEY])
        fact = contributor_of(row.entity, row_key, self._levels)
        address = (partition, sort_of(row_key, fact.fact_key))
        if address != group.address:
            items += group.items()
            group = _OpenGroup(self._layout, [*address, {}])
        try:
            stored = read_contribution(row.entity, self._layout)
        except NotJsonError:
            stored = None
        if stored is not None and stored.contribution is None:
            gone = GoneContribution(place_of(self._generation, partition), row_key, stored.at, row.etag)
            counts = ("rows", "tombstones")
            items.append(Item(_NOBODY, 0, (), (), (partition, row_key), counts, stored.at, gone=gone))
            return group
        if stored is not None and stored.contribution is not None:
            group.add(stored.lane, stored.contribution)
        version = "" if stored is None else stored.at
        number = row_entry(partition, row_key, version, columns_digest(row.entity))
        counts = ("rows", "entries")
        items.append(Item(fact, fact_hash(fact.fact_key), (), (number,), (partition, row_key), counts, version))
        return group


def _number(group: GroupAddress, lane: int, total: Total, layout: SummaryLayout) -> int:
    """A total as a number: sums, counts, and of extremes only the first, which running totals know as well."""
    of_paths = [
        [str(amount.sum), amount.present, *(str(each.first) for each in (amount.smallest, amount.largest) if each)]
        for amount in total.amounts
    ]
    return entry_hash(*group, str(lane), orjson.dumps([total.facts, total.elements, of_paths]).decode())
