"""Advice from numbers: what the Index Table pattern warns of, what to do about it, and what that costs or saves. Pure.

Each rule looks at one index and says nothing, or one thing. `shared/definitions/loading/advice.py` says what a
definition alone can show.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from shared.definitions.loading.check_layout import tables_at_once
from shared.definitions.model import SHARDS_MAX

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shared.advice.statistics import IndexStatistics
    from shared.definitions.model import Index
    from shared.monitoring.prices import Price

SECONDS_PER_MONTH: Final = 730 * 3600
_DAY_SECONDS: Final = 86_400
# A sample smaller than this says nothing about how entries are spread.
ENTRIES_MIN: Final = 1000
# From this share of all entries on, a partition (or each of its shards) is most of the load.
_HOT_SHARE: Final = 0.3
# What each shard should have at most, after advice was taken.
_SHARD_SHARE: Final = 0.06
_FEW_PARTITIONS: Final = 8
_WRITES_PER_LOOKUP: Final = 10
_GROWING_SHARE: Final = 0.95
_GROWING_PARTITIONS: Final = 20
# An entry of a few projected fields has about a kilobyte.
_LEAN_BYTES: Final = 1024
_LARGE_BYTES: Final = 4096
_GB: Final = 1e9
# A few facts that expire far ahead are normal.
_MANY_TIMES: Final = 2


@dataclass(frozen=True, slots=True)
class Usage:
    """What was counted for an index over some time. Transactions are None when they are not known."""

    seconds: float = 0
    entries_written: int = 0
    entries_removed: int = 0
    lookups: int = 0
    rows_read: int = 0
    entries_returned: int = 0
    change_transactions: int | None = None

    @property
    def changes(self) -> int:
        """Entries written or removed."""
        return self.entries_written + self.entries_removed

    def per_month(self, count: float) -> float:
        """A count of this time, over a month."""
        return count * SECONDS_PER_MONTH / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class AdvisedIndex:
    """An index with its statistics, its usage and the prices."""

    index: Index
    statistics: IndexStatistics
    usage: Usage
    transaction: Price
    storage: Price

    @property
    def name(self) -> str:
        """The index's name, quoted."""
        return f'"{self.index.name}"'


@dataclass(frozen=True, slots=True)
class Advice:
    """One piece of advice: what is wrong and how to fix it. `dollars_per_month` is what following it costs or, below 0,
    saves; None when that is not known.

    `change` is the change to the definition, where there is a definite one.
    """

    code: str
    what: str
    fix: str
    dollars_per_month: float | None = None
    change: Mapping[str, Any] = field(default_factory=dict)


def advise(advised: AdvisedIndex) -> list[Advice]:
    """All advice that the numbers give, the most important first."""
    if not advised.statistics.entries and not advised.usage.changes:
        what = f"{advised.name} has no entries yet"
        return [Advice("empty", what, "Nothing can be said about it; ask again when it is filled.")]
    found = [advice for rule in _RULES if (advice := rule(advised)) is not None]
    # A hot value is the more precise advice.
    codes = {advice.code for advice in found}
    return [advice for advice in found if not (advice.code == "few-values" and "hot-partition" in codes)]


def _hot_partition(advised: AdvisedIndex) -> Advice | None:
    statistics = advised.statistics
    if statistics.entries < ENTRIES_MIN or not statistics.top:
        return None
    top = statistics.top[0]
    if top.share / top.shards < _HOT_SHARE or statistics.partitions < 2:
        return None
    shards = _enough_shards(top.share)
    if shards <= top.shards:
        return None
    shown = ", ".join(map(str, top.values.values()))
    what = (
        f"{top.share:.0%} of the entries of {advised.name} are in one partition, {shown} ({top.entries:,} of "
        f"{statistics.entries:,} looked at): it takes no more than one partition can, about 2,000 requests a second"
    )
    dollars = _lookups_cost(advised, top.share * (shards - top.shards))
    fix = f"Its lookups take {shards} storage transactions each then, instead of {top.shards}."
    if len(advised.index.partition) > 1:
        return Advice("hot-partition", what, f'Spread it: "shards: {shards}". {fix}', dollars, {"shards": shards})
    (value,) = top.values.values() if top.values else ("",)
    change = {"hot": {_as_key(value): shards}}
    return Advice("hot-partition", what, f'Spread it: "hot: {{{shown}: {shards}}}". {fix}', dollars, change)


def _few_values(advised: AdvisedIndex) -> Advice | None:
    statistics = advised.statistics
    if statistics.entries < ENTRIES_MIN or statistics.partitions_estimated >= _FEW_PARTITIONS:
        return None
    largest = statistics.top[0]
    if largest.share / largest.shards < _HOT_SHARE / 2:
        return None  # it is spread already
    shards = _enough_shards(largest.share)
    if shards <= largest.shards:
        return None
    what = (
        f"the partition of {advised.name} has only {statistics.partitions_estimated} values for about "
        f"{statistics.entries_estimated:,} entries, so each holds a large share of them"
    )
    fix = f'Add a part with more values, or spread each: "shards: {shards}", with as many transactions per lookup.'
    dollars = _lookups_cost(advised, shards - advised.index.shards)
    return Advice("few-values", what, fix, dollars, {"shards": shards})


