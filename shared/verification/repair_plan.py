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

from shared.pipeline.apply.decide import LiveWrite, PartWrites, Removal
from shared.pipeline.ledger.rows import Left, Live
from shared.verification.findings import matching, row_fault

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shared.entries.projection.generations import Generation
    from shared.entries.projection.projector import Entry
    from shared.pipeline.ledger.rows import Part
    from shared.verification.examine import Examined, Key, SeenRow


@dataclass(frozen=True, slots=True)
class Mending:
    """The part as it should be (None: as it is), what to write for it, and rows to delete afterwards, in this order.

    `is_whole` is False when rows are missing that only the document could tell, and there is none.
    """

    part: Part | None
    writes: PartWrites
    excess: tuple[tuple[Key, SeenRow], ...]
    is_whole: bool = True


def mending_of(examined: Examined, generation: Generation) -> Mending:
    """How to mend a fact whose ledger row is that of its document, or that has no document."""
    part = examined.part
    assert part is not None
    entries = _entries(examined)
    live = part.live if entries is None else tuple(_live(part, entries.values(), examined.expired))
    left = tuple(_left(part, live, examined))
    amended = replace(part, live=live, left=left)
    wrong = [
        entry
        for entry in live
        if row_fault(entry, examined.pairs.get((entry.partition, entry.pair), ()))
        and (entry.partition, entry.pair) not in examined.expired
    ]
    writes = tuple(_live_writes(wrong, entries or {}))
    unknown = {(entry.partition, entry.pair) for entry in wrong} - {(write.partition, write.pair) for write in writes}
    removals = tuple([Removal(old.partition, old.pair, None) for old in left if _shows(examined, old)])
    return Mending(
        None if _is_same(part, amended) else amended,
        PartWrites(generation, part.version, writes, removals),
        tuple([(key, row) for key, row in _excess(examined, amended) if key not in unknown]),
        is_whole=not unknown,
    )


def _entries(examined: Examined) -> dict[Key, Entry] | None:
    """The entries of the ledger's own version; None when there is no document of it."""
    chosen = matching(examined)
    if chosen is None and examined.projections and examined.is_current and not _failed(examined):
        chosen = examined.projections[0]
    return None if chosen is None else {(entry.partition_key, entry.pair): entry for entry in chosen}


def _failed(examined: Examined) -> bool:
    return examined.part is not None and examined.part.failed


def _live(part: Part, entries: Iterable[Entry], expired: frozenset[Key]) -> Iterable[Live]:
    """An entry that the ledger has keeps its version; any other gets the part's. Expired ones go by themselves."""
    known = {(entry.partition, entry.pair, entry.digest): entry for entry in part.live}
    yield from [entry for entry in part.live if (entry.partition, entry.pair) in expired]
    for entry in entries:
        new = Live(entry.partition_key, entry.pair, part.version, entry.digest)
        yield known.get((entry.partition_key, entry.pair, entry.digest), new)


def _left(part: Part, live: tuple[Live, ...], examined: Examined) -> Iterable[Left]:
    """What it had and no longer has, and what is shown and nobody claimed; without what is known to be hidden."""
    keys = {(entry.partition, entry.pair) for entry in live}
    had = {(entry.partition, entry.pair): entry.at for entry in part.live}
    old = {(entry.partition, entry.pair): entry.at for entry in part.left} | had
    shown = {key: rows[0].at for key, rows in examined.pairs.items() if rows and rows[0].is_shown}
    for key, at in {**shown, **old}.items():
        rows = examined.pairs.get(key, ())
        is_hidden = bool(rows) and rows[0].is_tombstone and rows[0].at == part.version
        if key not in keys and not is_hidden:
            yield Left(*key, at)


def _is_same(part: Part, amended: Part) -> bool:
    """Whether amending would say nothing new: what is left and not mentioned any more can wait."""
    return set(part.live) == set(amended.live) and {*amended.left} <= {*part.left}


def _live_writes(wrong: Iterable[Live], entries: dict[Key, Entry]) -> Iterable[LiveWrite]:
    for live in wrong:
        entry = entries.get((live.partition, live.pair))
        if entry is not None:
            yield LiveWrite(live.partition, live.pair, live.at, entry.columns, None)


def _shows(examined: Examined, left: Left) -> bool:
    rows = examined.pairs.get((left.partition, left.pair), ())
    return bool(rows) and rows[0].is_shown


def _excess(examined: Examined, part: Part) -> Iterable[tuple[Key, SeenRow]]:
    """Rows of live pairs but for the right one; rows of other pairs that are newer than their tombstone."""
    at = {(entry.partition, entry.pair): entry.at for entry in part.live}
    for key, rows in examined.pairs.items():
        if key in examined.expired or (rows and rows[0].is_expired):
            continue
        for row in reversed(rows):
            if (key in at and row.at != at[key]) or (key not in at and row.at > part.version):
                yield key, row
