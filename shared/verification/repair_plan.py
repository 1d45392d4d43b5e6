"""What makes a fact's rows right again, at the versions that the ledger has. Pure.

The ledger row is amended first, on the condition that it is as it was: ghosts become removed entries, and entries that
the document has and the ledger lacks become current entries at the state's own version. From then on the fact is like
one whose worker died after its claim: the next worker that meets it writes the same rows. The rows follow as always,
first those of current entries, then tombstones at the state's version. Rows that no claim mentions go last, the oldest
first and only as they were seen: those below the right row have no use, those above it hide it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from shared.pipeline.entry_writes.writes import GenerationWrites, LiveWrite, Removal
from shared.pipeline.ledger.rows import CurrentEntry, RemovedEntry
from shared.verification.differences import row_fault, same_entries
from shared.verification.examine import address_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shared.entries.projection.generations import Generation
    from shared.entries.projection.projector import Entry
    from shared.pipeline.ledger.rows import GenerationState
    from shared.verification.examine import EntryAddress, Examined, SeenRow


@dataclass(frozen=True, slots=True)
class RepairPlan:
    """The state as it should be (None: as it is), what to write for it, and rows to delete afterwards, in this order.

    `is_whole` is False when rows are missing whose columns only the document has, and there is none.
    """

    state: GenerationState | None
    writes: GenerationWrites
    excess: tuple[tuple[EntryAddress, SeenRow], ...]
    is_whole: bool = True


def plan_repair(examined: Examined, generation: Generation) -> RepairPlan:
    """How to repair a fact whose ledger row is that of its document, or that has no document."""
    state = examined.state
    assert state is not None
    entries = _entries(examined)
    current = state.current if entries is None else tuple(_current(state, entries.values(), examined.expired))
    removed = tuple(_removed(state, current, examined))
    amended = replace(state, current=current, removed=removed)
    wrong = [entry for entry in current if _is_wrong(entry, examined)]
    writes = tuple(_live_writes(wrong, entries or {}))
    unknown = {(entry.partition, entry.entry_key) for entry in wrong} - {
        (write.partition, write.entry_key) for write in writes
    }
    removals = tuple([Removal(old.partition, old.entry_key, None) for old in removed if _is_shown(examined, old)])
    return RepairPlan(
        None if _is_same(state, amended) else amended,
        GenerationWrites(generation, state.version, writes, removals),
        tuple([(address, row) for address, row in _excess(examined, amended) if address not in unknown]),
        is_whole=not unknown,
    )


def _entries(examined: Examined) -> dict[EntryAddress, Entry] | None:
    """The entries of the ledger's own version; None when there is no document of it."""
    chosen = same_entries(examined)
    if chosen is None and examined.projections and examined.is_current and not _failed(examined):
        chosen = examined.projections[0]
    return None if chosen is None else {address_of(entry): entry for entry in chosen}


def _failed(examined: Examined) -> bool:
    return examined.state is not None and examined.state.failed


def _current(
    state: GenerationState, entries: Iterable[Entry], expired: frozenset[EntryAddress]
) -> Iterable[CurrentEntry]:
    """An entry that the ledger has keeps its version; any other gets the state's. Expired ones go by themselves."""
    known = {(entry.partition, entry.entry_key, entry.digest): entry for entry in state.current}
    yield from [entry for entry in state.current if (entry.partition, entry.entry_key) in expired]
    for entry in entries:
        new = CurrentEntry(entry.partition_key, entry.entry_key, state.version, entry.digest)
        yield known.get((entry.partition_key, entry.entry_key, entry.digest), new)


def _removed(state: GenerationState, current: tuple[CurrentEntry, ...], examined: Examined) -> Iterable[RemovedEntry]:
    """What it had and no longer has, and what is shown without a claim. The sweep forgets what is hidden: its worker
    may have ended before it announced that."""
    addresses = {(entry.partition, entry.entry_key) for entry in current}
    had = {(entry.partition, entry.entry_key): entry.version for entry in state.current}
    old = {(entry.partition, entry.entry_key): entry.version for entry in state.removed} | had
    shown = {
        address: rows[0].version for address, rows in examined.rows_by_address.items() if rows and rows[0].is_shown
    }
    for address, version in {**shown, **old}.items():
        if address not in addresses:
            yield RemovedEntry(*address, version)


def _is_wrong(entry: CurrentEntry, examined: Examined) -> bool:
    address = entry.partition, entry.entry_key
    is_faulty = row_fault(entry, examined.rows_by_address.get(address, ())) is not None
    return is_faulty and address not in examined.expired


def _is_same(state: GenerationState, amended: GenerationState) -> bool:
    """Whether amending would say nothing new: a removed entry that is not mentioned any more can wait."""
    return set(state.current) == set(amended.current) and {*amended.removed} <= {*state.removed}


def _live_writes(wrong: Iterable[CurrentEntry], entries: dict[EntryAddress, Entry]) -> Iterable[LiveWrite]:
    for current in wrong:
        entry = entries.get((current.partition, current.entry_key))
        if entry is not None:
            yield LiveWrite(current.partition, current.entry_key, current.version, entry.columns, None)


def _is_shown(examined: Examined, removed: RemovedEntry) -> bool:
    rows = examined.rows_by_address.get((removed.partition, removed.entry_key), ())
    return bool(rows) and rows[0].is_shown


def _excess(examined: Examined, state: GenerationState) -> Iterable[tuple[EntryAddress, SeenRow]]:
    """Rows of current entries but for the right one; rows of other entry keys that are newer than their tombstone."""
    versions = {(entry.partition, entry.entry_key): entry.version for entry in state.current}
    for address, rows in examined.rows_by_address.items():
        if address in examined.expired or (rows and rows[0].is_expired):
            continue
        for row in reversed(rows):
            is_current = address in versions
            if (is_current and row.version != versions[address]) or (not is_current and row.version > state.version):
                yield address, row
