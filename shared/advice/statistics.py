"""What a sample of the ledger says about an index: how its entries are spread over partitions, and how they grow. Pure.

`EntryTally` counts entries while the sample is read. `IndexStatistics` is the result: numbers of the sample, and
estimates for the whole index.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from shared.definitions.utf16 import utf16_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TOP: Final = 5
# Which way partitions grow shows in fewer entries than how they are spread.
_MOMENTS_MAX: Final = 20_000
_STEPS_MIN: Final = 20


@dataclass(frozen=True, slots=True)
class TopPartition:
    """One of the largest partitions: its values by part name, its sampled entries, and how many shards it has."""

    values: Mapping[str, Any]
    entries: int
    share: float
    shards: int


@dataclass(frozen=True, slots=True)
class IndexStatistics:
    """An index in numbers. `share` is the part of the ledger that was read: 1 for all of it, None when not even one
    bucket was read to its end. Then `entries` is a lower bound."""

    facts: int = 0
    entries: int = 0
    share: float | None = 1.0
    # Distinct partitions in the sample, and estimated for the whole index.
    partitions: int = 0
    partitions_estimated: int = 0
    top: tuple[TopPartition, ...] = ()
    # Of entries that changed one after the other in different partitions, how often the later one's is the higher.
    growing_share: float = 0.0
    # Of an average entry, as the service counts.
    entry_bytes: int | None = None
    # Tables of the index in one account: with tables per period there is one for each period.
    tables: int = 1

    @property
    def entries_estimated(self) -> int:
        """Estimate of the entries of the whole index; a lower bound when `share` is None."""
        return self.entries if self.share is None else round(self.entries / self.share)

    @property
    def largest_share(self) -> float:
        """The share of all entries that the largest partition has."""
        return self.top[0].share if self.top else 0.0


@dataclass(slots=True)
class EntryTally:
    """Running counts of the entries of one generation, fed with its ledger rows."""

    facts: int = 0
    entries: int = 0
    partitions: Counter[str] = field(default_factory=Counter)
    _moments: list[tuple[str, str]] = field(default_factory=list)

    def add(self, entries: Iterable[tuple[str, str]]) -> None:
        """Count the entries of one fact: encoded partition without shard, and the version of its last change."""
        self.facts += 1
        for partition, version in entries:
            self.entries += 1
            self.partitions[partition] += 1
            if len(self._moments) < _MOMENTS_MAX:
                self._moments.append((version, partition))

    def partitions_estimated(self, share: float | None) -> int:
        """Estimate of all partitions (Chao's estimator): partitions seen once hint at partitions not seen."""
        seen = len(self.partitions)
        if share is not None and share >= 1:
            return seen
        counts = Counter(self.partitions.values())
        once, twice = counts[1], counts[2]
        unseen = once * once / (2 * twice) if twice else once * (once - 1) / 2
        return round(seen + unseen if share is None else min(seen + unseen, seen / share))

    def growing_share(self) -> float:
        """1 for partitions that only grow, about a half for those in no order; 0 when there are too few to tell."""
        ordered = [utf16_order(partition) for _, partition in sorted(self._moments)]
        steps = [earlier < later for earlier, later in pairwise(ordered) if earlier != later]
        return sum(steps) / len(steps) if len(steps) >= _STEPS_MIN else 0.0
