"""Advice from numbers: what the Index Table pattern warns of, what to do about it, and what that costs or saves. Pure.

Each rule looks at one index and says nothing, or one thing. `shared/definitions/loading/advice.py` says what a
definition alone can show.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from shared.definitions.loading.check_expiry import tables_at_once

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shared.advice.statistics import Statistics
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
_SHARDS_MAX: Final = 256
_WRITES_PER_LOOKUP: Final = 10
_GROWING_SHARE: Final = 0.95
_GROWING_PARTITIONS: Final = 20
# An entry of a few projected fields has about a kilobyte.
_LEAN_BYTES: Final = 1024
_LARGE_BYTES: Final = 4096
_GB: Final = 1e9
# Some facts whose time lies ahead are nothing to speak of.
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
    """An index with all that is known of it."""

    index: Index
    statistics: Statistics
    usage: Usage
    transaction: Price
    storage: Price

    @property
    def name(self) -> str:
        """The index's name, quoted."""
        return f'"{self.index.name}"'


@dataclass(frozen=True, slots=True)
class Advice:
    """One piece of advice. Dollars a month: what taking it costs, or, below 0, saves; None when nobody knows.

    `change` is what to change in the definition, where that can be said.
    """

    code: str
    what: str
    mend: str
    dollars_per_month: float | None = None
    change: Mapping[str, Any] = field(default_factory=dict)


def advise(subject: AdvisedIndex) -> list[Advice]:
    """Everything that the numbers say, the weightiest first."""
    if not subject.statistics.entries and not subject.usage.changes:
        what = f"{subject.name} has no entries yet"
        return [Advice("empty", what, "Nothing can be said about it; ask again when it is filled.")]
    found = [advice for rule in _RULES if (advice := rule(subject)) is not None]
    # A hot value says more than that there are few.
    codes = {one.code for one in found}
    return [one for one in found if not (one.code == "few-values" and "hot-partition" in codes)]


def _hot_partition(subject: AdvisedIndex) -> Advice | None:
    statistics = subject.statistics
    if statistics.entries < ENTRIES_MIN or not statistics.top:
        return None
    top = statistics.top[0]
    if top.share / top.shards < _HOT_SHARE or statistics.partitions < 2:
        return None
    shards = _enough_shards(top.share)
    shown = ", ".join(map(str, top.values.values()))
    what = (
        f"{top.share:.0%} of the entries of {subject.name} are in one partition, {shown} ({top.entries:,} of "
        f"{statistics.entries:,} looked at): it takes no more than one partition can, about 2,000 requests a second"
    )
    dollars = _lookups_cost(subject, top.share * (shards - top.shards))
    mend = f"Its lookups take {shards} storage transactions each then, instead of {top.shards}."
    if len(subject.index.partition) > 1:
        return Advice("hot-partition", what, f"Spread it: `shards: {shards}`. {mend}", dollars, {"shards": shards})
    (value,) = top.values.values() if top.values else ("",)
    change = {"hot": {_as_key(value): shards}}
    return Advice("hot-partition", what, f"Spread it: `hot: {{{shown}: {shards}}}`. {mend}", dollars, change)


def _few_values(subject: AdvisedIndex) -> Advice | None:
    statistics = subject.statistics
    if statistics.entries < ENTRIES_MIN or statistics.partitions_estimated >= _FEW_PARTITIONS:
        return None
    largest = statistics.top[0]
    if largest.share / largest.shards < _HOT_SHARE / 2:
        return None  # it is spread already
    shards = _enough_shards(largest.share)
    what = (
        f"the partition of {subject.name} has only {statistics.partitions_estimated} values for about "
        f"{statistics.entries_estimated:,} entries, so each holds a large share of them"
    )
    mend = f"Add a part with more values, or spread each: `shards: {shards}`, with as many transactions per lookup."
    dollars = _lookups_cost(subject, shards - subject.index.shards)
    return Advice("few-values", what, mend, dollars, {"shards": shards})


