"""Merges stretches in order: a stretch per partition asked for, range of sort keys, shard and period.

Within one partition the order is that of entry keys. Several partitions are merged by their sort parts first, then by
partition, then by fact. Each stretch is read in chunks, all of them at once to begin with, and then again those that
run out first: behind the last row of a stretch that has more, only its next read knows what comes, so the merge waits
there.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from shared.definitions.utf16 import utf16_order
from shared.entries.keys.index_keys import split_entry_key
from shared.entries.keys.periods import table_of
from shared.entries.keys.strings import CEILING
from shared.entries.summaries.rows import LANES
from shared.lookup.reading.stretches import NewestRow, StretchReader
from shared.pipeline.concurrency import all_of
from shared.tables.port import RowRange

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shared.lookup.asking.plan import Plan
    from shared.lookup.reading.replicas import Replicas
    from shared.lookup.reading.stretches import EntriesOf
    from shared.pipeline.concurrency import RunAll

Order: TypeAlias = "bytes | tuple[bytes, int, bytes]"
Ordered: TypeAlias = "Callable[[int, str], Order]"

_MORE_THAN_ITS_SHARE: Final = 2
_SMALLEST_CHUNK: Final = 4
# What the service gives at once.
ROWS_MAX: Final = 1000


class Position(NamedTuple):
    """After which entry key of which of the partitions a page begins."""

    partition: int
    entry_key: str


class MergedRow(NamedTuple):
    """A row in its place."""

    partition: int
    table: str
    row: NewestRow


@dataclass(frozen=True, slots=True)
class Allowance:
    """How many rows to ask for: at first and at most of each stretch, and at most of all together.

    What is asked for counts, not what comes: an answer that is short ends the page rather than costing another call.
    """

    first: int
    growth: int
    of_each: int
    of_all: int

    @classmethod
    def for_page(cls, size: int, stretches: int) -> Allowance:
        """For a page of entries that are all wanted: a stretch alone is read once; of many, each a bit more than its
        share, and more where that does not do."""
        share = -(-size // max(1, stretches))
        first = size if stretches == 1 else min(size, share * _MORE_THAN_ITS_SHARE + _SMALLEST_CHUNK)
        return cls(first, 2, size, size * max(1, stretches))

    @classmethod
    def for_groups(cls, size: int, stretches: int) -> Allowance:
        """For groups of a summary: most have one row in each stretch, some a few, as only what follows them shows."""
        first = min(size + LANES, ROWS_MAX)
        most = (size + LANES) * 2 * LANES
        return cls(first, 1, most, most * max(1, stretches))

    @classmethod
    def for_filter(cls, size: int, stretches: int, most: int) -> Allowance:
        """For entries that a filter chooses from: what comes first, then more and more up to a bound."""
        return cls(max(1, min(max(size, 100), most // max(1, stretches))), 4, most, most)


@dataclass(slots=True)
class _Stream:
    """A stretch that is read chunk by chunk: which rows wait to be passed, and where the next chunk begins."""

    partition: int
    partition_key: str
    replicas: Replicas
    table: str
    lower: str
    upper: str
    chunk: int
    waiting: deque[tuple[Order, NewestRow]] = field(default_factory=deque)
    end: Order | None = None
    has_more: bool = True
    asked: int = 0

    @property
    def is_dry(self) -> bool:
        """Whether only another read knows what comes next."""
        return self.has_more and not self.waiting


class MergedRows:
    """The newest rows of all entry keys that a plan asks for, in order, after a position or from the beginning."""

    def __init__(
        self,
        replicas_of: Callable[[str], Replicas],
        table: str,
        plan: Plan,
        after: Position | None,
        allowance: Allowance,
        new_run_all: Callable[[], RunAll],
        select: Sequence[str] = (),
        entries_of: EntriesOf | None = None,
    ) -> None:
        self._entries_of = entries_of
        self._new_run_all = new_run_all
        self._select = select
        self._allowance = allowance
        self.order: Ordered = key_order(plan)
        self.rows_read = 0
        self.is_secondary = False
        self._asked = 0
        starts = plan.starts or [None] * len(plan.partition_keys)
        self._streams = [
            _Stream(
                number, partition_key, replicas_of(account), table if start is None else table_of(table, start), *ends,
                chunk=allowance.first,
            )
            for number, partition_key, account, start in zip(
                plan.numbers, plan.partition_keys, plan.accounts, starts, strict=True
            )
            for ends in plan.row_ranges
        ]  # fmt: skip
        for stream in self._streams:
            _begin_after(stream, plan, after)

    @property
    def has_more(self) -> bool:
        """Whether there may be rows behind those that were given."""
        return any(stream.has_more or stream.waiting for stream in self._streams)

    async def next_rows(self) -> list[MergedRow]:
        """The next rows whose order is certain; none at the end, and none when no more may be asked for."""
        dry = [stream for stream in self._streams if stream.is_dry]
        if dry and not await self._read(dry):
            return []
        ends = [stream.end for stream in self._streams if stream.has_more and stream.end is not None]
        # Orders of one plan are all of one kind.
        horizon = min(ends) if ends else None
        found: list[tuple[Order, MergedRow]] = []
        for stream in self._streams:
            waiting = stream.waiting
            while waiting and (horizon is None or waiting[0][0] <= horizon):  # type: ignore[operator]
                order, row = waiting.popleft()
                found.append((order, MergedRow(stream.partition, stream.table, row)))
        if len(self._streams) > 1:
            found.sort(key=_order_of)
        return [row for _, row in found]

    def rows_in_hand(self) -> list[MergedRow]:
        """The rows that were read and not given: what is still to come may stand before them."""
        return [MergedRow(each.partition, each.table, row) for each in self._streams for _, row in each.waiting]

    async def _read(self, dry: Sequence[_Stream]) -> bool:
        """Read more of these; False, and nothing is read, when that would be more than is allowed."""
        left = (self._allowance.of_all - self._asked) // len(dry) if self._asked else self._allowance.of_all
        limits = [min(stream.chunk, ROWS_MAX, self._allowance.of_each - stream.asked, left) for stream in dry]
        if min(limits) <= 0:
            return False
        work = [partial(self._read_stream, stream, limit) for stream, limit in zip(dry, limits, strict=True)]
        if len(work) == 1:
            await work[0]()
        else:
            await all_of(self._new_run_all(), work)
        return True

    async def _read_stream(self, stream: _Stream, limit: int) -> None:
        upper = None if stream.upper == CEILING else stream.upper
        rows = RowRange(stream.partition_key, stream.lower or None, upper)
        read = await StretchReader(stream.replicas, stream.table, limit, self._select, self._entries_of).read(rows)
        self._asked += limit
        self.rows_read += read.rows_read
        self.is_secondary = self.is_secondary or read.is_secondary
        stream.asked += limit
        stream.chunk *= self._allowance.growth
        stream.has_more = read.has_more
        for row in read.newest:
            stream.waiting.append((self.order(stream.partition, row.entry_key), row))
        if stream.waiting:
            stream.end = stream.waiting[-1][0]
            # Above every row of that entry key, which no other one begins with.
            stream.lower = stream.waiting[-1][1].entry_key + CEILING


def _order_of(found: tuple[Order, MergedRow]) -> Order:
    return found[0]


def key_order(plan: Plan) -> Ordered:
    """The order of rows by partition and entry key: something to compare for each."""
    if len(plan.partitions) <= 1:
        return lambda _, entry_key: utf16_order(entry_key)

    def order(partition: int, entry_key: str) -> Order:
        sort, fact_key = split_entry_key(entry_key, plan.sort_parts)
        return utf16_order(sort), partition, utf16_order(fact_key)

    return order


def _begin_after(stream: _Stream, plan: Plan, after: Position | None) -> None:
    """Begin behind a position, but never below what the query itself asks for."""
    if after is not None:
        begin = after.entry_key + CEILING
        if stream.partition != after.partition:
            # With the same sort parts, lower partitions are passed and higher ones are still to come.
            sort, _ = split_entry_key(after.entry_key, plan.sort_parts)
            begin = sort + CEILING if stream.partition < after.partition else sort
        stream.lower = max(stream.lower, begin, key=utf16_order)
    stream.has_more = utf16_order(stream.lower) < utf16_order(stream.upper)