def _enough_shards(share: float) -> int:
    """As many shards, a power of two, as leave each of them a small share."""
    return int(min(SHARDS_MAX, max(2, 2 ** math.ceil(math.log2(share / _SHARD_SHARE)))))


def _lookups_cost(advised: AdvisedIndex, more_transactions: float) -> float | None:
    """What it costs a month that each lookup takes so many transactions more."""
    usage = advised.usage
    if not usage.seconds or not usage.lookups:
        return None
    return advised.transaction.of(usage.per_month(usage.lookups) * more_transactions)


def _unused(advised: AdvisedIndex) -> Advice | None:
    usage = advised.usage
    if usage.lookups or not usage.changes or usage.seconds < _DAY_SECONDS:
        return None
    what = f"{advised.name} was not looked up in {_days(usage.seconds)}, and {usage.changes:,} entries were written"
    return Advice("unused", what, "Drop it: take it out of the definitions.", _saved_by_dropping(advised))


def _volatile(advised: AdvisedIndex) -> Advice | None:
    usage = advised.usage
    # A fresh index is filled first and looked up afterwards.
    if not usage.lookups or usage.seconds < _DAY_SECONDS or usage.changes < ENTRIES_MIN:
        return None
    if usage.changes / usage.lookups < _WRITES_PER_LOOKUP:
        return None
    what = (
        f"{advised.name} is written far more than it is read: {usage.changes / usage.lookups:,.0f} entries for each "
        f"of {usage.lookups:,} lookups"
    )
    fix = (
        'Take what changes often out of its key and of "project" ("project: keys" and "expand=fact"), or query the '
        "source for so few lookups and drop it."
    )
    return Advice("volatile", what, fix, _saved_by_dropping(advised))


def _saved_by_dropping(advised: AdvisedIndex) -> float | None:
    usage, statistics = advised.usage, advised.statistics
    if usage.change_transactions is None or not usage.seconds:
        return None
    stored = statistics.entries_estimated * (statistics.entry_bytes or 0) / _GB
    spent = advised.transaction.of(usage.per_month(usage.change_transactions))
    return -(spent + advised.storage.of(stored))


def _monotonic(advised: AdvisedIndex) -> Advice | None:
    statistics = advised.statistics
    if statistics.entries < ENTRIES_MIN or statistics.partitions < _GROWING_PARTITIONS:
        return None
    if statistics.growing_share < _GROWING_SHARE:
        return None
    what = (
        f"the partitions of {advised.name} only grow ({statistics.growing_share:.0%} of the changes that go to another "
        "one go to a higher one), so all new entries go to one end of the table"
    )
    return Advice("monotonic", what, 'Put another part first, and what grows into "sort".')


def _oversized(advised: AdvisedIndex) -> Advice | None:
    size, entries = advised.statistics.entry_bytes, advised.statistics.entries_estimated
    if size is None or size < _LARGE_BYTES or advised.index.project == "keys":
        return None
    what = f"an entry of {advised.name} has {size / 1024:.1f} KiB on average, {entries * size / _GB:.2f} GB in all"
    fix = 'Project the fields that lookups need; "expand=fact" fetches the rest.'
    saved = -advised.storage.of(entries * (size - _LEAN_BYTES) / _GB)
    return Advice("oversized", what, fix, saved)


def _far_periods(advised: AdvisedIndex) -> Advice | None:
    expire, tables = advised.index.expire, advised.statistics.tables
    if expire is None or expire.tables is None:
        return None
    expected = 1 + tables_at_once(expire.tables, expire.after_seconds)
    if tables <= _MANY_TIMES * expected:
        return None
    what = (
        f"every lookup of {advised.name} reads {tables:,} tables where {expected} would do: facts expire in many a "
        f'{expire.tables} that lies further ahead than "after", and each has a table of its own'
    )
    fix = (
        'Use longer periods, or take "tables" out of "expire". Either is another generation; the tables of this one go '
        "with it, also those that stand empty."
    )
    return Advice("far-periods", what, fix, _lookups_cost(advised, (expected - tables) * advised.index.shards))


def _days(seconds: float) -> str:
    return f"{seconds / _DAY_SECONDS:.0f} days" if seconds >= 2 * _DAY_SECONDS else f"{seconds / 3600:.0f} hours"


def _as_key(value: object) -> str:
    """A value as the key of a mapping in YAML: text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


_RULES: Final[tuple[Callable[[AdvisedIndex], Advice | None], ...]] = (
    _hot_partition,
    _few_values,
    _unused,
    _volatile,
    _monotonic,
    _oversized,
    _far_periods,
)
