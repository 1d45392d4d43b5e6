"""In which order the rows of facts are written: live rows first, then the tombstones that wait for them.

A tombstone waits for all live rows of its fact in its generation, so that a reader may see a fact twice for a moment,
but never misses it. Where these are all in its own partition, it goes along in their transaction: there is no such
moment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from shared.entries.keys.index_keys import row_key
from shared.entries.projection.generations import place_of
from shared.entries.rows.entry_row import live_row, tombstone_row
from shared.tables.port import Upsert

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet

    from shared.entries.projection.generations import Place
    from shared.pipeline.entry_writes.writes import EarlyRemoval, GenerationWrites, LiveWrite, Removal


class WantedRow(NamedTuple):
    """The newest row that an entry key of a fact should have, and the key of the row that it replaces."""

    fact: str
    place: Place
    entry_key: str
    version: str
    row: Upsert
    is_tombstone: bool
    replaced_row: str | None
    # It is not known which rows the entry key has.
    must_list: bool


# Rows of one fact in one partition, which are written in this order and in one transaction.
Together: TypeAlias = tuple[WantedRow, ...]
# By fact and generation. Within a generation, a partition has one place.
_LivePartitions: TypeAlias = "dict[tuple[str, str], set[str]]"


def first_wave(all_writes: Sequence[tuple[str, GenerationWrites]]) -> list[Together]:
    """What is written first. All writes of a fact in one generation must be among `all_writes`, for both waves."""
    wave: list[Together] = []
    partitions = _live_partitions(all_writes)
    for fact, writes in all_writes:
        live = [_live(fact, writes, write) for write in writes.current]
        along = _tombstones(fact, writes, partitions, are_along=True) if writes.removed else []
        if live and along:
            wave.append((*live, *along))
        else:
            wave.extend([(row,) for row in [*live, *along]])
    return wave


def second_wave(all_writes: Sequence[tuple[str, GenerationWrites]]) -> list[Together]:
    """What is written when the first wave is acknowledged."""
    partitions = _live_partitions(all_writes)
    return [
        (row,)
        for fact, writes in all_writes
        if writes.removed
        for row in _tombstones(fact, writes, partitions, are_along=False)
    ]


def goes_along(partition: str, live_partitions: AbstractSet[str]) -> bool:
    """Whether a tombstone need not wait: its fact has live rows nowhere else."""
    return live_partitions <= {partition}


def early_tombstones(early_removals: Iterable[tuple[str, EarlyRemoval]]) -> list[Together]:
    """Tombstones of previous versions. The rows that they hide are most likely gone; if not, the sweep finds them."""
    return [
        (_tombstone(fact, writes, removal, must_list=False),)
        for fact, writes in early_removals
        for removal in writes.removed
    ]


def _tombstones(
    fact: str, writes: GenerationWrites, partitions: _LivePartitions, *, are_along: bool
) -> list[WantedRow]:
    """Those that go along with live rows, or those that wait."""
    live_partitions = partitions[fact, writes.generation.id]
    return [
        _tombstone(fact, writes, removal, must_list=writes.must_list)
        for removal in writes.removed
        if goes_along(removal.partition, live_partitions) == are_along
    ]


def _live_partitions(all_writes: Iterable[tuple[str, GenerationWrites]]) -> _LivePartitions:
    """Where facts have live rows; only of those that have tombstones, too."""
    partitions: _LivePartitions = {}
    removing = {(fact, writes.generation.id) for fact, writes in all_writes if writes.removed}
    for fact, writes in all_writes if removing else ():
        if (key := (fact, writes.generation.id)) in removing:
            partitions.setdefault(key, set()).update([write.partition for write in writes.current])
    return partitions


def _live(fact: str, writes: GenerationWrites, write: LiveWrite) -> WantedRow:
    partition, entry_key, version, columns, replaces = write
    row = Upsert(live_row(partition, entry_key, version, columns))
    replaced_row = None if replaces is None or replaces == version else row_key(entry_key, replaces)
    place = place_of(writes.generation, partition)
    return WantedRow(fact, place, entry_key, version, row, False, replaced_row, writes.must_list)


def _tombstone(fact: str, writes: GenerationWrites | EarlyRemoval, removal: Removal, *, must_list: bool) -> WantedRow:
    partition, entry_key, replaces = removal
    place = place_of(writes.generation, partition)
    row = Upsert(tombstone_row(partition, entry_key, writes.version))
    replaced_row = None if replaces is None or replaces == writes.version else row_key(entry_key, replaces)
    return WantedRow(fact, place, entry_key, writes.version, row, True, replaced_row, must_list)
