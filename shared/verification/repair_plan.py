"""What makes a fact's rows right again, at the versions that the ledger has. Pure.

The ledger row is amended first, on the condition that it is as it was: ghosts become keys that are `left`, entries that
the document has and the ledger lacks become `live` at the part's own version. From then on the fact is like one whose
worker died after its claim: whoever meets it writes the same rows. The rows follow as always, live ones first, then
tombstones at the part's version. Rows that nobody claimed go last, the oldest first and only as they were seen: those
below the right row have no use, those above it hide it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from shared.pipeline.entry_writes.writes import GenerationWrites, LiveWrite, Removal
from shared.pipeline.ledger.rows import CurrentEntry, RemovedEntry
from shared.verification.findings import row_fault, same_entries

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shared.entries.projection.generations import Generation
    from shared.entries.projection.projector import Entry
    from shared.pipeline.ledger.rows import GenerationState
    from shared.verification.examine import Examined, Key, SeenRow


@dataclass(frozen=True, slots=True)
class RepairPlan:
    """The part as it should be (None: as it is), what to write for it, and rows to delete afterwards, in this order.

    `is_whole` is False when rows are missing that only the document could tell, and there is none.
    """

    part: GenerationState | None
    writes: GenerationWrites
    excess: tuple[tuple[Key, SeenRow], ...]
    is_whole: bool = True


def plan_repair(examined: Examined, generation: Generation) -> RepairPlan:
    """How to mend a fact whose ledger row is that of its document, or that has no document."""
    part = examined.state
    assert part is not None
    entries = _entries(examined)
    live = part.current if entries is None else tuple(_live(part, entries.values(), examined.expired))
    left = tuple(_left(part, live, examined))
    amended = replace(part, current=live, removed=left)
    wrong = [
        entry
        for entry in live
        if row_fault(entry, examined.rows_by_key.get((entry.partition, entry.entry_key), ()))
        and (entry.partition, entry.entry_key) not in examined.expired
    ]
    writes = tuple(_live_writes(wrong, entries or {}))
    unknown = {(entry.partition, entry.entry_key) for entry in wrong} - {
        (write.partition, write.entry_key) for write in writes
    }
    removals = tuple([Removal(old.partition, old.entry_key, None) for old in left if _shows(examined, old)])
    return RepairPlan(
        None if _is_same(part, amended) else amended,
        GenerationWrites(generation, part.version, writes, removals),
        tuple([(key, row) for key, row in _excess(examined, amended) if key not in unknown]),
        is_whole=not unknown,
    )


def _entries(examined: Examined) -> dict[Key, Entry] | None:
    """The entries of the ledger's own version; None when there is no document of it."""
    chosen = same_entries(examined)
    if chosen is None and examined.projections and examined.is_current and not _failed(examined):
        chosen = examined.projections[0]
    return None if chosen is None else {(entry.partition_key, entry.entry_key): entry for entry in chosen}


def _failed(examined: Examined) -> bool:
    return examined.state is not None and examined.state.failed


def _live(part: GenerationState, entries: Iterable[Entry], expired: frozenset[Key]) -> Iterable[CurrentEntry]:
    """An entry that the ledger has keeps its version; any other gets the part's. Expired ones go by themselves."""
    known = {(entry.partition, entry.entry_key, entry.digest): entry for entry in part.current}
    yield from [entry for entry in part.current if (entry.partition, entry.entry_key) in expired]
    for entry in entries:
        new = CurrentEntry(entry.partition_key, entry.entry_key, part.version, entry.digest)
        yield known.get((entry.partition_key, entry.entry_key, entry.digest), new)


def _left(part: GenerationState, live: tuple[CurrentEntry, ...], examined: Examined) -> Iterable[RemovedEntry]:
    """What it had and no longer has, and what is shown and nobody claimed; without what is known to be hidden."""
    keys = {(entry.partition, entry.entry_key) for entry in live}
    had = {(entry.partition, entry.entry_key): entry.version for entry in part.current}
    old = {(entry.partition, entry.entry_key): entry.version for entry in part.removed} | had
    shown = {key: rows[0].version for key, rows in examined.rows_by_key.items() if rows and rows[0].is_shown}
    for key, at in {**shown, **old}.items():
        rows = examined.rows_by_key.get(key, ())
        is_hidden = bool(rows) and rows[0].is_tombstone and rows[0].version == part.version
        if key not in keys and not is_hidden:
            yield RemovedEntry(*key, at)


def _is_same(part: GenerationState, amended: GenerationState) -> bool:
    """Whether amending would say nothing new: what is left and not mentioned any more can wait."""
    return set(part.current) == set(amended.current) and {*amended.removed} <= {*part.removed}


def _live_writes(wrong: Iterable[CurrentEntry], entries: dict[Key, Entry]) -> Iterable[LiveWrite]:
    for live in wrong:
        entry = entries.get((live.partition, live.entry_key))
        if entry is not None:
            yield LiveWrite(live.partition, live.entry_key, live.version, entry.columns, None)


def _shows(examined: Examined, left: RemovedEntry) -> bool:
    rows = examined.rows_by_key.get((left.partition, left.entry_key), ())
    return bool(rows) and rows[0].is_shown


def _excess(examined: Examined, part: GenerationState) -> Iterable[tuple[Key, SeenRow]]:
    """Rows of live pairs but for the right one; rows of other pairs that are newer than their tombstone."""
    at = {(entry.partition, entry.entry_key): entry.version for entry in part.current}
    for key, rows in examined.rows_by_key.items():
        if key in examined.expired or (rows and rows[0].is_expired):
            continue
        for row in reversed(rows):
            if (key in at and row.version != at[key]) or (key not in at and row.version > part.version):
                yield key, row
