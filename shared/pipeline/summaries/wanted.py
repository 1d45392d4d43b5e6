"""What the contribution row of a fact should be, as values: made from the writes that a decision names."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from shared.entries.projection.generations import place_of
from shared.entries.summaries.rows import sort_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shared.entries.projection.generations import Generation, Place
    from shared.entries.rows.columns import Columns
    from shared.pipeline.entry_writes.writes import EarlyRemoval, GenerationWrites, LiveWrite, Removal


class WantedContribution(NamedTuple):
    """The row of a fact's contribution to a group as of `at`; without columns it is gone.

    `is_new`: the row is most likely absent, so nothing is read before it is inserted. `wrong_etag`: a repair has found
    that the row with this ETag is wrong, whatever its version.
    """

    fact: str
    row_key: str
    sort: str
    at: str
    columns: Columns | None
    is_new: bool = False
    wrong_etag: str | None = None


class WantedInPlace(NamedTuple):
    """What one fact wants in one partition: as far as it fits, it is written in one transaction."""

    generation: Generation
    place: Place
    fact: str
    contributions: tuple[WantedContribution, ...]


def first_wave(all_writes: Iterable[tuple[str, GenerationWrites]]) -> Iterator[WantedInPlace]:
    """Every contribution that begins to count, and what leaves a group of the same partition.

    What leaves a group of another partition waits for the second wave, unless nothing begins to count elsewhere.
    """
    for fact, writes in all_writes:
        wanted = [_live(fact, writes, live_write) for live_write in writes.current]
        partitions = {partition for partition, _ in wanted}
        wanted += [_gone(fact, writes, old) for old in writes.removed if not partitions or old.partition in partitions]
        yield from by_place(fact, writes.generation, wanted)


def second_wave(all_writes: Iterable[tuple[str, GenerationWrites]]) -> Iterator[WantedInPlace]:
    """What the first wave left."""
    for fact, writes in all_writes:
        partitions = {live_write.partition for live_write in writes.current}
        if partitions:
            wanted = [_gone(fact, writes, old) for old in writes.removed if old.partition not in partitions]
            yield from by_place(fact, writes.generation, wanted)


def early_wave(early_removals: Iterable[tuple[str, EarlyRemoval]]) -> Iterator[WantedInPlace]:
    """What leaves groups before a claim, at the previous version."""
    for fact, removal in early_removals:
        wanted = [_gone(fact, removal, old) for old in removal.removed]
        yield from by_place(fact, removal.generation, wanted)


def _live(fact: str, writes: GenerationWrites, live_write: LiveWrite) -> tuple[str, WantedContribution]:
    partition, row_key, version, columns, replaces = live_write
    is_new = replaces is None and version == writes.version and not writes.must_list
    return partition, WantedContribution(fact, row_key, sort_of(row_key, fact), version, columns, is_new)


def _gone(fact: str, writes: GenerationWrites | EarlyRemoval, removal: Removal) -> tuple[str, WantedContribution]:
    row_key = removal.entry_key
    return removal.partition, WantedContribution(fact, row_key, sort_of(row_key, fact), writes.version, None)


def by_place(
    fact: str, generation: Generation, wanted: Iterable[tuple[str, WantedContribution]]
) -> Iterator[WantedInPlace]:
    """What a fact wants, each with its partition key, partition by partition."""
    by_partition: dict[str, list[WantedContribution]] = {}
    for partition, contribution in wanted:
        by_partition.setdefault(partition, []).append(contribution)
    for partition, contributions in by_partition.items():
        yield WantedInPlace(generation, place_of(generation, partition), fact, tuple(contributions))