def _enough_shards(share: float) -> int:
    """As many shards, a power of two, as leave each of them a small share."""
    return int(min(_SHARDS_MAX, max(2, 2 ** math.ceil(math.log2(share / _SHARD_SHARE)))))


def _lookups_cost(subject: AdvisedIndex, more_transactions: float) -> float | None:
    """What it costs a month that each lookup takes so many transactions more."""
    usage = subject.usage
    if not usage.seconds or not usage.lookups:
        return None
    return subject.transaction.of(usage.per_month(usage.lookups) * more_transactions)


def _unused(subject: AdvisedIndex) -> Advice | None:
    usage = subject.usage
    if usage.lookups or not usage.changes or usage.seconds < _DAY_SECONDS:
        return None
    what = f"nobody looked {subject.name} up in {_days(usage.seconds)}, and {usage.changes:,} entries were written"
    return Advice("unused", what, "Drop it: take it out of the definitions.", _saved_by_dropping(subject))


def _volatile(subject: AdvisedIndex) -> Advice | None:
    usage = subject.usage
    # A fresh index is filled first and looked up afterwards.
    if not usage.lookups or usage.seconds < _DAY_SECONDS or usage.changes < ENTRIES_MIN:
        return None
    if usage.changes / usage.lookups < _WRITES_PER_LOOKUP:
        return None
    what = (
        f"{subject.name} is written far more than it is read: {usage.changes / usage.lookups:,.0f} entries for each "
        f"of {usage.lookups:,} lookups"
    )
    mend = (
        "Take what changes often out of its key and of `project` (`project: keys` and `expand=fact`), or query the "
        "source for so few lookups and drop it."
    )
    return Advice("volatile", what, mend, _saved_by_dropping(subject))


def _saved_by_dropping(subject: AdvisedIndex) -> float | None:
    usage, statistics = subject.usage, subject.statistics
    if usage.change_transactions is None or not usage.seconds:
        return None
    stored = statistics.entries_estimated * (statistics.entry_bytes or 0) / _GB
    spent = subject.transaction.of(usage.per_month(usage.change_transactions))
    return -(spent + subject.storage.of(stored))


def _monotonic(subject: AdvisedIndex) -> Advice | None:
    statistics = subject.statistics
    if statistics.entries < ENTRIES_MIN or statistics.partitions < _GROWING_PARTITIONS:
        return None
    if statistics.growing_share < _GROWING_SHARE:
        return None
    what = (
        f"the partitions of {subject.name} only grow ({statistics.growing_share:.0%} of the changes that go to another "
        "one go to a higher one), so all new entries go to one end of the table"
    )
    return Advice("monotonic", what, "Put another part first, and what grows into `sort`.")


def _oversized(subject: AdvisedIndex) -> Advice | None:
    size, entries = subject.statistics.entry_bytes, subject.statistics.entries_estimated
    if size is None or size < _LARGE_BYTES or subject.index.project == "keys":
        return None
    what = f"an entry of {subject.name} has {size / 1024:.1f} KiB on average, {entries * size / _GB:.2f} GB in all"
    mend = "Project the fields that lookups need; `expand=fact` fetches the rest."
    saved = -subject.storage.of(entries * (size - _LEAN_BYTES) / _GB)
    return Advice("oversized", what, mend, saved)


def _far_periods(subject: AdvisedIndex) -> Advice | None:
    expire, tables = subject.index.expire, subject.statistics.tables
    if expire is None or expire.tables is None:
        return None
    expected = 1 + tables_at_once(expire.tables, expire.after_seconds)
    if tables <= _MANY_TIMES * expected:
        return None
    what = (
        f"every lookup of {subject.name} reads {tables:,} tables where {expected} would do: facts expire in many a "
        f"{expire.tables} that lies further ahead than `after`, and each has a table of its own"
    )
    mend = (
        "Use longer periods, or take `tables` out of `expire`. Either is another generation; the tables of this one go "
        "with it, also those that stand empty."
    )
    return Advice("far-periods", what, mend, _lookups_cost(subject, (expected - tables) * subject.index.shards))


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
