"""What random runs have covered: a kind of event that no run meets any more is a hole in the search."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator


class Event(StrEnum):
    """What can happen in a run."""

    CALL = "storage calls"
    BATCH = "batches applied"
    BATCH_FAILED = "batches that failed"
    CROSSED_WORKERS = "batches beside two or more others"
    OLDER_CODE = "batches of code that does not know a generation"
    FAULTY_CODE = "batches of code with a fault"
    SHARED_CACHE = "batches of a process with an older one still running"
    LEASE_RESET = "workers that start before the checkpoint"
    DELIVERED_TWICE = "changes twice in a batch"
    SKIPPED_VERSION = "replaced versions that the feed left out"
    MERGED_CHANGE = "changes that their transaction replaced"
    ALL_VERSIONS = "runs with an all versions feed"
    SHUFFLED = "runs with a shuffled feed"
    TWO_GENERATIONS = "runs with two generations of an index"
    CRASH = "crashes"
    LATE = "requests that land late"
    LOST = "answers that are lost"
    RESENT = "requests sent again"
    REFUSED = "requests refused"
    SHORT_PAGE = "short pages"
    SWEEP = "sweep messages delivered"
    READ = "lookups"
    READ_PAGE = "pages of lookups"
    ADDED_UP = "totals added up after a transaction"
    OTHER_LANE = "totals written in another lane than the first"
    READ_GROUPS = "lookups of groups"
    READ_BESIDE_WRITES = "lookups with writes between their pages"
    MOVED_PERIOD = "lookups beside an entry that moves to another period"
    OUTAGE = "index accounts that go down"
    DELIVERED = "facts delivered to an account that was down"
    DEAD_LETTER = "dead letters put"
    REPLAY = "dead letters replayed"
    OUTDATED = "outdated dead letters closed"
    PURGED = "dead letters purged"
    EXPIRED = "expired entries found"
    DROPPED = "tables of periods dropped"
    FORGOTTEN = "facts forgotten"
    TIME = "moments when time moves"
    MONTH = "months that pass"
    RETIRED = "generations retired"
    VERIFICATION = "verifications"
    DAMAGE = "damages that a verification finds and a repair ends"
    DAMAGED_SUMMARY = "such damages of summaries"
    REPAIRED = "differences that a verification found"


Coverage: TypeAlias = Counter[Event]


def lines(coverage: Coverage) -> Iterator[str]:
    """Every kind of event with its count, also when that is zero."""
    width = max(len(f"{count:,}") for count in [0, *coverage.values()])
    for event in Event:
        yield f"{coverage[event]:>{width},}  {event}"


def missing(coverage: Coverage) -> list[str]:
    """The kinds of events that did not happen."""
    return [str(event) for event in Event if not coverage[event]]
