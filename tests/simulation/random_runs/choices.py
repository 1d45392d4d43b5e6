"""What kind of run a seed decides on: which indexes, which feed, how many workers, how many faults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tests.simulation.random_runs.indexes import CHANGED, INDEXES, REFUSED, SUMMARIES

if TYPE_CHECKING:
    from random import Random

# The latest versions of facts, all versions in transactions, or a hub whose partitions lag.
FeedKind = Literal["latest", "all versions", "shuffled"]


@dataclass(frozen=True, slots=True)
class Choices:
    """One kind of run."""

    indexes: tuple[str, ...]
    feed: FeedKind
    buckets: int
    workers_max: int
    changes_max: int
    crash_chance: float
    # Faults of requests happen so many times as often as usual.
    fault_factor: float
    # How often a month passes, after which facts are forgotten.
    months: int
    has_older_code: bool
    has_faulty_code: bool
    has_two_generations: bool
    # The expiry of a fact that is there all the time moves from period to period.
    moves_expiry: bool
    verifies: bool


def drawn(random: Random) -> Choices:
    """Choices by chance."""
    names = tuple(name for name in INDEXES if random.random() < (0.4 if name in SUMMARIES else 0.7)) or ("by-town",)
    feed: FeedKind = random.choice(["latest", "latest", "all versions", "shuffled"])
    return Choices(
        indexes=names,
        feed=feed,
        buckets=random.choice([1, 2, 4]),
        workers_max=random.choice([2, 3, 5]),
        changes_max=random.choice([6, 12, 12, 30]),
        crash_chance=random.choice([0.003, 0.015, 0.05]),
        fault_factor=random.choice([0.5, 1.0, 2.5]),
        months=random.choice([0, 0, 1, 2]),
        has_older_code=random.random() < 0.3 and len(names) > 1,
        has_faulty_code=random.random() < 0.3 and REFUSED in names,
        has_two_generations=random.random() < 0.3 and CHANGED in names,
        moves_expiry=random.random() < 0.5,
        verifies=feed == "latest" and random.random() < 0.2,
    )
